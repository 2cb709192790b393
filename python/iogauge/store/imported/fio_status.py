"""Makes intervals of the cumulative reports that fio prints with ``--status-interval``.

A report has the counts of every latency so far. The difference of two reports is an interval, with complete histograms
over all workers of a group. fio's logs have less: a histogram log has only clat of one worker, and fio writes it on the
I/O path.

During a ramp fio counts I/Os but no latencies, and restarts its counts at the end of the ramp: reports until then are
left out. A row whose stage has not begun or has ended does not change, and makes no interval. An interval is as long as
fio says that the row ran, so an interval without completions is kept, with zeros. Minimum, maximum and mean of an
interval are only as exact as fio's buckets.

Source: fio stat.c (__show_running_run_stats), and the output of fio 3.33.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from iogauge.schema import Direction, Interval, Kind, Tally
from iogauge.store.imported.document import damaged, integer, members, number
from iogauge.store.imported.histograms import MOST, encoded

KINDS = ((Kind.LAT, "lat_ns"), (Kind.CLAT, "clat_ns"), (Kind.SLAT, "slat_ns"))
DIRECTIONS = (Direction.READ, Direction.WRITE, Direction.TRIM, Direction.SYNC)
Json = dict[str, Any]


@dataclass(frozen=True)
class _State:
    """The cumulative counts of a row in one report, by direction."""

    runtime_ms: float
    ios: int
    bytes: dict[Direction, int]
    counts: dict[tuple[Direction, Kind], Counter[int]]

    @property
    def warming(self) -> bool:
        """Whether the row is in its ramp: it has I/Os but no latencies."""
        return self.ios > 0 and not any(self.counts.values())


_NOTHING = _State(0.0, 0, {}, {})


def intervals(reports: Sequence[Sequence[Json]], *, source: str) -> Iterator[Interval]:
    """Yield the intervals of every row, whose number is its index among fio's entries.

    ``reports`` are the entries of every report, in order, the final one last. Yield nothing if it is the only one, or
    if fio reported different rows. Raises ``IogaugeError`` if a report is damaged.
    """
    final = reports[-1]
    names = [entry.get("jobname") for entry in final]
    if len(reports) < 2 or any([entry.get("jobname") for entry in report] != names for report in reports):
        return
    for row in range(len(final)):
        yield from _course(_kept([_state(report[row], source) for report in reports]), row)


def _kept(states: Sequence[_State]) -> list[_State]:
    """Return the states, none of whose counts is larger than a later one: counts never fall.

    Workers of a row end their ramps at different instants, and fio then removes the counts of the ramp.
    """
    kept = [states[-1]]
    for state in reversed(states[:-1]):
        later = kept[-1]
        counts = {key: counter & later.counts.get(key, Counter()) for key, counter in state.counts.items()}
        moved = {way: min(amount, later.bytes[way]) for way, amount in state.bytes.items()}
        kept.append(replace(state, bytes=moved, counts=counts))
    return kept[::-1]


def _course(states: Sequence[_State], row: int) -> Iterator[Interval]:
    before = _NOTHING
    # Workers go on while fio reports: of two reports at the same run time, the later one may have more.
    last_at = {state.runtime_ms: state for state in states}
    for index, state in enumerate(states):
        after = last_at[state.runtime_ms]
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
    """Return the index of the first report after the ramp, at whose end the counts restart."""
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
        values = members(entry.get(way.value, {}), source=source, what=where)
        ios += integer(values.get("total_ios", 0), source=source, what=f"{where}: total_ios")
        moved[way] = integer(values.get("io_bytes", 0), source=source, what=f"{where}: io_bytes")
        runtime_ms = max(
            runtime_ms, number(values.get("runtime", 0), source=source, what=f"{where}: runtime")
        )
        for kind, key in KINDS:
            latency = members(values.get(key, {}), source=source, what=f"{where}: {key}")
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
        at = integer(middle, source=source, what=f"{where}: a bin")
        counts[at] = counts.get(at, 0) + integer(count, source=source, what=f"{where}: the bin {middle}")
    if sum(counts.values()) > MOST:
        raise damaged(source, f"{where}: its bins hold more samples than there can be")
    return {at: count for at, count in sorted(counts.items()) if count}
