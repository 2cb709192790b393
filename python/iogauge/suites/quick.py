"""One minute: the eight rows that CrystalDiskMark and KDiskMark show by default, reads first.

1 MiB in order with eight in flight and with one, 4 KiB at random with 32 in flight and with one; one thread. A row is
named as those programs name it: ``RND4K Q32T1`` is 4 KiB at random, 32 in flight, one thread. Their older default and
their NVMe profile have sixteen threads instead (``Q32T16``), which measures the processor as much as the drive.

What differs. They read and write row by row, five times each, and show the best; here all reads come before all writes,
each row runs once, and the figure is that of all its requests, with its interval. Latency is theirs only as a mean.

Caveats. Five seconds of writes may end in a cache that a longer test fills, and no row prepares the drive. On a block
device the rows use all of it, in a file 1 GiB as theirs.

Source: the default profile of CrystalDiskMark 8.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from iogauge.errors import UsageError
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import TABLE_ROWS, StepPlan, SuitePlan
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers
from iogauge.text.option import option
from iogauge.workload.numbers import SECOND, size_text

JOB = "load"
LARGEST_BYTES = 1 << 20
"""A request of the rows in order."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the table."""

    test: str
    """Its name in CrystalDiskMark."""
    block: str
    depth: int
    writes: bool
    random: bool

    @property
    def label(self) -> str:
        """The row's name."""
        return f"{self.test} {'write' if self.writes else 'read'}"

    @property
    def key(self) -> str:
        """The id of its step."""
        return self.label.lower().replace(" ", "-")


ROWS = tuple(
    Row(
        test=f"{'RND4K' if random else 'SEQ1M'} Q{depth}T1",
        block=block,
        depth=depth,
        writes=writes,
        random=random,
    )
    for writes in (False, True)
    for random, block, depths in ((False, "1m", (8, 1)), (True, "4k", (32, 1)))
    for depth in depths
)
"""In the order in which they run. A step's position on the axis is its row's number here, from 1."""


class Quick(Suite):
    """See the module's text."""

    NAME = "quick"
    TITLE = "One minute"
    SOURCE = "the default profile of CrystalDiskMark 8"
    AXIS = TABLE_ROWS
    MEASURED_JOB = JOB
    JUDGED = "I/O"
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 5 * SECOND,
        "standard": 20 * SECOND,
        "full": 60 * SECOND,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan eight rows, or the four that read if nothing may be written.

        Raises UsageError if the requested size is less than that of one request.
        """
        if request.size_bytes is not None and request.size_bytes < LARGEST_BYTES:
            size = size_text(request.size_bytes)
            raise UsageError(
                f"{option('size', size)}: a row reads {numbers.block(LARGEST_BYTES)} at a time",
                hint=f"use at least {option('size', size_text(LARGEST_BYTES))}",
            )
        reason = request.reads_only
        notes = (f"The four rows that write are left out: {reason}",) if reason else ()
        empty = self.empty(request, notes=notes)
        load = StepTemplate.of(empty)
        rows = [(at, row) for at, row in enumerate(ROWS, 1) if not (row.writes and reason)]
        return empty.model_copy(update={"steps": tuple(_step(load, at, row) for at, row in rows)})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return what most people look for: megabytes a second in order, and how long one small request takes."""
        done = {row_of(position): position for position in result.positions if position.figures.ios}
        return tuple(f"{what} {', '.join(parts)}" for what, parts in _answers(done) if parts)


def row_of(position: Position) -> Row:
    """Return the row that a position measures."""
    return ROWS[int(position.at) - 1]


def _answers(done: Mapping[Row, Position]) -> Iterator[tuple[str, list[str]]]:
    """Yield the beginning of each finding, and what follows for reads and for writes."""
    deep, alone = [], []
    for row, position in done.items():
        figures = position.figures
        if row.test == "SEQ1M Q8T1":
            deep.append(f"{figures.rate_figure} {'written' if row.writes else 'read'}")
        if row.test == "RND4K Q1T1" and figures.mean is not None:
            alone.append(f"{figures.mean} a {'write' if row.writes else 'read'}")
    yield "in order, eight at a time:", deep
    yield "4 KiB at random, one at a time:", alone


def _step(load: StepTemplate, at: int, row: Row) -> StepPlan:
    way = "write" if row.writes else "read"
    options = {"rw": f"rand{way}" if row.random else way, "iodepth": row.depth}
    # The table shows a tail of rows at random alone: no warning is due about another.
    percentiles = "50:99" if row.random else "50"
    return load.step(row.key, at, {JOB: options}, label=row.label, bs=row.block, percentile_list=percentiles)
