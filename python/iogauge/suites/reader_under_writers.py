"""A reader under writers: how long one reader waits as writers come in, one after the other, until the drive is full.

The procedure of the reviews of 2017, after what ad servers ask of a drive: one thread reads 4 KiB at random and at
depth 1; beside it come threads that write 4 KiB at depth 1, each at 100 MB/s, until the drive no longer keeps up. A
drive of low latency takes 2 GB/s so and reads five times as slowly then; flash takes less and reads ten times as
slowly.

**The stop rule.** A drive keeps up as long as the writers of a step get ``KEPT`` of what they ask for. It is saturated
where they do not, and it takes hardly more than with fewer writers. Step follows upon step until it is so in ``MISSED``
in a row, and there it ends: one alone may have been disturbed, since 1 % of a short step is a matter of milliseconds.
What it keeps up with is the last step before these in which it does. A search, one writer alone and then many that
nothing limits, says only how much each asks for and how many come in at a time; where it said too little, there are up
to ``BEYOND`` times as many writers as should have been too many, which the notes state.

At full pace writers of 100 MB/s come in one by one, as published, whatever the drive. At the others each asks for less
where one writer cannot do that, or the drive takes far less in all, and several come in at a time where it takes much.

Caveats. 100 MB/s of 4 KiB at depth 1 is a write every 41 us, which a slower drive does not do. Every writer is a
thread: with more writers than CPUs the generator is part of what is measured, and its warnings say when.

Source: AnandTech's review of the P4800X (April 2017).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figures import ratio, step_figures
from iogauge.store import Review
from iogauge.suites.suite import Ahead, Pace, StepTemplate, Suite, SuiteRequest, nothing_written
from iogauge.text import numbers

READER = "reader"
WRITER = "writer"
ALONE = "alone"
"""The writer of the search that runs by itself."""
WRITER_Bps = 100 * 10**6
"""What each writer asks for, where the target allows it."""
SEARCHERS = 32
"""Writers of the search: half as many again as the 2 GB/s of the fastest published drive need at depth 1."""
SEARCH_RUNTIME_NS = 2 * 10**9
KEPT = 0.99
"""A drive keeps up as long as writers get this share of what they ask for."""
MISSED = 2
"""Steps in a row in which writers do not get that: there a drive's end is reached."""
GAINED = 0.5
"""A drive takes more than before where it takes so much of what the first writers got on top, for as many new ones."""
MOST_STEPS: dict[Pace, int] = {"quick": 8, "standard": 12, "full": 64}
"""Steps, but for the first, after which there should be too many writers."""
BEYOND = 2
"""Times as many writers as that are tried, where the drive keeps up with those."""
FEWEST = 5
"""Writers that a target takes at least: below that they ask for less each, so that there is something to see."""
OF_ALONE = 0.8
"""A writer asks for no more than this share of what one alone can do."""


