"""The explained steps of a suite on a drive model: where the time of the measured job's requests went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from iogauge.results.explained.loads import ExplainedLoad, explained_loads
from iogauge.results.explained.wording import answer, present, table
from iogauge.results.position import Position
from iogauge.results.run import Run
from iogauge.schema import PartMeaning, RunRecord
from iogauge.text import numbers

_LEFT_OUT = ("p90", "p99.999")
"""The quantiles that a report does not show."""


@dataclass(frozen=True)
class ExplainedStep:
    """The requests of a step in one direction, and where their time went."""

    name: str
    """The step, and the direction if it has several."""
    load: ExplainedLoad
    order: tuple[PartMeaning, ...]
    """The parts of its run, in the order in which reports list them."""

    @property
    def answer(self) -> str:
        """Where the time went, in a sentence or two."""
        return answer(self.load)

    @property
    def parts(self) -> list[PartMeaning]:
        """The parts that took time in it."""
        return present(self.order, [self.load])

    @property
    def bars(self) -> list[tuple[str, float, dict[str, float]]]:
        """The label, the latency and the parts of each shown column, ns."""
        return [(at.label, at.lat_ns, at.parts_ns) for at in self.load.at if at.label not in _LEFT_OUT]

    @property
    def rows(self) -> list[list[str]]:
        """A table of the parts by quantile; its first row is its head."""
        return table(self.order, self.load, left_out=_LEFT_OUT)


def meanings(steps: Iterable[ExplainedStep]) -> list[PartMeaning]:
    """Return the parts that took time in any of the steps, each once."""
    return list({part.name: part for step in steps for part in step.parts}.values())


def explained_steps(positions: Iterable[Position], *, measured_job: str) -> tuple[ExplainedStep, ...]:
    """Return the explained steps of a suite; none for real drives, and in older reviews."""
    return tuple(
        step
        for position in positions
        for run in position.runs
        if run.plan.explained
        for step in _steps(position, run, measured_job)
    )


def _steps(position: Position, run: Run, measured_job: str) -> Iterator[ExplainedStep]:
    record, wanted = run.record, run.plan.direction
    if record.explained is None:
        return
    order = {part.name: place for place, part in enumerate(record.explained.parts)}
    rows = _rows(record, measured_job)
    explained = [row for row in record.explained.rows if row.row in rows]
    result = record.result.model_copy(
        update={"rows": tuple(row for row in record.result.rows if row.row in rows)}
    )
    loads = [
        load
        for load in explained_loads(result, explained, order)
        if load.mean.parts_ns and wanted in (None, load.direction)
    ]
    for load in loads:
        what = load.name if len(rows) > 1 else f"{load.direction}s"
        name = f"{position.name}, {what}" if len(loads) > 1 else position.name
        yield ExplainedStep(numbers.capitalised(name), load, record.explained.parts)


def _rows(record: RunRecord, measured_job: str) -> frozenset[int]:
    """Return the rows of the measured job."""
    jobs = record.jobs.jobs
    return frozenset(
        worker.row
        for stage in record.plan.stages
        for worker in stage.workers
        if jobs[worker.job].name == measured_job
    )
