"""The specification's rows: the figures of a drive's data sheet, measured by its maker's procedure.

The procedure of Intel's evaluation guide for the P4800X: DiskSpd with eight threads at depth 4 for rates, one thread at
depth 1 for latencies, ten minutes per row. The guide prints eleven rows; rows about rate and latency of the same load
come from one run, so there are nine steps.

A thread keeps its requests in flight as ``run --diskspd`` does: one at a time by a blocking call, several by libaio,
submitted one by one. DiskSpd's ``-h`` (no cache, write-through) is ``direct=1`` here, and ``sync=dsync`` for loads that
write. DiskSpd's default warm-up of 5 s, which the guide keeps, comes before each row at full pace.

**Two rows run twice.** The guide calls its 64 KiB rows sequential, but its command lines say ``-r``, which is random.
The suite runs both: as published, at random; and as named, in order, each of the eight threads in its own eighth.

Caveats. Full pace takes an hour and a half. The guide does not state the drive's state: rows run in the guide's order,
and later rows read what earlier ones wrote. Of 4 KiB at 70/30 the guide prints only the command line. A quick row has
too few requests for 99.999 %.

Source: Intel's evaluation guide for the P4800X, tables 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from iogauge.catalog.published import Point, points
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import TABLE_ROWS, EngineKind, StepPlan, SuitePlan
from iogauge.stats.extremes import decided, ties, undecided
from iogauge.stats.figure import Figure
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers, too_short
from iogauge.workload.diskspd.jobs import queueing_of
from iogauge.workload.numbers import SECOND

JOB = "load"
TABLE = "Intel evaluation guide Table 5"
"""The source of the published points, as they name it."""

CONTENT = (
    "iogauge writes random data. DiskSpd with the guide's options writes the bytes 0 to 255 over and over, which a "
    "compressing drive takes faster."
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One load of the tables, in the words of the published points."""

    key: str
    label: str
    rw: str
    block_bytes: int
    read_percent: int
    threads: int = 8
    depth: int = 4
    workload: str = "rand"


ROWS = (
    Row(
        key="randread-4k",
        label="4 KiB random reads, 8 x 4",
        rw="randread",
        block_bytes=4096,
        read_percent=100,
    ),
    Row(
        key="randwrite-4k",
        label="4 KiB random writes, 8 x 4",
        rw="randwrite",
        block_bytes=4096,
        read_percent=0,
    ),
    Row(key="randrw-4k", label="4 KiB random 70/30, 8 x 4", rw="randrw", block_bytes=4096, read_percent=70),
    Row(
        key="read-64k-as-published",
        label="64 KiB reads as published (random), 8 x 4",
        rw="randread",
        block_bytes=65536,
        read_percent=100,
        workload="seq",
    ),
    Row(
        key="read-64k",
        label="64 KiB reads as named (sequential), 8 x 4",
        rw="read",
        block_bytes=65536,
        read_percent=100,
        workload="seq",
    ),
    Row(
        key="write-64k-as-published",
        label="64 KiB writes as published (random), 8 x 4",
        rw="randwrite",
        block_bytes=65536,
        read_percent=0,
        workload="seq",
    ),
    Row(
        key="write-64k",
        label="64 KiB writes as named (sequential), 8 x 4",
        rw="write",
        block_bytes=65536,
        read_percent=0,
        workload="seq",
    ),
    Row(
        key="randread-4k-qd1",
        label="4 KiB random reads, one at a time",
        rw="randread",
        block_bytes=4096,
        read_percent=100,
        threads=1,
        depth=1,
    ),
    Row(
        key="randwrite-4k-qd1",
        label="4 KiB random writes, one at a time",
        rw="randwrite",
        block_bytes=4096,
        read_percent=0,
        threads=1,
        depth=1,
    ),
)
"""In the guide's order. A step's position on the axis is its row's number here, from 1."""


