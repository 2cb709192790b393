"""The heat map: how the latencies of a job were distributed over time. Time goes to the right, latency upwards.

A column is an interval, a line is a band of latencies, and the character is the share of the column's requests that are
in the band. Digits mark the bands of the median and of p99, which are read from the bands of all directions together.
So the map can be read without colours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iogauge.live.bands import BANDS, begin_ns
from iogauge.text import numbers

Piece = tuple[str, str]
"""Text and its style, in rich's words."""
Line = list[Piece]

SHARES = (0.001, 0.01, 0.1, 0.5)
"""Where one shade ends and the next begins."""
STYLES = ("blue", "cyan", "green", "yellow", "bold red")
MEDIAN, P99, BOTH = "5", "9", "&"
_BLOCKS, _ASCII = "·░▒▓█", ".:+*#"
_RAMP = "r"
_LABEL = 8
_WIDEST = 6
_HIGHEST = 3
_GROUPS = (1, 2, 4, 8, BANDS)
"""How many bands a line may stand for."""


@dataclass(frozen=True)
class Column:
    """The requests of one interval by band, all directions together."""

    counts: tuple[int, ...]
    ramp: bool

    @classmethod
    def of(cls, interval: Mapping[str, Any]) -> Column:
        """Return the column of an ``interval`` event."""
        counts = [0] * BANDS
        for figures in interval["directions"].values():
            for band, count in figures["bands"]:
                counts[min(max(band, 0), BANDS - 1)] += count
        return cls(tuple(counts), interval["ramp"])

    def grouped(self, group: int) -> list[int]:
        """Return the counts of ``group`` neighbouring bands together."""
        return [sum(self.counts[at : at + group]) for at in range(0, BANDS, group)]


def legend(*, blocks: bool) -> str:
    """Return what the characters mean.

    >>> legend(blocks=False)
    'lat, by share: . <0.1%  : <1%  + <10%  * <50%  # more;  5 median  9 p99  & both'
    """
    limits = [f"<{100 * share:g}%" for share in SHARES]
    shades = [f"{shade} {limit}" for shade, limit in zip(_shades(blocks), [*limits, "more"], strict=True)]
    return f"lat, by share: {'  '.join(shades)};  {MEDIAN} median  {P99} p99  {BOTH} both"


def bands_used(intervals: Sequence[Mapping[str, Any]]) -> int:
    """Return how many lines a heat map of intervals has if each band has a line of its own."""
    used = _used([Column.of(interval) for interval in intervals])
    return max(used) - min(used) + 1 if used else 0


def width_of(intervals: Sequence[Mapping[str, Any]], *, columns: int, expected_s: float | None) -> int:
    """Return how many characters wide an interval is, so that a stage that takes ``expected_s`` fills the line.

    >>> width_of([{"start_s": 0, "end_s": 1}], columns=80, expected_s=30)
    2
    """
    if not intervals or not expected_s:
        return 1
    mean_s = (intervals[-1]["end_s"] - intervals[0]["start_s"]) / len(intervals)
    wanted = int(room(columns) * mean_s / expected_s)
    return max(1, min(wanted, room(columns) // len(intervals), _WIDEST))


def room(columns: int) -> int:
    """Return how many characters of a line of the map are left for intervals."""
    return max(columns - _LABEL, 1)


def strip(
    intervals: Sequence[Mapping[str, Any]], *, lines: int, width: int = 1, blocks: bool = False
) -> list[Line]:
    """Return the heat map of intervals, at most ``lines`` high, its highest band first.

    ``width``: that of an interval, in characters. ``blocks``: with Unicode's shaded blocks. If there is room, a band
    has several lines, the first of which has its label and the marks. None come back if nothing completed.
    """
    shown = [Column.of(interval) for interval in intervals]
    used = _used(shown)
    if not used or lines < 1:
        return []
    first, last = min(used), max(used)
    group = next(group for group in _GROUPS if last // group - first // group < lines)
    grouped = [column.grouped(group) for column in shown]
    marks = [(_band_of(counts, 0.5), _band_of(counts, 0.99)) for counts in grouped]
    bands = range(last // group, first // group - 1, -1)
    height = min(lines // len(bands), _HIGHEST)
    chart: list[Line] = []
    for at, line in ((at, line) for at in bands for line in range(height)):
        label = "" if line else _label(at * group)
        cells = (
            _cell(at, counts, () if line else mark, width=width, blocks=blocks, ramp=column.ramp)
            for counts, mark, column in zip(grouped, marks, shown, strict=True)
        )
        chart.append([(f"{label:>{_LABEL - 1}} ", "dim"), *cells])
    return chart


def axis(intervals: Sequence[Mapping[str, Any]], *, width: int = 1) -> str:
    """Return the line below a heat map: the times at its ends, since the start of the stage, and where the ramp is.

    >>> axis([{"start_s": 0, "end_s": 1, "ramp": True}, {"start_s": 1, "end_s": 2, "ramp": False}], width=5)
    '        0 srr  2 s'
    """
    begin, end = (numbers.clock_time(intervals[0]["start_s"]), numbers.clock_time(intervals[-1]["end_s"]))
    marks = "".join((_RAMP if interval["ramp"] else " ") * width for interval in intervals)
    between = marks[len(begin) : len(marks) - len(end)] or "  "
    return f"{'':{_LABEL}}{begin}{between}{end}"


def rates(
    intervals: Sequence[Mapping[str, Any]], *, lines: int, width: int = 1, blocks: bool = False
) -> list[Line]:
    """Return the IOPS of all directions over time as bars, ``lines`` high, with the highest rate beside the top."""
    values = [
        sum(figures["ios"] for figures in interval["directions"].values())
        / max(interval["end_s"] - interval["start_s"], 1e-9)
        for interval in intervals
    ]
    highest = max(values, default=0.0)
    if not highest:
        return []
    bar = "█" if blocks else "#"
    chart: list[Line] = []
    for line in range(lines, 0, -1):
        label = numbers.rate(highest, 2) if line == lines else "0" if line == 1 else ""
        bars = "".join((bar if value * lines >= highest * (line - 0.5) else " ") * width for value in values)
        chart.append([(f"{label:>{_LABEL - 1}} ", "dim"), (bars, "cyan")])
    return chart


def _used(columns: Sequence[Column]) -> list[int]:
    return [band for column in columns for band, count in enumerate(column.counts) if count]


def _cell(at: int, counts: list[int], mark: Sequence[int], *, width: int, blocks: bool, ramp: bool) -> Piece:
    total, count = sum(counts), counts[at]
    level = sum(count >= share * total for share in SHARES)
    style = STYLES[level]
    if not count:
        return " " * width, ""
    shade = _shades(blocks)[level] * width
    if at not in mark:
        return shade, "dim" if ramp else style
    sign = BOTH if mark[0] == mark[1] else MEDIAN if at == mark[0] else P99
    return f"{shade[: (width - 1) // 2]}{sign}{shade[: width // 2]}", f"{style} reverse"


def _band_of(counts: list[int], q: float) -> int:
    """Return the band of a quantile; -1: nothing completed."""
    rank, seen = max(q * sum(counts), 1), 0
    for at, count in enumerate(counts):
        seen += count
        if count and seen >= rank:
            return at
    return -1


def _label(band: int) -> str:
    """Return where a band begins."""
    return numbers.duration(begin_ns(band), 2) if band else "0 us"


def _shades(blocks: bool) -> str:
    return _BLOCKS if blocks else _ASCII
