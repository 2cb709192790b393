"""Numbers with units, for people. The unit is chosen for each value and always written.

Every table, progress line and message writes a latency or a bandwidth in the same way because all of them call this
module. It imports nothing heavy, because progress lines need it before a run starts.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

_TIMES = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us"))
_SIZES = ((10**15, "PB"), (10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
_LEAST = 1e-5
"""Smaller numbers are written with an exponent: six decimals would show them as zero, or nearly."""
_BLOCKS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def figure(value: float) -> str:
    """Return ``value`` with four significant digits and separated thousands; integer digits are never dropped.

    >>> figure(0.5321), figure(77.314), figure(99.997), figure(123456.7), figure(0), figure(5e-7)
    ('0.5321', '77.31', '100.0', '123,457', '0', '5e-07')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:.0f}"
    if abs(value) < _LEAST:
        return f"{value:.3g}"
    # The magnitude after rounding: 99.997 becomes 100.0.
    magnitude = int(f"{value:.3e}".partition("e")[2])
    return f"{value:,.{min(max(3 - magnitude, 0), 6)}f}"


def duration(value_ns: float, digits: int | None = None) -> str:
    """Return a time in ns, us, ms or s, with so many significant digits; by default four, below 1 us whole ns.

    >>> duration(812), duration(77_314), duration(2_500_000_000), duration(math.nan)
    ('812 ns', '77.31 us', '2.500 s', '-')
    >>> duration(3_939_400, 3), duration(999_960, 3), duration(996_000, 2)
    ('3.94 ms', '1.00 ms', '1.0 ms')
    """
    if not math.isfinite(value_ns):
        return "-"
    if digits is not None:
        rounded = abs(float(f"{value_ns:.{digits - 1}e}"))
        unit_ns, name = next((unit for unit in _TIMES if rounded >= unit[0]), (1, "ns"))
        return f"{with_digits(value_ns / unit_ns, digits)} {name}"
    for unit_ns, name in _TIMES:
        # The margin keeps 999,999 ns from being written as "1000 us".
        if abs(value_ns) >= unit_ns * 0.99995:
            return f"{figure(value_ns / unit_ns)} {name}"
    return f"{value_ns:.0f} ns" if abs(value_ns) >= 100 or value_ns == int(value_ns) else f"{value_ns:.1f} ns"


def span(value_ns: float) -> str:
    """Return a time that was chosen, not measured, without digits that say nothing.

    >>> span(300_000), span(1_000_000_000), span(1_500_000)
    ('300 us', '1 s', '1.5 ms')
    """
    for unit_ns, name in _TIMES:
        if value_ns >= unit_ns:
            return f"{value_ns / unit_ns:.6g} {name}"
    return f"{value_ns:.6g} ns"


def marked(latency: Estimated | None) -> str:
    """Return a latency with its mark: ~ if its sample is too small, ? if its run is too short.

    >>> marked(None)
    '-'
    """
    return "-" if latency is None else mark(latency) + duration(latency.value)


class Written(Protocol):
    """Writes a number, with its unit, in so many significant digits."""

    def __call__(self, value: float, digits: int, /) -> str:
        """Return the number as text."""
        ...


class Marked(Protocol):
    """A figure that can need a mark: an estimate, or a comparison of two figures."""

    @property
    def supported(self) -> bool:
        """Whether enough samples lie beyond it."""
        ...

    @property
    def long_enough(self) -> bool:
        """Whether its run is long enough for the correlation between its seconds."""
        ...


class Estimated(Marked, Protocol):
    """A value with its 95 % interval. Either end may be open."""

    @property
    def value(self) -> float:
        """The estimate."""
        ...

    @property
    def low(self) -> float | None:
        """The interval's lower end."""
        ...

    @property
    def high(self) -> float | None:
        """The interval's upper end."""
        ...

    @property
    def needed(self) -> int:
        """How many samples it needs."""
        ...


def mark(estimate: Marked) -> str:
    """Return the mark of a figure: ~ if it needs more samples, ? if it needs a longer run."""
    return ("" if estimate.supported else "~") + ("" if estimate.long_enough else "?")


TOO_FEW = "~ fewer than ten samples lie beyond this quantile: run longer"
"""What the mark ~ means."""
TOO_SHORT = "? neighbouring seconds are strongly correlated: run longer for an interval"
"""What the mark ? means."""


def meanings(lines: Iterable[str]) -> list[str]:
    """Return what the marks of the figures in ``lines`` mean, a sentence for each mark that is there.

    >>> meanings(["p99", "why? ~user", "12.3 us"]), meanings(["~?12.3 us"]) == [TOO_FEW, TOO_SHORT]
    ([], True)
    """
    marks_there = {character for line in lines for marks in _MARKS.findall(line) for character in marks}
    return [meaning for meaning in (TOO_FEW, TOO_SHORT) if meaning[0] in marks_there]


