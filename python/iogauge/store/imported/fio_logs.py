"""Reads fio's log files beside its JSON into the intervals of each row.

    PREFIX_{bw,iops,lat,clat}.N.log    time (ms), value, ddir, bs, prio
    PREFIX_clat_hist.N.log             time (ms), ddir, bs, 1856 counts

A histogram log has clat of every window. Logs of bandwidth and IOPS, averaged over the same windows, have bytes and
I/Os, rounded. If only one of them exists, the other follows from the block size; if that varies, there are none.
Without averaging, every line is a request: a latency log then has the latencies themselves, in intervals of a second.
An averaged latency log has no distribution and is not read.

A window of fio ends at its time stamp. A window without completions has no line; it becomes an interval of zeros. The
intervals of a row end with the first of its threads' logs that ends.

A time stamp long after fio's end means a damaged log or Unix time (``log_unix_epoch``). It is refused, since every
window up to it would become an interval.

Source: fio stat.c (__add_samples, flush_samples), iolog.h; fio's manual, "Log File Formats".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Interval, Kind, Tally
from iogauge.store.imported.document import damaged
from iogauge.store.imported.histograms import BUCKETS, encoded, fio_middle

DDIRS = (Direction.READ, Direction.WRITE, Direction.TRIM)
Blocks = Mapping[Direction, int]
SECOND_MS = 1000
MOST_INTERVALS = 1_000_000
"""The most intervals of one row: eleven days of seconds."""
SLACK_MS = 10 * SECOND_MS
"""Time stamps may exceed twice fio's run time by this much, for the rounding of clocks and windows."""


@dataclass
class _Slice:
    ios: float = 0
    bytes: float = 0
    lat: Counter[int] = field(default_factory=Counter)
    clat: Counter[int] = field(default_factory=Counter)


MOST_CLONES = 1 << 16
"""The most clones of a job; fio allows 4,096 jobs in all, unless it is built with another limit."""


class _Course:
    """The sums of one row's logs, by interval and direction."""

    def __init__(self, window_ms: int, blocks: Blocks, elapsed_s: float | None) -> None:
        self.window_ms = window_ms
        self.elapsed_s = elapsed_s
        self.blocks = blocks
        self.known: set[str] = set()
        """Those of ``ios`` and ``bytes`` that the logs have."""
        self.ends: list[int] = []
        """The last window of every log. Threads end at different times."""
        self.slices: dict[tuple[int, Direction], _Slice] = {}

    def at(self, time_ms: int, direction: Direction, *, ends: bool) -> _Slice:
        """Return the slice of a time or, with ``ends``, of the window that ends at about that time."""
        index = self.ended(time_ms) if ends else time_ms // self.window_ms
        return self.slices.setdefault((index, direction), _Slice())

    def ended(self, time_ms: int) -> int:
        return max(round(time_ms / self.window_ms) - 1, 0)

    def intervals(self, row: int) -> Iterator[Interval]:
        last = min(self.ends, default=max((index for index, _ in self.slices), default=-1))
        used = {direction for _, direction in self.slices}
        window_ns = self.window_ms * 10**6
        if len(self.known) < 2 and not used <= set(self.blocks):
            return
        for (_, direction), one in self.slices.items():
            if "ios" not in self.known:
                one.ios = one.bytes / self.blocks[direction]
            elif "bytes" not in self.known:
                one.bytes = one.ios * self.blocks[direction]
        directions = [direction for direction in DDIRS if direction in used]
        # One late line may leave a million empty windows. To copy an interval takes a third of the time of a new one.
        empty = Interval(
            stage=0,
            row=row,
            index=0,
            start_ns=0,
            end_ns=window_ns,
            ramp=False,
            tallies={direction: _tally(None) for direction in directions},
        )
        filled = {index for index, _ in self.slices}
        for index in range(last + 1):
            window: dict[str, Any] = {
                "index": index,
                "start_ns": index * window_ns,
                "end_ns": (index + 1) * window_ns,
            }
            if index in filled:
                window["tallies"] = {
                    direction: _tally(self.slices.get((index, direction))) for direction in directions
                }
            yield empty.model_copy(update=window)


def intervals_of(
    path: Path,
    names: Sequence[str],
    options: Sequence[dict[str, str]],
    of_entry: Sequence[int],
    blocks: Sequence[Blocks],
    *,
    elapsed_s: float | None = None,
) -> tuple[Interval, ...]:
    """Return the intervals of all rows that have logs in the directory of ``path``. Raises IogaugeError.

    ``names`` and ``options`` are those of the sections, ``of_entry`` is the index of every row's section, ``blocks``
    has the fixed block sizes by direction, ``elapsed_s`` is fio's run time; None: unknown.
    """
    intervals: list[Interval] = []
    first = 1
    for section, settings in enumerate(options):
        mine = [row for row, of in enumerate(of_entry) if of == section]
        clones = _positive(settings.get("numjobs"), otherwise=1)
        if clones > MOST_CLONES:
            raise damaged(str(path), f"numjobs={clones} is more than fio can run")
        numbers = range(first, first + clones)
        first += clones
        if len(mine) == 1:
            intervals += _row(path, names[section], settings, numbers, mine[0], blocks[section], elapsed_s)
        elif len(mine) == clones:
            for number, row in zip(numbers, mine, strict=True):
                one = range(number, number + 1)
                intervals += _row(path, names[section], settings, one, row, blocks[section], elapsed_s)
    return tuple(intervals)


