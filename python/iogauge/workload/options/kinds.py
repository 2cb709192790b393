"""Defines the kinds of option values. Each kind reads fio's text into a value and writes the value back.

A kind has its syntax in words (for the reference page), a reader, a writer and, if fio allows a bare flag, the value of
one. Readers raise ``BadValue``. ``write(read(text))`` has the same meaning as ``text``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from iogauge.schema import Amount
from iogauge.workload import numbers
from iogauge.workload.problem import BadValue
from iogauge.workload.suggest import closest

T = TypeVar("T")

Directions = tuple[T | None, T | None, T | None]
"""Values for reads, writes and trims; None: the direction keeps its earlier value."""

MODEL = "model:"
"""The prefix of a target that is a drive model."""
CPUS = 1_024
"""CPU numbers are below this, as in fio and in a plain cpu_set_t."""
PERCENTILES = 20
"""The most percentiles that fio takes."""

_BREAKS = ("\n", "\r", "\0")
_SPECIAL = (";", "#", "$")
"""Characters that have another meaning in a line of a job file."""
FILE_KEYWORDS = re.compile(r"\$(jobname|jobnum|filenum)", re.IGNORECASE | re.ASCII)
"""What filename_format replaces. Nothing else replaces it, so a line of a job file may have it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[T]):
    """One kind of value. ``bare`` is the value of an option without '='; None: the option needs a value."""

    syntax: str
    read: Callable[[str, int], T]
    """Reads the text after '=', with the kb_base in effect."""
    write: Callable[[T], str]
    bare: T | None = None


def count(minimum: int = 0, maximum: int = 2**32 - 1, *, unit: str = "") -> Kind[int]:
    """Return the kind of whole numbers in [minimum, maximum], with fio's suffixes."""

    def read(text: str, kb_base: int) -> int:
        return numbers.integer(text, minimum=minimum, maximum=maximum, kb_base=kb_base, unit=unit)

    return Kind(syntax="number" if not unit else f"number ({unit})", read=read, write=numbers.size_text)


def _read_switch(text: str, _: int) -> bool:
    if text not in ("0", "1"):
        raise BadValue("must be 0 or 1", hint="write 0 for off, 1 for on")
    return text == "1"


def _write_switch(value: bool) -> str:
    return "1" if value else "0"


SWITCH = Kind(syntax="0|1", read=_read_switch, write=_write_switch)
"""A boolean that needs a value."""

FLAG = Kind(syntax="[0|1]", read=_read_switch, write=_write_switch, bare=True)
"""A boolean that is 1 without a value."""


def _read_on(text: str, kb_base: int) -> bool:
    if not _read_switch(text, kb_base):
        raise BadValue("cannot be switched off: in fio any value switches it on", hint="remove the option")
    return True


ONE_WAY_FLAG = Kind(syntax="[1]", read=_read_on, write=_write_switch, bare=True)
"""A flag that any value switches on in fio."""


def _read_number_switch(text: str, kb_base: int) -> bool:
    return numbers.integer(text, kb_base=kb_base) > 0


NUMBER_SWITCH = Kind(syntax="0|1", read=_read_number_switch, write=_write_switch)
"""A number that fio only compares with zero."""


def duration(default_unit_ns: int) -> Kind[int]:
    """Return the kind of times, in nanoseconds. The unit of plain numbers is ``default_unit_ns``."""

    def read(text: str, _: int) -> int:
        return numbers.duration_ns(text, default_unit_ns=default_unit_ns)

    plain = "seconds" if default_unit_ns == numbers.SECOND else "microseconds"
    return Kind(syntax=f"time (plain: {plain})", read=read, write=numbers.duration_text)