_MARKS = re.compile(r"([~?]+)\d")


def listed(words: Sequence[str]) -> str:
    """Return at least one word as a list in a sentence.

    >>> listed(["2"]), listed(["2", "4"]), listed(["2", "4", "8"])
    ('2', '2 and 4', '2, 4 and 8')
    """
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def clock_time(seconds: float) -> str:
    """Return a waiting time in whole seconds, minutes and hours; below a second, in tenths.

    >>> clock_time(7.4), clock_time(80), clock_time(3720), clock_time(0.32), clock_time(0.01)
    ('7 s', '1 min 20 s', '1 h 02 min', '0.3 s', '0 s')
    """
    if 0.05 <= seconds < 0.95:
        return f"{seconds:.1f} s"
    total_s = max(round(seconds), 0)
    if total_s < 60:
        return f"{total_s} s"
    if total_s < 3600:
        return f"{total_s // 60} min {total_s % 60:02d} s"
    return f"{total_s // 3600} h {total_s % 3600 // 60:02d} min"


def rate(value: float, digits: int | None = None) -> str:
    """Return a number of requests a second with so many significant digits.

    By default it is whole, or has three significant digits below 100. Only zero becomes 0.

    >>> rate(585_798.4), rate(12.345), rate(0.25), rate(0), rate(585_798.4, 2)
    ('585,798', '12.3', '0.25', '0', '590,000')
    """
    if digits is not None:
        return with_digits(value, digits)
    return f"{value:,.0f}" if not value or value >= 100 else f"{value:.3g}"


def three_digits(value: float) -> float:
    """Return a number of at least 1 as a whole one, rounded to three significant digits.

    >>> three_digits(38_459.0), three_digits(141.2)
    (38500, 141)
    """
    digit: int = 10 ** max(math.floor(math.log10(value)) - 2, 0)
    return round(value / digit) * digit


def bandwidth(value_Bps: float, digits: int | None = None) -> str:
    """Return a bandwidth in MB/s (10^6), the unit of every comparison in a report; by default with four digits.

    >>> bandwidth(1_689_000_000), bandwidth(1_689_000_000, 2)
    ('1,689 MB/s', '1,700 MB/s')
    """
    return f"{_numeral(value_Bps / 1e6, digits)} MB/s"


def power(value_W: float, digits: int | None = None) -> str:
    """Return a power in W, or in mW below a tenth of a watt; by default with four digits.

    >>> power(6.2), power(0.45), power(0.0025), power(6.2, 2)
    ('6.200 W', '0.4500 W', '2.500 mW', '6.2 W')
    """
    if value_W >= 0.1 or not value_W:
        return f"{_numeral(value_W, digits)} W"
    return f"{_numeral(1000 * value_W, digits)} mW"


def _numeral(value: float, digits: int | None) -> str:
    return figure(value) if digits is None else with_digits(value, digits)


def megabytes(rate_Bps: float, digits: int | None = None) -> str:
    """Return a rate in MB/s (10^6) without its unit, for a column; a dash where no data moved (syncs).

    >>> megabytes(1_689_000_000), megabytes(0)
    ('1,689', '-')
    """
    return _numeral(rate_Bps / 1e6, digits) if rate_Bps else "-"


def bandwidth_binary(value_Bps: float) -> str:
    """Return a bandwidth in MiB/s (2^20).

    >>> bandwidth_binary(1_689_000_000)
    '1,611 MiB/s'
    """
    return f"{figure(value_Bps / (1 << 20))} MiB/s"


def size(value_bytes: int) -> str:
    """Return an amount of data in decimal units.

    >>> size(8_445_000_000), size(512)
    ('8.445 GB', '512 B')
    """
    for unit, name in _SIZES:
        if value_bytes >= unit:
            return f"{figure(value_bytes / unit)} {name}"
    return f"{value_bytes} B"


def rough_size(value_bytes: float) -> str:
    """Return an estimated amount of data: two significant digits.

    >>> rough_size(8_445_000_000), rough_size(347e9), rough_size(0)
    ('8.4 GB', '350 GB', '0 B')
    """
    rounded = float(f"{value_bytes:.1e}")
    for unit, name in _SIZES:
        if rounded >= unit:
            return f"{short(rounded / unit)} {name}"
    return f"{rounded:.0f} B"


