"""A reader under writers: how long one reader waits as writers are added one by one until the drive is saturated.

The procedure of the reviews of 2017, modelled on the load of ad servers: one thread reads 4 KiB at random at depth 1.
Threads that write 4 KiB at depth 1, each at 100 MB/s, join it until the drive no longer keeps up. A low-latency drive
takes 2 GB/s of writes, and reads then take five times as long; flash takes less, and reads take ten times as long.

**The stop rule.** A drive keeps up as long as writers get ``KEPT`` of their requested rate. It is saturated if they get
less, and it takes hardly more than from fewer writers. The suite adds writers until the drive is saturated in
``MISSED`` steps in a row. A single step may have been disturbed: 1 % of a short step is a few milliseconds. The highest
rate that the drive keeps up with is that of the last step before these in which it kept up.

A search, one writer alone and then many without a limit, sets only the rate of each writer and how many join at a time.
If the search underestimated the drive, the suite goes on to at most ``BEYOND`` times the number of writers that should
saturate it. The notes state that number.

At full pace writers of 100 MB/s join one by one, as published, on any drive. At the other paces each writer requests
less if one writer cannot reach 100 MB/s, or if the drive's total is far smaller; several writers join at a time if the
total is large.

Caveats. 100 MB/s of 4 KiB at depth 1 is a write every 41 us, which a slower drive cannot do. Every writer is a thread:
with more writers than CPUs, results include the generator's limits, and its warnings say so.

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
"""The search's writer that runs by itself."""
WRITER_Bps = 100 * 10**6
"""Requested rate of each writer, if the target allows it."""
SEARCHERS = 32
"""Writers of the search: half as many again as it takes to write 2 GB/s, the fastest published drive's rate."""
SEARCH_RUNTIME_NS = 2 * 10**9
KEPT = 0.99
"""A drive keeps up as long as writers get this share of their requested rate."""
MISSED = 2
"""The suite ends after this many saturated steps in a row."""
GAINED = 0.5
"""A step's new writers add to the total if they gain this share of what the first step's writers got."""
MOST_STEPS: dict[Pace, int] = {"quick": 8, "standard": 12, "full": 64}
"""Steps, without the first, after which the drive should be saturated."""
BEYOND = 2
"""The suite tries at most this many times as many writers as should saturate the drive."""
FEWEST = 5
"""A target should take at least this many writers; if it cannot, each requests less."""
OF_ALONE = 0.8
"""A writer requests at most this share of what one writer reaches alone."""


class ReaderUnderWriters(Suite):
    """See the module's text."""

    NAME = "reader-under-writers"
    TITLE = "A reader under writers"
    SOURCE = "AnandTech's review of the P4800X (April 2017), after Aerospike's certification tool"
    AXIS = Axis(name="write pressure", unit="MB/s")
    MEASURED_JOB = READER
    OVERLOADS = True
    LOAD_JOBS = WRITER

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan the search; ``refine`` and ``more`` plan the steps."""
        empty = self.empty(request)
        jobs: dict[str, dict[str, object]] = {
            ALONE: {"rw": "randwrite"},
            WRITER: {"stonewall": 1, "rw": "randwrite", "numjobs": SEARCHERS},
            READER: {"new_group": 1, "rw": "randread"},
        }
        load = replace(StepTemplate.of(empty), runtime_ns=SEARCH_RUNTIME_NS)
        return empty.model_copy(update={"search": load.step("search", 0, jobs, bs="4k", iodepth=1)})

    def refine(self, plan: SuitePlan, search: RunRecord, request: SuiteRequest) -> SuitePlan:
        """Return the plan with its first two steps: no writers, and the first writers.

        Raises IogaugeError: no write completed during the search.
        """
        climb = _climb(search, request.pace)
        load = StepTemplate.of(plan)
        steps = [_step(load, writers, rate_Bps=climb.each_Bps) for writers in (0, climb.stride)]
        scaled = (
            "" if climb.each_Bps == WRITER_Bps else ", scaled to this target; the published step is 100 MB/s"
        )
        note = (
            f"Each writer requests {numbers.bandwidth(climb.each_Bps)}{scaled}. In a search of "
            f"{SEARCH_RUNTIME_NS / 1e9:.0f} s, {SEARCHERS} writers reached {numbers.bandwidth(climb.limit_Bps)}. "
            f"Writers are added until the drive is saturated in {MISSED} steps in a row, or there are {climb.most}."
        )
        return plan.model_copy(update={"steps": tuple(steps), "notes": (*plan.notes, note)})

    def ahead(self, plan: SuitePlan, request: SuiteRequest, /) -> Ahead | None:
        """Estimate two steps at least, and at most one for each number of writers, whose rates have no limit."""
        load = StepTemplate.of(plan)
        steps = [_step(load, writers, rate_Bps=0) for writers in range(BEYOND * MOST_STEPS[request.pace] + 1)]
        # As the search, this many steps saturate the drive: the number of writers and their rate are chosen so.
        most = MOST_STEPS[request.pace]
        usual = tuple(_step(load, SEARCHERS * step // most, rate_Bps=0) for step in range(most + 1))
        return Ahead(tuple(steps[:2]), tuple(steps), usual, load=OF_ALONE)

    def more(self, plan: SuitePlan, review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """Return steps with more writers; none once the drive was saturated in ``MISSED`` steps in a row.

        Returns as many steps as the stop rule needs at least: a review whose steps run on another machine then needs
        fewer trips.
        """
        assert plan.search is not None
        climb = _climb(review.record(plan.search.id), review.manifest.pace)
        mine = sorted((step for step in plan.steps if step.repeat == repeat), key=lambda step: step.at)
        _, *pressed = SuiteResult(review, plan.model_copy(update={"steps": tuple(mine)})).positions
        so_far = round(mine[-1].at * 1e6 / climb.each_Bps)
        missing = MISSED - len(saturation_of(pressed).saturated)
        counts = [so_far + climb.stride * (number + 1) for number in range(missing)]
        load = StepTemplate.of(plan)
        return tuple(
            _step(load, writers, rate_Bps=climb.each_Bps) for writers in counts if writers <= climb.most
        )

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return the rate of writes that the drive keeps up with, the rate when saturated, and how both slow reads."""
        measured = [step for step in result.positions if step.figures.mean is not None]
        if not measured or measured[0].requested_Bps:
            return ()
        alone, *pressed = measured
        end = saturation_of(pressed)
        findings = []
        if end.most is not None:
            findings.append(
                f"the drive keeps up with {_achieved(end.most)} of writes; {_slower(end.most, alone)}"
            )
        elif pressed:
            findings.append("the drive cannot keep up with even the fewest writers tried")
        if len(end.saturated) == MISSED:
            first = end.saturated[0]
            findings.append(
                f"the drive is saturated when writers request {numbers.bandwidth(first.requested_Bps)}: "
                f"it takes {_achieved(first)}; {_slower(first, alone)}"
            )
        elif end.saturated:
            (last,) = end.saturated
            findings.append(
                "the drive is saturated only in the last step: writers request "
                f"{numbers.bandwidth(last.requested_Bps)}, and it takes {_achieved(last)}; "
                "one step does not show its limit"
            )
        elif pressed:
            findings.append("the drive was not saturated: its write rate still rose in the last step")
        return tuple(findings)


