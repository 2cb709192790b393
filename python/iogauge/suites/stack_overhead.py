"""Stack overhead: how much time each layer between a program and a drive adds to a request.

Of the ten microseconds of a request to 3D XPoint, how many does the drive take? The same load, 4 KiB random reads at
depth 1 and 32, goes through one more layer each time:

- the null engine: the generator alone;
- a block device in memory: adds the system call, the block layer and a copy;
- the target;
- a loop device over the target: adds the block layer again, and the loop's thread.

A layer's cost is the difference of the means, with its interval.

The suite sets up the device in memory (zram, filled with random data, which it cannot compress) and the loop device
(``losetup``, read-only, direct I/O) for the step that needs them, and removes them after it. This takes root. The suite
leaves out a layer that it cannot set up, and a note says why.

Caveats. zram looks pages up in a table and copies them, so it is a little slower than a plain block device in memory.
Differences of means add up; differences of percentiles do not, so none are shown. At depth 32 one thread's CPU limits
all but slow targets, and means are mostly waits for it. A drive model has no stack below it: the suite compares it with
the model of a drive that costs nothing, behind the same machine.

Source: readers' questions on AnandTech's reviews of the P4800X; the procedure is ours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from iogauge import catalog
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, StepPlan, SuitePlan, TargetFacts
from iogauge.stats.figure import Figure
from iogauge.stats.figures import difference
from iogauge.suites.suite import StepTemplate, Suite, SuiteRequest
from iogauge.target.layers import Layer
from iogauge.text import numbers
from iogauge.workload.options.patterns import file_text

JOB = "load"
DEPTHS = (1, 32)


@dataclass(frozen=True)
class Endpoint:
    """Where the load goes; ``at`` grows with the number of layers below the program."""

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
        """Plan 4 KiB random reads at depth 1 and 32, through one more layer each time."""
        layers = request.layers
        left_out = [f"{layer.title} left out: {layer.missing}" for layer in layers if layer.missing]
        empty = self.empty(request, notes=left_out)
        endpoints = tuple(_endpoints(request.target, [layer for layer in layers if not layer.missing]))
        steps = _steps(StepTemplate.of(empty), endpoints)
        others = tuple(endpoint.path for endpoint in endpoints if endpoint.path != request.target.path)
        return empty.model_copy(update={"steps": tuple(steps), "compared_with": others})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return what each layer adds to the mean."""
        return tuple(
            sentence
            for series, steps in result.by_series().items()
            for sentence in _sentences(series, [step for step in steps if step.figures.mean is not None])
        )


def _sentences(series: str, steps: list[Position]) -> Iterator[str]:
    """Yield what each layer adds to the one before it."""
    by_layer = {step.plan.at: step for step in steps}
    for before, after in pairwise(by_layer.values()):
        assert before.figures.mean is not None
        assert after.figures.mean is not None
        yield f"{series}: {after.plan.label} takes {_more(after.figures.mean, before.figures.mean)} {before.plan.label}"


def _more(after: Figure, before: Figure) -> str:
    """Describe how much longer or shorter one mean is than another, with the interval if it is bounded."""
    more = difference(after, before)
    words = "more than" if more.value >= 0 else "less than"
    if more.low is None or more.high is None:
        return f"{numbers.ranged(abs(more.value), None, None, numbers.duration)} {words}"
    if more.low <= 0 <= more.high:
        most = numbers.duration(max(abs(more.low), abs(more.high)), 2)
        return f"the same time, within {most}, as"
    low, high = sorted((abs(more.low), abs(more.high)))
    return f"{numbers.ranged(abs(more.value), low, high, numbers.duration)} {words}"


def _endpoints(target: TargetFacts, layers: list[Layer]) -> Iterator[Endpoint]:
    """Yield where the load goes, the fewest layers first."""
    if target.modelled:
        machine = catalog.split(target.path)[1] or target.modelled.machine
        free = f"{catalog.PREFIX}ram@{machine}"
        if free != target.path:
            yield Endpoint(2, "ram", "a drive that costs nothing", free)
        yield Endpoint(3, "target", "the target", target.path)
        return
    by_kind = {layer.kind: layer for layer in layers}
    yield Endpoint(1, "null", "the generator alone", target.path, engine="null")
    if ram := by_kind.get("ram"):
        yield Endpoint(2, "ram", ram.title, ram.path)
    yield Endpoint(3, "target", "the target", target.path)
    if loop := by_kind.get("loop"):
        yield Endpoint(4, "loop", loop.title, loop.path)


def _steps(load: StepTemplate, endpoints: tuple[Endpoint, ...]) -> Iterator[StepPlan]:
    for depth in DEPTHS:
        for endpoint in endpoints:
            yield load.step(
                f"{endpoint.key}-qd{depth}",
                endpoint.at,
                {JOB: {"rw": "randread", "iodepth": depth}},
                series=f"4 KiB random reads, depth {depth}",
                label=endpoint.label,
                ioengine=endpoint.engine,
                filename=file_text(endpoint.path),
                bs="4k",
            )