def _row(
    path: Path,
    name: str,
    options: dict[str, str],
    numbers: range,
    row: int,
    blocks: Blocks,
    elapsed_s: float | None,
) -> Iterator[Interval]:
    course = _Course(_positive(options.get("log_hist_msec"), otherwise=SECOND_MS), blocks, elapsed_s)
    for number in numbers:
        for log in _logs(path, options, name, "write_hist_log", "clat_hist", number):
            _add_histograms(course, log)
    averaged_ms = _positive(options.get("log_avg_msec"), otherwise=0)
    if not averaged_ms:
        _add_requests(course, path, options, name, numbers)
    elif not course.slices or averaged_ms == course.window_ms:
        course.window_ms = averaged_ms
        for option, kind in (("write_iops_log", "iops"), ("write_bw_log", "bw")):
            for number in numbers:
                for log in _logs(path, options, name, option, kind, number):
                    _add_rates(course, log, kind)
    yield from course.intervals(row)


def _logs(
    path: Path, options: dict[str, str], name: str, option: str, kind: str, number: int
) -> Iterator[Path]:
    if option not in options:
        return
    # Without a value, fio uses the job's name; the JSON then has "1" or nothing.
    for prefix in dict.fromkeys((Path(options[option]).name or name, name)):
        for log in (path.parent / f"{prefix}_{kind}.{number}.log", path.parent / f"{prefix}_{kind}.log"):
            if log.is_file() and (log.name.endswith(f".{number}.log") or number == 1):
                yield log
                return


def _add_histograms(course: _Course, log: Path) -> None:
    course.known |= {"ios", "bytes"}
    stamp = 0
    for numbers in _lines(log):
        if len(numbers) != 3 + BUCKETS:
            raise damaged(str(log), f"a line has {len(numbers)} numbers, not {3 + BUCKETS}")
        stamp = _time(numbers[0], course, log)
        one = course.at(stamp, _ddir(numbers[1], log), ends=True)
        counts = {fio_middle(bucket): count for bucket, count in enumerate(numbers[3:]) if count}
        one.clat.update(counts)
        one.ios += sum(counts.values())
        one.bytes += sum(counts.values()) * numbers[2]
    course.ends.append(course.ended(stamp))


def _add_rates(course: _Course, log: Path, kind: str) -> None:
    """Add averaged rates, except to slices that have I/Os of histograms."""
    course.known.add("ios" if kind == "iops" else "bytes")
    stamp = 0
    for numbers in _lines(log):
        time_ms, value, ddir = _three(numbers, log)
        stamp = _time(time_ms, course, log)
        one = course.at(stamp, _ddir(ddir, log), ends=True)
        if one.clat:
            continue
        if kind == "iops":
            one.ios += value * course.window_ms / SECOND_MS
        else:
            one.bytes += value * 1024 * course.window_ms / SECOND_MS
    course.ends.append(course.ended(stamp))


def _add_requests(course: _Course, path: Path, options: dict[str, str], name: str, numbers: range) -> None:
    """Add logs in which every line is a request: those of latencies or, without them, of completions."""
    if course.slices:
        return
    for option, kind in (("write_lat_log", "lat"), ("write_bw_log", "bw"), ("write_iops_log", "iops")):
        logs = [log for number in numbers for log in _logs(path, options, name, option, kind, number)]
        for log in logs:
            for line in _lines(log):
                time_ms, value, ddir = _three(line, log)
                one = course.at(_time(time_ms, course, log), _ddir(ddir, log), ends=False)
                one.ios += 1
                one.bytes += line[3] if len(line) > 3 else 0
                if kind == "lat":
                    one.lat[value] += 1
        if logs:
            course.known |= {"ios", "bytes"}
            return


def _lines(log: Path) -> Iterator[list[int]]:
    """Yield the numbers of each line. A log of every request may be long, so it is read line by line."""
    try:
        with log.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.strip():
                    yield _numbers(line, log)
    except OSError as error:
        raise IogaugeError(f"{log}: {error.strerror}", hint="check the file, or move it elsewhere") from None


def _numbers(line: str, log: Path) -> list[int]:
    try:
        numbers = [int(part) for part in line.split(",")]
    except ValueError:
        numbers = [-1]
    if not all(0 <= value < 2**62 for value in numbers):
        raise damaged(str(log), f"{line[:60].strip()!r} is not a line of a log")
    return numbers


def _three(numbers: list[int], log: Path) -> tuple[int, int, int]:
    if len(numbers) < 3:
        raise damaged(str(log), "a line has fewer than three numbers")
    return numbers[0], numbers[1], numbers[2]


def _time(time_ms: int, course: _Course, log: Path) -> int:
    if course.elapsed_s is not None and time_ms > 2 * SECOND_MS * course.elapsed_s + SLACK_MS:
        raise IogaugeError(
            f"{log}: a line has the time {time_ms / SECOND_MS:.0f} s, and fio ran for {course.elapsed_s:.0f} s",
            hint="run fio without log_unix_epoch and log_alternate_epoch, or import without the log",
        )
    if time_ms > MOST_INTERVALS * course.window_ms:
        raise IogaugeError(
            f"{log}: a line has the time {time_ms} ms, which is too many windows",
            hint="use longer windows, or import without the log",
        )
    return time_ms


def _ddir(number: int, log: Path) -> Direction:
    if number >= len(DDIRS):
        raise damaged(str(log), f"{number} is not a direction")
    return DDIRS[number]


def _positive(text: str | None, *, otherwise: int) -> int:
    if text and text.isascii() and text.isdigit() and len(text) < 10 and int(text):
        return int(text)
    return otherwise


_NOTHING = Tally(ios=0, bytes=0, histograms={})


def _tally(one: _Slice | None) -> Tally:
    """Return a slice's tally. Windows without completions share one."""
    if one is None:
        return _NOTHING
    kinds = {kind: encoded(counts) for kind, counts in ((Kind.LAT, one.lat), (Kind.CLAT, one.clat)) if counts}
    return Tally(ios=round(one.ios), bytes=round(one.bytes), histograms=kinds)