class ReaderUnderWriters(Suite):
    """See the module's text."""

    NAME = "reader-under-writers"
    TITLE = "A reader under writers"
    SOURCE = "AnandTech's review of the P4800X (April 2017), after Aerospike's certification tool"
    AXIS = Axis(name="write pressure", unit="MB/s")
    MEASURED_JOB = READER
    LOAD_JOBS = WRITER

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Read latency at depth 1 while writers at depth 1 come in one by one. The search gives the steps."""
        empty = self.empty(request)
        jobs: dict[str, dict[str, object]] = {
            ALONE: {"rw": "randwrite"},
            WRITER: {"stonewall": 1, "rw": "randwrite", "numjobs": SEARCHERS},
            READER: {"new_group": 1, "rw": "randread"},
        }
        load = replace(StepTemplate.of(empty), runtime_ns=SEARCH_RUNTIME_NS)
        return empty.model_copy(update={"search": load.step("search", 0, jobs, bs="4k", iodepth=1)})

    def refine(self, plan: SuitePlan, search: RunRecord, request: SuiteRequest) -> SuitePlan:
        """Return the plan with its first two steps, no writer and the first that come in; others follow from these.

        Raises IogaugeError: nothing was written during the search.
        """
        climb = _climb(search, request.pace)
        load = StepTemplate.of(plan)
        steps = [_step(load, many, rate_Bps=climb.each_Bps) for many in (0, climb.stride)]
        scaled = (
            "" if climb.each_Bps == WRITER_Bps else ", scaled to this target; the published step is 100 MB/s"
        )
        note = (
            f"Each writer asks for {numbers.bandwidth(climb.each_Bps)}{scaled}. In a search of "
            f"{SEARCH_RUNTIME_NS / 1e9:.0f} s, {SEARCHERS} writers reached {numbers.bandwidth(climb.limit_Bps)}. "
            f"Writers are added until the drive is saturated in {MISSED} steps in a row, or there are {climb.most}."
        )
        return plan.model_copy(update={"steps": tuple(steps), "notes": (*plan.notes, note)})

    def ahead(self, plan: SuitePlan, request: SuiteRequest, /) -> Ahead | None:
        """Return from two steps to all that there may be, each with writers that nothing limits."""
        load = StepTemplate.of(plan)
        steps = [_step(load, many, rate_Bps=0) for many in range(BEYOND * MOST_STEPS[request.pace] + 1)]
        return Ahead(tuple(steps[:2]), tuple(steps))

    def more(self, plan: SuitePlan, review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """Return the steps with the next writers, until the drive was saturated in ``MISSED`` steps.

        As many as are needed to see that, so that where steps are carried to another machine rounds are few.
        """
        assert plan.search is not None
        climb = _climb(review.record(plan.search.id), review.manifest.pace)
        mine = sorted((step for step in plan.steps if step.repeat == repeat), key=lambda step: step.at)
        _, *pressed = SuiteResult(review, plan.model_copy(update={"steps": tuple(mine)})).positions
        so_far = round(mine[-1].at * 1e6 / climb.each_Bps)
        missing = MISSED - len(saturation_of(pressed).saturated)
        tried = [so_far + climb.stride * (place + 1) for place in range(missing)]
        load = StepTemplate.of(plan)
        return tuple(_step(load, many, rate_Bps=climb.each_Bps) for many in tried if many <= climb.most)

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return the rate of writes that the drive keeps up with, the most that it takes, and how both slow reads."""
        measured = [step for step in result.positions if step.figures.mean is not None]
        if not measured or measured[0].requested_Bps:
            return ()
        alone, *pressed = measured
        end = saturation_of(pressed)
        said = []
        if end.most is not None:
            said.append(
                f"the drive keeps up with {_achieved(end.most)} of writes; {_slower(end.most, alone)}"
            )
        elif pressed:
            said.append("the drive keeps up with none of the writers tried")
        if len(end.saturated) == MISSED:
            first = end.saturated[0]
            said.append(
                f"the drive is saturated when asked for {numbers.bandwidth(first.requested_Bps)}: "
                f"it takes {_achieved(first)}; {_slower(first, alone)}"
            )
        elif end.saturated:
            (last,) = end.saturated
            said.append(
                f"the drive is saturated only in the last step: asked for {numbers.bandwidth(last.requested_Bps)}, "
                f"it takes {_achieved(last)}; one step does not show its limit"
            )
        elif pressed:
            said.append("the rate still rose at the last step: the drive was not saturated")
        return tuple(said)


def _achieved(step: Position) -> str:
    return numbers.estimated(step.figures.pressure_estimate, numbers.bandwidth)


def _slower(step: Position, alone: Position) -> str:
    """Say how much a step's writers slow reads. Both steps have reads."""
    assert step.figures.mean is not None
    assert alone.figures.mean is not None
    slower = ratio(step.figures.mean, alone.figures.mean)
    return f"writes then slow reads {numbers.times(slower.value, slower.low, slower.high)}"


def _step(load: StepTemplate, writers: int, *, rate_Bps: int) -> StepPlan:
    rate = f",{rate_Bps}" if rate_Bps else None
    writer: dict[str, object] = {"rw": "randwrite", "numjobs": writers, "rate": rate}
    reader: dict[str, object] = {"new_group": 1, "rw": "randread"}
    jobs = {WRITER: writer, READER: reader} if writers else {READER: reader}
    return load.step(f"{WRITER}s-{writers}", writers * rate_Bps / 1e6, jobs, bs="4k", iodepth=1)


