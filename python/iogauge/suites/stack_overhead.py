"""Stack overhead: what each layer between a program and a drive adds to a request.

Readers of the first 3D XPoint reviews asked it twice: of ten microseconds, how many are the drive's? The same load, 4
KiB random reads at depth 1 and 32, goes through one layer more each time: to the null engine, which is the generator
alone; to a block device in memory, which adds the system call, the block layer and a copy; to the target; and to a loop
device over the target, which adds the block layer once more and the loop's own thread. What a layer costs is the
difference of the means, with its interval.

The device in memory (zram, filled with random data, which it stores as it is) and the loop device (``losetup``, read
only and with direct I/O) are set up for the step that needs them, and taken down after it. That takes root: a layer
that cannot be set up is left out, and the notes say why.

Overhead and caveats. zram looks pages up in a table and copies them: it is no faster than memory, and a little slower
than a plain one. Differences of means add up; differences of percentiles do not, and none are given. At depth 32 one
thread's CPU is the limit of all but slow targets, and means are waits for it. Of a drive model there is no stack to go
through: it stands beside the model of a drive that costs nothing, behind the same machine.

Source: the readers' questions on AnandTech's reviews of the P4800X; the procedure is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from iogauge import catalog
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, StepPlan, SuitePlan, TargetFacts
from iogauge.stats.figures import difference
from iogauge.stats.quantiles import Estimate
from iogauge.suites.suite import StepTemplate, Suite, SuiteRequest
from iogauge.target.layers import Layer
from iogauge.text import numbers
from iogauge.workload.patterns import file_text

JOB = "load"
DEPTHS = (1, 32)


@dataclass(frozen=True)
class Place:
    """Where the load goes: a step's place on the axis, from the least to the most that lies below the program."""

    at: int
    key: str
    label: str
    path: str
    engine: str = "libaio"


class StackOverhead(Suite):
    """See the module's text."""

    NAME = "stack-overhead"
    TITLE = "Stack overhead"
    SOURCE = "ours, after what readers asked of AnandTech's reviews of the P4800X"
    AXIS = Axis(name="layer", unit="layer")
    MEASURED_JOB = JOB
    LAYERS = True

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """4 KiB random reads at depth 1 and 32, through one layer more each time."""
        layers = request.layers
        left_out = [f"{layer.title} left out: {layer.missing}" for layer in layers if layer.missing]
        empty = self.empty(request, notes=left_out)
        places = tuple(_places(request.target, [layer for layer in layers if not layer.missing]))
        steps = _steps(StepTemplate.of(empty), places)
        beside = tuple(place.path for place in places if place.path != request.target.path)
        return empty.model_copy(update={"steps": tuple(steps), "compared_with": beside})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return what each layer adds to the mean."""
        return tuple(
            said
            for series, steps in result.by_series().items()
            for said in _said(series, [step for step in steps if step.figures.mean is not None])
        )


def _said(series: str, steps: list[Position]) -> Iterator[str]:
    """Yield what each layer adds to the one before it."""
    in_order = {step.plan.at: step for step in steps}
    for before, after in pairwise(in_order.values()):
        assert before.figures.mean is not None
        assert after.figures.mean is not None
        yield f"{series}: {after.plan.label} takes {_more(after.figures.mean, before.figures.mean)} {before.plan.label}"


def _more(after: Estimate, before: Estimate) -> str:
    """Return by how much one mean is above or below another, with the interval where it is bounded."""
    more = difference(after, before)
    if more.low is None or more.high is None:
        apart = f"{numbers.duration(abs(more.value))} {'more' if more.value >= 0 else 'less'}"
        return f"{apart} (no interval) than"
    if more.low <= 0 <= more.high:
        most = numbers.duration(max(abs(more.low), abs(more.high)))
        return f"the same time, within {most}, as"
    low, high = sorted((abs(more.low), abs(more.high)))
    between = f"({numbers.duration(low)} to {numbers.duration(high)})"
    return f"{numbers.duration(abs(more.value))} {between} {'more' if more.value > 0 else 'less'} than"


def _places(target: TargetFacts, layers: list[Layer]) -> Iterator[Place]:
    """Yield where the load goes, from the least to the most that lies below the program."""
    if target.modelled:
        machine = catalog.split(target.path)[1] or target.modelled.machine
        free = f"{catalog.PREFIX}ram@{machine}"
        if free != target.path:
            yield Place(2, "ram", "a drive that costs nothing", free)
        yield Place(3, "target", "the target", target.path)
        return
    by_kind = {layer.kind: layer for layer in layers}
    yield Place(1, "null", "the generator alone", target.path, engine="null")
    if ram := by_kind.get("ram"):
        yield Place(2, "ram", ram.title, ram.path)
    yield Place(3, "target", "the target", target.path)
    if loop := by_kind.get("loop"):
        yield Place(4, "loop", loop.title, loop.path)


def _steps(load: StepTemplate, places: tuple[Place, ...]) -> Iterator[StepPlan]:
    for depth in DEPTHS:
        for place in places:
            yield load.step(
                f"{place.key}-qd{depth}",
                place.at,
                {JOB: {"rw": "randread", "iodepth": depth}},
                series=f"4 KiB random reads, depth {depth}",
                label=place.label,
                ioengine=place.engine,
                filename=file_text(place.path),
                bs="4k",
            )