class Spec(Suite):
    """See the module's text."""

    NAME = "spec"
    TITLE = "The specification's rows"
    SOURCE = "Intel's evaluation guide for the P4800X, tables 4 and 5"
    AXIS = TABLE_ROWS
    MEASURED_JOB = JOB
    JUDGED = "I/O"
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 2 * SECOND,
        "standard": 60 * SECOND,
        "full": 600 * SECOND,
    }
    # Long enough for a million requests one at a time: the table has the 99.999th percentile.
    MODELLED_NS = 15 * SECOND
    RAMP_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": SECOND // 2,
        "standard": SECOND,
        "full": 5 * SECOND,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan nine loads, each for one or several rows of the published tables."""
        empty = self.empty(request, notes=(CONTENT,))
        whole_bytes = empty.size_bytes or request.target.size_bytes
        load = StepTemplate.of(empty)
        steps = (_step(load, at, row, whole_bytes=whole_bytes) for at, row in enumerate(ROWS, 1))
        return empty.model_copy(update={"steps": tuple(steps)})

    def published(self, step: StepPlan, /) -> tuple[Point, ...]:
        """Return the guide's figures for a row, with either of its drivers.

        >>> step = StepPlan(id="spec.randread-4k", at=1, job_file="", seed=0, state_group="")
        >>> [point.value for point in Spec().published(step) if point.metric == "iops"]
        [583558.0, 584461.0]
        """
        row = ROWS[int(step.at) - 1]
        return tuple(
            point
            for point in points()
            if TABLE in point.source
            and point.workload == row.workload
            and point.block_bytes == row.block_bytes
            and point.read_percent == row.read_percent
            and (point.threads, point.depth) == (row.threads, row.depth)
        )

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return the highest rates, and the latency of one request at a time."""
        steps = [step for step in result.positions if step.figures.mean is not None]
        if not steps:
            return ()
        iops = {step.plan.at: step.figures.iops_figure for step in steps}
        data = {step.plan.at: step.figures.rate_figure for step in steps}
        return (
            highest("highest rate", iops, _iops),
            highest("highest throughput", data, numbers.bandwidth),
            *_alone(steps),
        )


def highest(what: str, rates: Mapping[float, Figure], text: numbers.Written) -> str:
    """Return the highest of the rows' rates, and every row that may have it; ``text`` writes a rate."""
    known = decided(rates)
    if not known:
        return f"{what} {too_short.UNDECIDED}"
    most = max(known, key=lambda row: known[row].value)
    rows = " and ".join(map(_label, ties(known, most)))
    left_out = too_short.left_out("the rate of", list(map(_label, undecided(rates))))
    return f"{what}: {numbers.estimated(known[most], text)}, by {rows}{left_out}"


def _label(row: float) -> str:
    return ROWS[int(row) - 1].label


def _alone(steps: list[Position]) -> Iterator[str]:
    """Yield the latency of one request at a time, with those published percentiles that the sample supports."""
    for step in steps:
        if ROWS[int(step.plan.at) - 1].depth == 1 and step.figures.mean is not None:
            tail = "".join(
                f", {100 * q:.12g} % within {numbers.estimated(estimate, numbers.duration)}"
                for q in (0.99, 0.99999)
                if (estimate := step.figures.quantile(q)) is not None and estimate.supported
            )
            mean = numbers.estimated(step.figures.mean, numbers.duration)
            yield f"{step.plan.label}: {mean} on average{tail}"


def _iops(value: float, digits: int) -> str:
    return f"{numbers.rate(value, digits)} IOPS"


def _step(load: StepTemplate, at: int, row: Row, *, whole_bytes: int) -> StepPlan:
    options: dict[str, object] = {"rw": row.rw, "numjobs": row.threads, "iodepth": row.depth}
    for name, value in queueing_of(row.depth, unbuffered=True).items():
        options[name] = value.value if isinstance(value, EngineKind) else value
    if row.read_percent not in (0, 100):
        options["rwmixread"] = row.read_percent
    if row.read_percent < 100:
        options["sync"] = "dsync"
    if not row.rw.startswith("rand"):
        part = whole_bytes // row.threads // row.block_bytes * row.block_bytes
        options |= {"size": part, "offset_increment": part}
    return load.step(row.key, at, {JOB: options}, label=row.label, bs=row.block_bytes)