@dataclass(frozen=True)
class Climb:
    """How many writers a step adds, and what each of them asks for."""

    limit_Bps: float
    """What the search's writers got together, bytes a second."""
    each_Bps: int
    """What one asks for."""
    stride: int
    """How many come in at a time."""
    most: int
    """How many there are at most."""


def climb_for(limit_Bps: float, alone_Bps: float, *, pace: Pace) -> Climb:
    """Return how writers come in where a search got ``limit_Bps`` of many, and ``alone_Bps`` of one.

    After as many steps as the pace has there are so many that even what counts as keeping up with them is more than
    ``limit_Bps``, unless the drive takes more than so many writers of the published rate ask for.

    >>> climb_for(620e6, 400e6, pace="full")
    Climb(limit_Bps=620000000.0, each_Bps=100000000, stride=1, most=14)
    >>> climb_for(2.03e9, 400e6, pace="quick")
    Climb(limit_Bps=2030000000.0, each_Bps=100000000, stride=3, most=42)
    >>> climb_for(30e6, 20e6, pace="quick")
    Climb(limit_Bps=30000000.0, each_Bps=5000000, stride=1, most=14)
    >>> climb_for(30e6, 20e6, pace="full")
    Climb(limit_Bps=30000000.0, each_Bps=100000000, stride=1, most=4)
    """
    steps, each_Bps = MOST_STEPS[pace], WRITER_Bps
    if pace == "full":
        # A writer gets no more than it would alone, whatever it asks for.
        enough = math.floor(limit_Bps / (KEPT * min(each_Bps, alone_Bps))) + 1
        return Climb(limit_Bps, each_Bps, 1, BEYOND * min(enough, steps))
    if limit_Bps < FEWEST * each_Bps or alone_Bps * OF_ALONE < each_Bps:
        each_Bps = _round(min(limit_Bps / FEWEST, alone_Bps * OF_ALONE, each_Bps))
    enough = math.floor(limit_Bps / (KEPT * each_Bps)) + 1
    stride = math.ceil(enough / steps)
    return Climb(limit_Bps, each_Bps, stride, BEYOND * math.ceil(enough / stride) * stride)


def _climb(search: RunRecord, pace: Pace) -> Climb:
    """Return how writers come in after a search. Raises IogaugeError: nothing was written during it."""
    limit_Bps = step_figures(search, (), measured_job=READER, load_jobs=WRITER).pressure_Bps
    alone_Bps = step_figures(search, (), measured_job=ALONE, load_jobs=None).rate_Bps
    if min(limit_Bps, alone_Bps) <= 0:
        raise nothing_written(bs="4k")
    return climb_for(limit_Bps, alone_Bps, pace=pace)


def _round(value: float) -> int:
    """The greatest of 1, 2 and 5 times powers of ten that is not above, at least 1."""
    power: int = 10 ** math.floor(math.log10(max(value, 1)))
    return max(step * power for step in (1, 2, 5) if step * power <= max(value, 1))


@dataclass(frozen=True)
class Saturation:
    """What steps with more and more writers have shown."""

    most: Position | None
    """The last step with which the drive kept up."""
    saturated: tuple[Position, ...]
    """Steps in a row, the last ones, in which it was saturated; ``MISSED`` of them end the climb."""


def saturation_of(pressed: Sequence[Position]) -> Saturation:
    """Return what steps with writers show, from the fewest writers to the step that ends the climb."""
    most: Position | None = None
    saturated: list[Position] = []
    highest_Bps = 0.0
    for step in pressed:
        gained_Bps = step.achieved_Bps - highest_Bps
        highest_Bps = max(highest_Bps, step.achieved_Bps)
        if kept(step):
            most, saturated = step, []
        elif gained_Bps > GAINED * pressed[0].achieved_Bps:
            saturated = []
        else:
            saturated.append(step)
        if len(saturated) == MISSED:
            break
    return Saturation(most, tuple(saturated))


def kept(step: Position) -> bool:
    """Return whether the drive kept up with a step's writers."""
    return step.achieved_Bps >= KEPT * step.requested_Bps