def milliseconds() -> Kind[int]:
    """Return the kind of whole milliseconds without a unit, in nanoseconds."""
    unit = 1_000 * numbers.US

    def read(text: str, kb_base: int) -> int:
        return numbers.integer(text, maximum=2**32 - 1, kb_base=kb_base, unit="ms") * unit

    def write(value: int) -> str:
        if value % unit:
            raise BadValue("is not a whole number of milliseconds", hint="round the time to milliseconds")
        return str(value // unit)

    return Kind(syntax="number (ms)", read=read, write=write)


def _read_delay(text: str, kb_base: int) -> tuple[int, int]:
    single = duration(numbers.SECOND)
    low, dash, high = text.partition("-") if not text.startswith("(") else (text, "", "")
    if not dash:
        value = single.read(low, kb_base)
        return value, value
    if low[-1:].lower() in ("s", "m", "h", "d") and low[-2:].lower() not in ("us", "ms"):
        # fio does not recognize a one-letter unit that other text follows, and assumes microseconds.
        raise BadValue(
            f"has '{low}' before a dash, which fio reads as microseconds",
            hint="write plain seconds or ms, such as 5-10",
        )
    ends = single.read(low, kb_base), single.read(high, kb_base)
    if ends[0] > ends[1]:
        raise BadValue("is a range with the longer time first", hint="write the shorter time first")
    return ends


def _write_delay(value: tuple[int, int]) -> str:
    low, high = value
    if low == high:
        return numbers.duration_text(low)
    if low % numbers.US:
        raise BadValue("is not a whole number of microseconds", hint="round the time to microseconds")
    return f"{low // numbers.US}us-{numbers.duration_text(high)}"


DELAY = Kind(syntax="time or time-time (plain: seconds)", read=_read_delay, write=_write_delay)
"""A fixed time or a range of times, in nanoseconds."""


def choice(values: Mapping[str, T], *, refused: Mapping[str, str] = MappingProxyType({})) -> Kind[T]:
    """Return the kind of words. ``values`` maps each word to its value; of words with one value, the first is written.

    ``refused`` maps fio's words that are not supported to the reason.
    """
    written: dict[Any, str] = {}
    for word, value in values.items():
        written.setdefault(value, word)

    def read(text: str, _: int) -> T:
        if text in values:
            return values[text]
        if text in refused:
            raise BadValue(refused[text], hint=f"one of: {', '.join(values)}")
        near = closest(text, values)
        hint = f"did you mean '{near}'?" if near else f"one of: {', '.join(values)}"
        raise BadValue("is not a value of this option", hint=hint)

    return Kind(syntax="|".join(values), read=read, write=lambda value: written[value])


def split_directions(text: str, read: Callable[[str], T]) -> Directions[T]:
    """Read ``all``, ``read,others`` or ``read,write,trim``. A direction without a value keeps its earlier one.

    >>> split_directions(",62500", int)
    (None, 62500, 62500)
    >>> split_directions("8,", int)
    (8, None, None)
    """
    parts = text.split(",")
    if len(parts) > 3:
        raise BadValue("has more than three values", hint="give values for reads, writes and trims")
    if not any(parts):
        raise BadValue("needs a value", hint="write one after '='")
    values = [read(part) if part else None for part in parts]
    if len(values) == 1:
        return values[0], values[0], values[0]
    if len(values) == 2:
        return values[0], values[1], values[1]
    return values[0], values[1], values[2]


def join_directions(values: Directions[T], write: Callable[[T], str]) -> str:
    """Write values as ``split_directions`` reads them.

    >>> join_directions((None, 62500, 62500), str), join_directions((8, None, None), str)
    (',62500', '8,')
    """
    parts = [write(value) if value is not None else "" for value in values]
    if parts[0] == parts[1] == parts[2]:
        return parts[0]
    return ",".join(parts[:2] if parts[1] == parts[2] else parts)


def directions(inner: Kind[int]) -> Kind[Directions[int]]:
    """Return the kind ``a``, ``a,b`` or ``a,b,c``: for all directions, for reads and the others, or for each."""

    def read(text: str, kb_base: int) -> Directions[int]:
        if not text.startswith("(") and (":" in text or "-" in text[1:]):
            # fio reads these as separators, too, which is hardly ever intended.
            raise BadValue(
                "separates its values with ':' or '-'", hint="separate reads, writes and trims with ','"
            )
        return split_directions(text, lambda part: inner.read(part, kb_base))

    def write(value: Directions[int]) -> str:
        return join_directions(value, inner.write)

    return Kind(syntax=f"{inner.syntax}[,…][,…]", read=read, write=write)


def _read_amount(text: str, kb_base: int) -> Amount:
    if text.endswith("z"):
        raise BadValue(
            "counts zones ('z'), but zoned devices are not supported", hint="write bytes or a percentage"
        )
    if text.endswith("%"):
        return Amount(percent=numbers.integer(text[:-1], maximum=100, unit="%"))
    return Amount(size_bytes=numbers.integer(text, kb_base=kb_base, unit="bytes"))


def _write_amount(value: Amount) -> str:
    if value.percent is None:
        return numbers.size_text(value.size_bytes)
    return f"{whole_percent(value.percent)}%"


AMOUNT = Kind(syntax="size or percentage", read=_read_amount, write=_write_amount)
"""Bytes, or a percentage of the file."""


def _read_percent(text: str, kb_base: int) -> float:
    return float(numbers.integer(text, maximum=100, kb_base=kb_base))


def whole_percent(value: float) -> int:
    """Return ``value`` as an integer; raise ``BadValue`` if it has a fraction, which fio cannot read."""
    if value != int(value):
        raise BadValue("is not a whole percentage", hint="round the percentage")
    return int(value)


PERCENT = Kind(syntax="percentage (whole)", read=_read_percent, write=lambda value: str(whole_percent(value)))
"""A whole number in [0, 100]."""


def decimal(text: str) -> float:
    """Read a decimal number without sign and exponent, or raise ``BadValue``.

    >>> decimal("99.95")
    99.95
    """
    digits = text.replace(".", "", 1)
    if not (digits.isascii() and digits.isdigit() and len(text) <= 32):
        raise BadValue(f"'{text[:32]}' is not a decimal number", hint="write a number such as 99.9")
    return float(text)


def decimal_text(value: float) -> str:
    """Write a number without sign and exponent, or raise ``BadValue``. ``decimal`` reads it back exactly, if it has up
    to 32 characters.

    >>> decimal_text(99.9999999), decimal_text(50.0)
    ('99.9999999', '50')
    """
    text = repr(value)
    if not math.isfinite(value) or value < 0 or "e" in text:
        raise BadValue("is not a plain decimal number", hint="round the number")
    return text.removesuffix(".0")


def _read_percentiles(text: str, _: int) -> tuple[float, ...]:
    values = sorted(decimal(part) for part in text.split(":")[: PERCENTILES + 1])
    if len(values) > PERCENTILES:
        raise BadValue(
            f"has more than {PERCENTILES} percentiles", hint=f"list at most {PERCENTILES}, as in fio"
        )
    if not all(0 < value <= 100 for value in values):
        raise BadValue("has a percentile outside of (0, 100]", hint="list percentiles above 0 and up to 100")
    return tuple(values)


PERCENTILE_LIST = Kind(
    syntax="percentile[:percentile…]",
    read=_read_percentiles,
    write=lambda values: ":".join(decimal_text(value) for value in values),
)
"""Percentiles in ascending order."""


def _read_cpus(text: str, _: int) -> tuple[int, ...]:
    mask = 0
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low = numbers.integer(first, maximum=CPUS - 1)
        high = numbers.integer(last, maximum=CPUS - 1) if dash else low
        if low > high:
            raise BadValue(f"'{part[:32]}' has the higher CPU first", hint="write the lower CPU first")
        mask |= (2 << high) - (1 << low)
    return _cpus_of(mask)


def _cpus_of(mask: int) -> tuple[int, ...]:
    return tuple(cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1)


def _write_cpus(cpus: tuple[int, ...]) -> str:
    runs: list[list[int]] = []
    for cpu in cpus:
        if runs and runs[-1][1] == cpu - 1:
            runs[-1][1] = cpu
        else:
            runs.append([cpu, cpu])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


CPU_LIST = Kind(syntax="cpu[-cpu][,…]", read=_read_cpus, write=_write_cpus)
"""CPU numbers, ascending."""


def _read_mask(text: str, kb_base: int) -> tuple[int, ...]:
    return _cpus_of(numbers.integer(text, minimum=1, maximum=2**31 - 1, kb_base=kb_base))


CPU_MASK = Kind(
    syntax="number (a bit per CPU)",
    read=_read_mask,
    write=lambda cpus: str(sum(1 << cpu for cpu in cpus)),
)
"""CPU numbers as the bits of a number."""


def one_line(text: str) -> str:
    """Return ``text`` if it can be the value of an option; otherwise raise ``BadValue``."""
    if text != text.strip() or any(mark in text for mark in _BREAKS):
        raise BadValue(
            "has line breaks, or blanks at an end, which an option cannot have", hint="remove them"
        )
    return text


def plain(text: str) -> str:
    """Return ``text`` if it can be part of a line of a job file unchanged; otherwise raise ``BadValue``."""
    if any(mark in FILE_KEYWORDS.sub("", text) for mark in _SPECIAL):
        raise BadValue("has ';', '#' or '$', which a job file cannot have in a value", hint="remove them")
    return one_line(text)


def _read_text(text: str, _: int) -> str:
    if not text:
        raise BadValue("needs a value", hint="write one after '=', or remove the option")
    return text


TEXT = Kind(syntax="text", read=_read_text, write=one_line)
"""Text up to the end of the line or the first ';' or '#'."""

LOG = Kind(syntax="[prefix]", read=_read_text, write=one_line, bare="")
"""The prefix of the names of log files; without a value, the job's name."""