def most_size(value_bytes: int) -> str:
    """Return an upper bound of an amount of data: two significant digits, rounded up.

    >>> most_size(39_380_000_000), most_size(347 * 10**9), most_size(6 * 10**12), most_size(0)
    ('40 GB', '350 GB', '6.0 TB', '0 B')
    """
    step = 10 ** max(len(str(value_bytes)) - 2, 0)
    return rough_size(-(-value_bytes // step) * step)


def block(value_bytes: int) -> str:
    """Return a block size: binary units where they divide it, bytes otherwise.

    >>> block(4096), block(512), block(5000)
    ('4 KiB', '512 B', '5000 B')
    """
    for unit, name in _BLOCKS:
        if value_bytes and value_bytes % unit == 0:
            return f"{value_bytes // unit} {name}"
    return f"{value_bytes} B"


def percent(share: float, digits: int | None = None) -> str:
    """Return a fraction as a percentage with so many significant digits, at most one decimal; by default with that.

    Only zero is written as 0.0 %.

    >>> percent(0.423), percent(0.00001), percent(1), percent(0.423, 2), percent(0.423, 4)
    ('42.3 %', '<0.1 %', '100.0 %', '42 %', '42.3 %')
    """
    if digits is not None and digits <= _magnitude(100 * share) + 1:
        return f"{with_digits(100 * share, digits)} %"
    return "<0.1 %" if 0 < share < 0.0005 else f"{100 * share:.1f} %"


def reaching(share: float) -> str:
    """Return how far an interval reaches, as a share of its figure.

    >>> reaching(0.03), reaching(0.0001)
    ('±3.0 %', '<0.1 %')
    """
    text = percent(share)
    return text if text.startswith("<") else f"±{text}"


def times(value: float, low: float | None, high: float | None) -> str:
    """Return a ratio with its 95 % interval and as many digits as the interval supports.

    >>> times(8.159, 6.568, 10.44), times(4.123, 3.98, 4.3), times(1.00213, 1.00151, 1.00272)
    ('8.2x (6.6 to 10.4)', '4.12x (3.98 to 4.30)', '1.002x (1.002 to 1.003)')
    >>> times(887.44, 848.5, None), times(3.14159, None, None)
    ('887.4x (848.5 or more)', '3.142x (no interval)')
    """
    digits = _digits(value, low, high)

    def shown(number: float) -> str:
        return f"{number:,.{digits}f}"

    if low is not None and high is not None:
        return f"{shown(value)}x ({shown(low)} to {shown(high)})"
    lower, upper = ("" if bound is None else shown(bound) for bound in (low, high))
    return f"{shown(value)}x ({_one_sided(lower, upper)})"


def change(value: float, low: float | None, high: float | None, unit: str = "") -> str:
    """Return a difference with its sign, its 95 % interval, and as many digits as the interval supports.

    >>> change(-0.2712, -0.2934, -0.2511, " us"), change(1234.5, 800, 1900, " IOPS"), change(0.4, None, None)
    ('-0.271 us (-0.293 to -0.251)', '+1,234 IOPS (+800 to +1,900)', '+0.4000')
    """
    digits = _digits(value, low, high)
    shown = f"{value:+,.{digits}f}{unit}"
    return shown if low is None or high is None else f"{shown} ({low:+,.{digits}f} to {high:+,.{digits}f})"


def within(value: float, low: float | None, high: float | None) -> str:
    """Return a number with the digits that its interval supports, also before the point; without interval three.

    >>> within(61_243.7, 60_950, 61_540), within(61_243.7, 61_240.1, 61_247.3), within(61_243.7, None, None)
    ('61,240', '61,240', '61,200')
    >>> within(14.2345, 13.1, 15.4), within(1.00213, None, None), within(0, None, None)
    ('14.2', '1.00', '0')
    """
    return with_digits(value, supported_digits(value, low, high))


def supported_digits(value: float, low: float | None, high: float | None) -> int:
    """Return how many digits of a number its interval supports, one to four; without interval three.

    >>> supported_digits(61_243.7, 60_950, 61_540), supported_digits(14.2, 9, 21), supported_digits(14.2, None, None)
    (4, 2, 3)
    """
    width = high - low if low is not None and high is not None else 0.0
    if width <= 0:
        return 3
    return max(min(4, 2 + _magnitude(float(f"{value:.3e}")) - _magnitude(width)), 1)


def with_digits(value: float, digits: int) -> str:
    """Return a number with so many significant digits, also before the point.

    >>> with_digits(61_243.7, 2), with_digits(0.9996, 3), with_digits(1.00213, 4)
    ('61,000', '1.00', '1.002')
    """
    if not value or not math.isfinite(value):
        return f"{value:.0f}"
    if abs(value) < _LEAST:
        return f"{value:.3g}"
    # 0.9996 becomes 1.00, another magnitude
    places = digits - 1 - _magnitude(float(f"{value:.{digits - 1}e}"))
    return f"{round(value, places):,.{min(max(places, 0), 6)}f}"


def short(value: float) -> str:
    """Return a number with two significant digits, or all digits before the point if there are more.

    >>> short(4.123), short(38.2), short(1234.5)
    ('4.1', '38', '1,234')
    """
    return f"{value:,.{max(1 - _magnitude(value), 0)}f}"


def _digits(value: float, low: float | None, high: float | None) -> int:
    """Return a figure's decimals: two significant digits of its interval's width, at most four of its own."""
    most = 3 - _magnitude(value)
    width = high - low if low is not None and high is not None else 0.0
    return min(max(min(most, 1 - _magnitude(width)) if width > 0 else most, 0), 6)


def _magnitude(value: float) -> int:
    return math.floor(math.log10(abs(value))) if value and math.isfinite(value) else 0


def _one_sided(low: str, high: str) -> str:
    """Return an interval with at most one bound; an empty bound is open."""
    if low:
        return f"{low} or more"
    return f"{high} or less" if high else "no interval"


def ranged(value: float, low: float | None, high: float | None, shown: Written) -> str:
    """Return a figure with its 95 % interval, or with a note that it has none, in the digits that it supports.

    >>> ranged(0.83, 0.81, 0.85, percent), ranged(2.5e9, None, None, bandwidth)
    ('83.0 % (81.0 to 85.0 %)', '2,500 MB/s (no interval)')
    >>> ranged(990_000, 980_000, 1_010_000, duration), ranged(7_999_000, 5_235_000, None, duration)
    ('990 us (980 us to 1.010 ms)', '8.0 ms (5.2 ms or more)')
    """
    text, lower, upper = in_digits(value, low, high, shown)
    if lower and upper:
        unit = upper.rpartition(" ")[2]
        return f"{text} ({lower.removesuffix(f' {unit}')} to {upper})"
    return f"{text} ({_one_sided(lower, upper)})"


def in_digits(value: float, low: float | None, high: float | None, shown: Written) -> tuple[str, str, str]:
    """Return a figure and the bounds of its interval, in the digits that the interval supports; empty: an open bound.

    ``shown`` writes a number with so many significant digits. An interval that is open at one end supports two digits
    of the distance to the other.

    >>> in_digits(2e9, 1e8, 3.6e10, bandwidth)
    ('2,000 MB/s', '100 MB/s', '36,000 MB/s')
    """
    ends = value if low is None else low, value if high is None else high
    text, lower, upper = (
        "" if number is None else shown(number, supported_digits(number, *ends))
        for number in (value, low, high)
    )
    return text, lower, upper


def estimated(estimate: Estimated, shown: Written) -> str:
    """Return an estimate with its mark, and its 95 % interval or a note that it has none."""
    return mark(estimate) + ranged(estimate.value, estimate.low, estimate.high, shown)


def argument(path: object) -> str:
    """Return a path as an argument: quoted for the shell, and never taken for an option.

    >>> argument("saved"), argument("my review"), argument("-x")
    ('saved', "'my review'", './-x')
    """
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


def counted(number: int, noun: str) -> str:
    """Return a count and its noun, with an s for the plural.

    >>> counted(1, "worker"), counted(12000, "worker")
    ('1 worker', '12,000 workers')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def position(at: float) -> str:
    """Return a position on an axis: whole as it was requested, or with the digits that matter.

    >>> position(128), position(1250), position(0.5), position(113.33333)
    ('128', '1,250', '0.5', '113.333')
    """
    return f"{at:,.6g}" if at % 1 else f"{at:,.0f}"


def placed(at: float, unit: str) -> str:
    """Return a position on an axis with its unit.

    >>> placed(1, "logs"), placed(20, "%"), placed(3, "")
    ('1 log', '20 %', '3')
    """
    return f"{position(at)} {unit_of(at, unit)}".rstrip()


def unit_of(at: float, unit: str) -> str:
    """Return an axis's unit at a position. At 1, a word of three letters or more loses the s of its plural.

    >>> unit_of(1, "logs"), unit_of(4, "logs"), unit_of(1, "MB/s"), unit_of(1, "ms"), unit_of(1, "in flight")
    ('log', 'logs', 'MB/s', 'ms', 'in flight')
    """
    one = at == 1 and len(unit) > 2 and unit.isalpha() and unit.endswith("s")
    return unit[:-1] if one else unit


def capitalised(words: str) -> str:
    """Return words with the first letter in upper case and the others unchanged.

    >>> capitalised("mean I/O latency"), capitalised("")
    ('Mean I/O latency', '')
    """
    return words[:1].upper() + words[1:]
