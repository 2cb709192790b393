"""What fio's ``--status-interval`` tells: its report, cumulative, every so often, as intervals of each row.

Each report has the counts of every latency so far, so that the difference of two is what happened between them, whole
histograms included and all workers of a group together. That is more than fio's logs have: a histogram log is of clat
alone and of one worker, and is written on the path of the requests.

In a ramp fio counts I/Os and no latencies, and begins anew at its end: what was reported until then is left out. A row
whose stage has not begun, or has ended, does not move, and gives no interval. An interval is as long as fio says that
the row ran meanwhile, so one in which nothing completed is there, with zeros. Minimum, maximum and mean of an interval
are only as exact as fio's buckets.

Source: fio stat.c (__show_running_run_stats), and the output of fio 3.33.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from iogauge.schema import Direction, Interval, Kind, Tally
from iogauge.store.imported.document import damaged, members, number, whole
from iogauge.store.imported.histograms import encoded

KINDS = ((Kind.LAT, "lat_ns"), (Kind.CLAT, "clat_ns"), (Kind.SLAT, "slat_ns"))
DIRECTIONS = (Direction.READ, Direction.WRITE, Direction.TRIM, Direction.SYNC)
_MOST = 2**62
Json = dict[str, Any]


@dataclass(frozen=True)
class _State:
    """What a row had done, in all, when it was reported: counts by direction."""

    runtime_ms: float
    ios: int
    bytes: dict[Direction, int]
    counts: dict[tuple[Direction, Kind], Counter[int]]

    @property
    def warming(self) -> bool:
        """Whether it is in its ramp: there are I/Os, and no latency was counted."""
        return self.ios > 0 and not any(self.counts.values())


_NOTHING = _State(0.0, 0, {}, {})


def intervals(reports: Sequence[Sequence[Json]], *, source: str) -> Iterator[Interval]:
    """Yield the intervals of each row; its place among fio's entries is its row.

    ``reports`` are the entries of each report, in order, the final one last. None where there is only that one, or
    where fio did not always report the same rows. Raises ``IogaugeError`` where a report is damaged.
    """
    final = reports[-1]
    names = [entry.get("jobname") for entry in final]
    if len(reports) < 2 or any([entry.get("jobname") for entry in each] != names for each in reports):
        return
    for row in range(len(final)):
        yield from _course(_kept([_state(each[row], source) for each in reports]), row)


def _kept(states: Sequence[_State]) -> list[_State]:
    """Return the states without what a later one has less of: workers of a row do not end their ramp at one instant,
    and what one of them had counted until then is taken back."""
    found = [states[-1]]
    for state in reversed(states[:-1]):
        later = found[-1]
        counts = {key: each & later.counts.get(key, Counter()) for key, each in state.counts.items()}
        moved = {way: min(each, later.bytes[way]) for way, each in state.bytes.items()}
        found.append(replace(state, bytes=moved, counts=counts))
    return found[::-1]


def _course(states: Sequence[_State], row: int) -> Iterator[Interval]:
    before = _NOTHING
    for index, after in enumerate(states):
        if index < _begun(states) or after.runtime_ms <= before.runtime_ms:
            continue
        yield Interval(
            stage=0,
            row=row,
            index=index,
            start_ns=round(before.runtime_ms * 10**6),
            end_ns=round(after.runtime_ms * 10**6),
            ramp=False,
            tallies={way: _tally(before, after, way) for way in sorted({way for way, _ in after.counts})},
        )
        before = after


def _begun(states: Sequence[_State]) -> int:
    """Return the first report of the measured time: after the last of the ramp, which ends by counting anew."""
    ramp = [index + 1 for index, state in enumerate(states) if state.warming]
    anew = [index + 1 for index, (a, b) in enumerate(pairwise(states)) if b.ios < a.ios]
    return max((*ramp, *anew), default=0)


def _state(entry: Json, source: str) -> _State:
    name = str(entry.get("jobname"))
    runtime_ms, ios = 0.0, 0
    moved: dict[Direction, int] = {}
    counts: dict[tuple[Direction, Kind], Counter[int]] = {}
    for way in DIRECTIONS:
        where = f"{name}: {way}"
        given = members(entry.get(way.value, {}), source=source, what=where)
        ios += whole(given.get("total_ios", 0), source=source, what=f"{where}: total_ios")
        moved[way] = whole(given.get("io_bytes", 0), source=source, what=f"{where}: io_bytes")
        runtime_ms = max(runtime_ms, number(given.get("runtime", 0), source=source, what=f"{where}: runtime"))
        for kind, key in KINDS:
            latency = members(given.get(key, {}), source=source, what=f"{where}: {key}")
            if bins := bins_of(latency.get("bins", {}), where=f"{where}: {key}", source=source):
                counts[way, kind] = Counter(bins)
    return _State(runtime_ms, ios, moved, counts)


def _tally(before: _State, after: _State, way: Direction) -> Tally:
    # Reports are taken while workers go on, and lat may be a request ahead of clat: of one kind, the intervals add up.
    new = {
        kind: after.counts[way, kind] - before.counts.get((way, kind), Counter())
        for kind, _ in KINDS
        if (way, kind) in after.counts
    }
    return Tally(
        ios=next(iter(new.values())).total(),
        bytes=max(after.bytes[way] - before.bytes.get(way, 0), 0),
        histograms={kind: encoded(counts) for kind, counts in new.items() if counts},
    )


def bins_of(value: Any, *, where: str, source: str) -> dict[int, int]:
    """Return json+'s counts by the middle of their bucket in nanoseconds, ascending. Raises ``IogaugeError``.

    >>> bins_of({"612": 3, "100": 1}, where="read: lat_ns", source="fio.json")
    {100: 1, 612: 3}
    """
    counts: dict[int, int] = {}
    for middle, count in members(value, source=source, what=f"{where}: bins").items():
        at = whole(middle, source=source, what=f"{where}: a bin")
        counts[at] = counts.get(at, 0) + whole(count, source=source, what=f"{where}: the bin {middle}")
    if sum(counts.values()) > _MOST:
        raise damaged(source, f"{where}: its bins hold more samples than there can be")
    return {at: count for at, count in sorted(counts.items()) if count}