def _achieved(step: Position) -> str:
    return numbers.estimated(step.figures.pressure_figure, numbers.bandwidth)


def _slower(step: Position, alone: Position) -> str:
    """Say how much a step's writers slow reads; both steps have completed reads."""
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
    """How many writers each step adds, and their rate."""

    limit_Bps: float
    """What the search's writers got together, bytes a second."""
    each_Bps: int
    """Requested rate of each writer."""
    stride: int
    """Writers that join at a time."""
    most: int
    """Writers at most."""


def climb_for(limit_Bps: float, alone_Bps: float, *, pace: Pace) -> Climb:
    """Return how writers join after a search got ``limit_Bps`` from many writers and ``alone_Bps`` from one.

    After the pace's number of steps the writers request so much that ``KEPT`` of it exceeds ``limit_Bps``; at full
    pace, ``MOST_STEPS`` writers of the published rate are taken to be enough for any drive.

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
    # A writer alone gets at least what each of many gets. Where it got less, something disturbed it, and it would take
    # hundreds of writers of that rate to saturate the drive.
    alone_Bps = max(alone_Bps, limit_Bps / SEARCHERS)
    if pace == "full":
        # No writer gets more than it would alone.
        enough = math.floor(limit_Bps / (KEPT * min(each_Bps, alone_Bps))) + 1
        return Climb(limit_Bps, each_Bps, 1, BEYOND * min(enough, steps))
    if limit_Bps < FEWEST * each_Bps or alone_Bps * OF_ALONE < each_Bps:
        each_Bps = _round(min(limit_Bps / FEWEST, alone_Bps * OF_ALONE, each_Bps))
    enough = math.floor(limit_Bps / (KEPT * each_Bps)) + 1
    stride = math.ceil(enough / steps)
    return Climb(limit_Bps, each_Bps, stride, BEYOND * math.ceil(enough / stride) * stride)


def _climb(search: RunRecord, pace: Pace) -> Climb:
    """Return how writers join after a search. Raises IogaugeError: no write completed during the search."""
    limit_Bps = step_figures(search, (), measured_job=READER, load_jobs=WRITER).pressure_Bps
    alone_Bps = step_figures(search, (), measured_job=ALONE, load_jobs=None).rate_Bps
    if min(limit_Bps, alone_Bps) <= 0:
        raise nothing_written(bs="4k")
    return climb_for(limit_Bps, alone_Bps, pace=pace)


def _round(value: float) -> int:
    """Round down to 1, 2 or 5 times a power of ten, at least 1."""
    power: int = 10 ** math.floor(math.log10(max(value, 1)))
    return max(step * power for step in (1, 2, 5) if step * power <= max(value, 1))


@dataclass(frozen=True)
class Saturation:
    """Where a drive stops keeping up with more and more writers."""

    most: Position | None
    """The last step in which the drive kept up."""
    saturated: tuple[Position, ...]
    """The saturated steps in a row at the end; ``MISSED`` of them end the climb."""


def saturation_of(pressed: Sequence[Position]) -> Saturation:
    """Apply the stop rule to steps with writers, the fewest writers first."""
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
