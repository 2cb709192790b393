"""The part of a run that belongs to one job: the rows that report it, and the directions that it issues.

A group can report several jobs in one row. They can be told apart if each direction belongs to one job only.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Interval, Job, Kind, RowResult, RunRecord, Tally
from iogauge.stats.histogram import Histogram


@dataclass(frozen=True)
class Selection:
    """Rows as (stage, row), and the directions that count in them."""

    rows: frozenset[tuple[int, int]] = frozenset()
    directions: frozenset[Direction] = frozenset()

    @classmethod
    def of(cls, record: RunRecord, name: str, *, direction: Direction | None = None) -> Selection:
        """Select job ``name`` of a run: all that its pattern issues, or one direction, which may be its syncs.

        Raises IogaugeError where the run has no such job, or reports it in one row with others of its direction.
        """
        issued = directions_issued(record.jobs.jobs)
        directions = counted(issued, name, direction=direction)
        rows = frozenset(
            (worker.stage, worker.row) for worker in record.result.workers if worker.name == name
        )
        if not rows or not directions:
            raise IogaugeError(
                f"the run has no job named {name!r}, only {', '.join(map(repr, sorted(issued)))}",
                hint="the saved review is damaged, or its plan names another job than its job files",
            )
        in_rows = (worker.name for worker in record.result.workers if (worker.stage, worker.row) in rows)
        if other := mixed_with(issued, name, in_rows, direction=direction):
            raise IogaugeError(
                f"job {name!r} is reported in one row with {other!r}, and both issue the same direction",
                hint="give them groups of their own in the job file: new_group, or no group_reporting",
            )
        return cls(rows, directions)

    def tallies(self, holders: Iterable[RowResult | Interval]) -> list[Tally]:
        """Return the selected tallies of rows or of intervals."""
        return [
            tally
            for holder in holders
            if (holder.stage, holder.row) in self.rows
            for direction, tally in holder.tallies.items()
            if direction in self.directions
        ]


def directions_issued(jobs: Iterable[Job]) -> dict[str, frozenset[Direction]]:
    """Return the directions that jobs issue, by job name; sections of one name are united."""
    issued: dict[str, frozenset[Direction]] = {}
    for job in jobs:
        issued[job.name] = issued.get(job.name, frozenset()) | job.rw.directions
    return issued


def counted(
    issued: Mapping[str, frozenset[Direction]], name: str, *, direction: Direction | None
) -> frozenset[Direction]:
    """Return the directions of a job that count: all that it issues, or the given one, which may be its syncs.

    Empty where there is no such job.
    """
    directions = issued.get(name, frozenset())
    return frozenset({direction}) if direction and directions else directions


def mixed_with(
    issued: Mapping[str, frozenset[Direction]],
    name: str,
    in_rows: Iterable[str],
    *,
    direction: Direction | None,
) -> str | None:
    """Return another job that issues a direction of job ``name`` in the same rows, so that the two cannot be told
    apart.

    ``in_rows`` are the names of all jobs that these rows report.
    """
    directions = counted(issued, name, direction=direction)
    others = dict.fromkeys(other for other in in_rows if other != name)
    return next((other for other in others if directions & issued.get(other, frozenset())), None)


def latencies(tallies: Iterable[Tally], kind: Kind) -> Histogram:
    """Return one kind of latency, merged over all tallies."""
    return Histogram.merge(_histogram(tally, kind) for tally in tallies)


def _histogram(tally: Tally, kind: Kind) -> Histogram:
    """Return the histogram of a kind. The recorder leaves out kinds that equal ``lat``; then it is ``lat``'s."""
    if kind not in tally.histograms and kind in (Kind.RESPONSE, Kind.CLAT):
        kind = Kind.LAT
    data = tally.histograms.get(kind)
    return Histogram.empty() if data is None else Histogram.decode(data, tally.exact.get(kind))
