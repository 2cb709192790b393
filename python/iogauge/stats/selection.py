"""Which part of a run a job is: the reported rows it was merged into, and the directions it issues there.

A group can report several jobs in one row; they stay apart as long as each direction belongs to one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Interval, Kind, RowResult, RunRecord, Tally
from iogauge.stats.histogram import Histogram


@dataclass(frozen=True)
class Selection:
    """Rows by (stage, row), and the directions that count in them."""

    rows: frozenset[tuple[int, int]] = frozenset()
    directions: frozenset[Direction] = frozenset()

    @classmethod
    def of(cls, record: RunRecord, name: str, *, direction: Direction | None = None) -> Selection:
        """Return what job ``name`` is of a run: all that its pattern issues, or one direction, which may be its syncs.

        Raises IogaugeError where the run has no such job, or reports it in one row with others of its direction.
        """
        issues = {job.name: job.rw.directions for job in record.jobs.jobs}
        directions = issues.get(name, frozenset())
        if direction and directions:
            directions = frozenset({direction})
        rows = frozenset(
            (worker.stage, worker.row) for worker in record.result.workers if worker.name == name
        )
        if not rows or not directions:
            raise IogaugeError(
                f"the run has no job named {name!r}, only {', '.join(map(repr, sorted(issues)))}",
                hint="the saved review is damaged, or its plan names another job than its job files",
            )
        for worker in record.result.workers:
            others = issues.get(worker.name, frozenset())
            if worker.name != name and (worker.stage, worker.row) in rows and others & directions:
                raise IogaugeError(
                    f"job {name!r} is reported in one row with {worker.name!r}, and both issue the same direction",
                    hint="give them groups of their own in the job file: new_group, or no group_reporting",
                )
        return cls(rows, directions)

    def tallies(self, holders: Iterable[RowResult | Interval]) -> list[Tally]:
        """Return what counts of rows or of intervals."""
        return [
            tally
            for holder in holders
            if (holder.stage, holder.row) in self.rows
            for direction, tally in holder.tallies.items()
            if direction in self.directions
        ]


def latencies(tallies: Iterable[Tally], kind: Kind) -> Histogram:
    """Return one kind of latency of all tallies together."""
    return Histogram.merge(_histogram(tally, kind) for tally in tallies)


def _histogram(tally: Tally, kind: Kind) -> Histogram:
    """Return the histogram of a kind, or ``lat``'s where the recorder left the kind out as equal to it."""
    if kind not in tally.histograms and kind in (Kind.RESPONSE, Kind.CLAT):
        kind = Kind.LAT
    data = tally.histograms.get(kind)
    return Histogram.empty() if data is None else Histogram.decode(data, tally.exact.get(kind))
