"""Find: the most load that keeps a limit, such as the most IOPS with p99 under 1 ms.

The load varies by its rate, by the depth of a job, or by the number of jobs. At a rate, requests arrive at random (a
Poisson process), as those of many independent clients do, and the limit is on the response: it counts from the intended
start, so it includes the wait of a request that finds the drive busy. At a depth or a number of jobs, each completion
starts the next request, and the limit is on the latency. ``bracket`` has the search; it judges every load by the 95 %
interval of its figures.

A drive that serves less than the requested rate misses every limit: its queue would grow for as long as one measures.

Caveats. Loads are tried one after the other, so a drive that slows down as it is written has another limit at the end
than at the start: precondition it first. Each end of the result is decided by its own interval.

Source: the question of capacity planning; open loops as in Schroeder, Wierman and Harchol-Balter (NSDI 2006).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from iogauge.results.conclusions import Conclusions, SearchResult, TriedLoad
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, Goal, Kind, LatencyLimit, Over, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figure import Figure
from iogauge.stats.histogram import needed
from iogauge.stats.limits import Outcome, lower_quantiles, rule
from iogauge.store import Review
from iogauge.suites.rates.bracket import (
    LONGER,
    MOST_EFFORT,
    MOST_TRIALS,
    Bracket,
    Next,
    Range,
    Trial,
    bracket_of,
    next_trial,
)
from iogauge.suites.rates.load import DEPTH, JOB, JOBS, grain, most_served, paced, search_step
from iogauge.suites.suite import Ahead, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers

AXES: dict[Over, Axis] = {
    "rate": Axis(name="requested rate", unit="IOPS"),
    "depth": Axis(name="queue depth", unit="in flight"),
    "jobs": Axis(name="jobs at once", unit="jobs"),
}
MOST: dict[Over, int] = {"depth": 256, "jobs": 64}
"""The largest depth and the most jobs that are tried."""
_VARIED: dict[Over, str] = {"depth": "iodepth", "jobs": "numjobs"}
USUAL_EFFORTS = (1,) * 9 + (LONGER,) * 3 + (MOST_EFFORT,) * 2
"""The efforts of the trials that a search usually makes. On average their loads are half the greatest."""
FIRST = 8
"""The first depth, and the first number of jobs, that is tried."""
BEYOND = 1.05
"""The highest rate that is tried is this many times the most that the drive serves: no drive keeps a limit there."""
LEAST_SHARE = 4096
"""The lowest rate that is tried is this part of the most that the drive serves."""
SERVED = 0.995
"""A drive serves a rate if it completes this share of its requests, and what chance may take from a Poisson process."""
CHANCE = 4
"""That chance, in standard deviations."""
ENOUGH = 1.5
"""A step is long enough for this many times the samples that its highest quantile needs."""
MOST_LONGER = 20
"""The most times its usual length that a step gets for that."""
LONG_ENOUGH_NS = 30 * 10**9
"""A run this long is not repeated for want of an interval: even if neighbouring seconds correlate by 0.7, most runs of
that length have one."""
PRECISION = 0.02
USUAL = Goal(
    limits=(LatencyLimit(text="p99 < 1ms", quantile=0.99, at_most_ns=1e6),),
    load={"rw": "randread", "bs": "4k", "numjobs": JOBS, "iodepth": DEPTH},
    precision=PRECISION,
)


class Find(Suite):
    """See the module's text."""

    NAME = "find"
    TITLE = "The most that keeps a limit"
    SOURCE = "iogauge: a search by intervals"
    AXIS = AXES["rate"]
    MEASURED_JOB = JOB
    OVERLOADS = True
    JUDGED = "I/O"
    KIND = Kind.RESPONSE

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan a search for the most that the drive serves, or the first depth or number of jobs."""
        goal = request.goal or USUAL
        empty = self.empty(request).model_copy(
            update={
                "goal": goal,
                "one_load": True,
                "axis": AXES[goal.over],
                "kind": Kind.RESPONSE if goal.over == "rate" else Kind.LAT,
            }
        )
        template = StepTemplate.of(empty)
        if goal.over == "rate":
            return empty.model_copy(update={"search": search_step(template, goal.load)})
        return empty.model_copy(update={"steps": (_step(template, goal, Next(FIRST)),)})

    def refine(self, plan: SuitePlan, search: RunRecord, request: SuiteRequest) -> SuitePlan:
        """Return the plan with the first rate, half of the most that the drive serves.

        Raises IogaugeError: nothing completed.
        """
        del request
        goal = _goal(plan)
        first = next_trial((), _range(goal, most_served(search)))
        assert first is not None
        return plan.model_copy(update={"steps": (_step(StepTemplate.of(plan), goal, first),)})

    def more(self, plan: SuitePlan, review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """Return the next load to try; none once the search has ended."""
        del repeat
        goal = _goal(plan)
        chosen = next_trial(_trials(SuiteResult(review, plan), goal), _range(goal, _most(plan, review)))
        return () if chosen is None else (_step(StepTemplate.of(plan), goal, chosen),)

    def ahead(self, plan: SuitePlan, _request: SuiteRequest, /) -> Ahead | None:
        """Estimate one step at least, and at most all trials, each as long as a run at its load can be.

        No rate limits what they write. At the lowest rates, which few searches reach, runs are the longest.
        """
        goal = _goal(plan)
        template = StepTemplate.of(plan)
        load = {**goal.load, _VARIED[goal.over]: MOST[goal.over]} if goal.over in MOST else goal.load

        def trials(efforts: Sequence[int], *, at: float) -> tuple[StepPlan, ...]:
            return tuple(
                replace(template, runtime_ns=_runtime_ns(template, goal, Next(at, effort))).step(
                    f"trial-{count}", count, {JOB: {**load, "iodepth_batch": 1}}
                )
                for count, effort in enumerate(efforts)
            )

        longest = MOST_EFFORT if LONGER * plan.runtime_ns < LONG_ENOUGH_NS else LONGER
        usual = trials([min(effort, longest) for effort in USUAL_EFFORTS], at=math.inf)
        most = trials([longest] * MOST_TRIALS, at=grain(goal.load) if goal.over == "rate" else 1)
        return Ahead(usual[: 1 if plan.search else 0], most, usual, load=0.5)

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Return the most that keeps the limits, how closely it is known, and all loads that were tried."""
        goal = _goal(result.plan)
        loads = tuple(
            sorted(
                (_tried(position, goal) for position in result.positions),
                key=lambda load: (load.at, load.effort),
            )
        )
        if not loads:
            return Conclusions()
        most = _most(result.plan, result.review)
        trials = _trials(result, goal)
        bracket = bracket_of(trials)
        ended = next_trial(trials, _range(goal, most)) is None
        search = SearchResult(
            limits=tuple(limit.text for limit in goal.limits),
            unit=result.plan.axis.unit,
            estimate=_estimate(goal, bracket),
            holds=bracket.holds,
            breaks=bracket.breaks,
            most=_best(result, goal, bracket),
            loads=loads,
            ended=ended,
        )
        quantiles = sorted({limit.quantile for limit in goal.limits if limit.quantile} | {0.5})
        return Conclusions(
            findings=tuple(_sentences(result, goal, bracket, search)),
            search=search,
            quantiles=tuple(quantiles),
        )


def _goal(plan: SuitePlan) -> Goal:
    assert plan.goal is not None  # every plan of the suite has one
    return plan.goal


def _most(plan: SuitePlan, review: Review) -> float:
    """Return the highest load that may be tried."""
    goal = _goal(plan)
    if plan.search is None:
        return MOST[goal.over]
    return most_served(review.record(plan.search.id))


def _range(goal: Goal, most: float) -> Range:
    if goal.over != "rate":
        return Range(least=1, most=most, first=FIRST, precision=goal.precision, grain=1)
    step = grain(goal.load)
    return Range(
        least=max(most / LEAST_SHARE, step),
        most=max(most * BEYOND, step),
        first=max(most / 2, step),
        precision=goal.precision,
        grain=step,
    )


def _step(template: StepTemplate, goal: Goal, chosen: Next) -> StepPlan:
    """Return the step of a trial."""
    at, load = chosen.at, goal.load
    options = (
        paced(load, at)
        if goal.over == "rate"
        else {**load, _VARIED[goal.over]: round(at), "iodepth_batch": 1}
    )
    again, runtime_ns = chosen.effort > 1, _runtime_ns(template, goal, chosen)
    return replace(template, runtime_ns=runtime_ns).step(
        f"{goal.over}-{at:.0f}" + (f"-{chosen.effort}x" if again else ""),
        at,
        {JOB: options},
        label=f"{numbers.placed(at, AXES[goal.over].unit)} for {numbers.span(runtime_ns)}" if again else "",
    )


def _effort(step_id: str) -> int:
    """Return how many times as long as usual a trial ran. The ids of a review's repeats end with their number.

    >>> [_effort(step) for step in ("find.rate-2500", "find.rate-2500-4x", "find-2.depth-8-16x.r2")]
    [1, 4, 16]
    """
    effort = re.search(r"-(\d+)x(\.r\d+)?$", step_id)
    return int(effort[1]) if effort else 1


def _runtime_ns(template: StepTemplate, goal: Goal, chosen: Next) -> int:
    """Return how long a trial runs; at a low rate, as long as its sample needs."""
    runtime_ns = template.runtime_ns * chosen.effort
    if goal.over != "rate":
        return runtime_ns
    samples = max((needed(limit.quantile) for limit in goal.limits if limit.quantile), default=0)
    enough_ns = round(ENOUGH * samples / (chosen.at * _share(goal)) * 1e9) * chosen.effort
    return max(runtime_ns, min(enough_ns, MOST_LONGER * template.runtime_ns) // 10**6 * 10**6)


def _share(goal: Goal) -> float:
    """Return the smallest share of the requests that a limit is about."""
    reads = int(goal.load.get("rwmixread", 50)) / 100
    mixed = str(goal.load["rw"]) in ("rw", "readwrite", "randrw")
    shares = {None: 1.0, "read": reads, "write": 1 - reads}
    return min(shares.get(limit.direction, 1.0) for limit in goal.limits) if mixed else 1.0


def _trials(result: SuiteResult, goal: Goal) -> list[Trial]:
    return [trial for _, trial in _paired(result, goal)]


def _paired(result: SuiteResult, goal: Goal) -> Iterable[tuple[Position, Trial]]:
    """Yield each measured load with its trial."""
    for position in result.positions:
        outcome = _outcome(position, goal)
        effort = _effort(position.plan.id)
        too_short = (
            outcome is Outcome.NOT_SHOWN
            and _can_be_longer(result.plan, Next(position.at, effort))
            and any(_is_open(position, limit) for limit in goal.limits)
        )
        yield position, Trial(position.at, outcome, effort, too_short)


def _can_be_longer(plan: SuitePlan, tried: Next) -> bool:
    """Return whether a trial is shorter than ``LONG_ENOUGH_NS``, and the next effort is longer."""
    longer = replace(tried, effort=tried.effort * LONGER)
    now_ns, next_ns = (_runtime_ns(StepTemplate.of(plan), _goal(plan), one) for one in (tried, longer))
    return now_ns < min(LONG_ENOUGH_NS, next_ns)


def _is_open(position: Position, limit: LatencyLimit) -> bool:
    """Return whether a limit is undecided because its figure has no closed interval, although enough samples."""
    figure = _figure(position, limit)
    undecided = _ruled(position, limit) is Outcome.NOT_SHOWN
    return undecided and figure is not None and figure.supported and None in (figure.low, figure.high)


def _outcome(position: Position, goal: Goal) -> Outcome:
    """Return whether a load meets all limits."""
    if _overloads(position, goal):
        return Outcome.MISSED
    outcomes = {_ruled(position, limit) for limit in goal.limits}
    if Outcome.MISSED in outcomes:
        return Outcome.MISSED
    return Outcome.MET if outcomes == {Outcome.MET} else Outcome.NOT_SHOWN


def _served(position: Position) -> bool:
    """Return whether the drive serves the requested rate, as far as chance lets one tell."""
    figures = position.figures
    expected = position.at * figures.duration_s
    return figures.ios >= SERVED * expected - CHANCE * math.sqrt(expected)


def _ruled(position: Position, limit: LatencyLimit) -> Outcome:
    figure = _figure(position, limit)
    if figure is None:
        return Outcome.NOT_MEASURED
    lower = lower_quantiles(limit.quantile, position.runs[0].figures_of(limit.direction).quantile)
    return rule(figure, limit.at_most_ns, upper=True, lower=lower).outcome


def _figure(position: Position, limit: LatencyLimit) -> Figure | None:
    """Return the figure that a limit is about; None: nothing completed."""
    figures = position.runs[0].figures_of(limit.direction)
    return figures.mean if limit.quantile is None else figures.quantile(limit.quantile)


def _tried(position: Position, goal: Goal) -> TriedLoad:
    return TriedLoad(
        at=position.at,
        effort=_effort(position.plan.id),
        outcome=_outcome(position, goal).value,
        served=not _overloads(position, goal),
        rate=_rate(position, goal),
        latencies=tuple(_figure(position, limit) for limit in goal.limits),
    )


def _rate(position: Position, goal: Goal) -> Figure:
    figures = position.figures
    return figures.iops_figure if goal.quantity == "iops" else figures.rate_figure


def _best(result: SuiteResult, goal: Goal, bracket: Bracket) -> Figure | None:
    """Return the highest rate of a load that meets the limits and lies below the first that misses them."""
    if bracket.holds is None:
        return None
    met = [
        position
        for position, trial in _paired(result, goal)
        if trial.outcome is Outcome.MET and trial.at <= bracket.holds
    ]
    return max((_rate(position, goal) for position in met), key=lambda rate: rate.value)


def _estimate(goal: Goal, bracket: Bracket) -> float | None:
    """Return the load at which the limits end."""
    if bracket.holds is None or bracket.breaks is None or goal.over != "rate":
        return bracket.holds
    return math.sqrt(bracket.holds * bracket.breaks)


def _sentences(result: SuiteResult, goal: Goal, bracket: Bracket, search: SearchResult) -> Iterable[str]:
    """Yield the answer, what decides its ends, and what contradicts it."""
    limits = " and ".join(limit.text for limit in goal.limits)
    unit = result.plan.axis.unit

    def placed(at: float) -> str:
        return numbers.placed(at, unit)

    def longest(load: float) -> Position:
        """Return the longest run at a load."""
        return max(
            (position for position in result.positions if position.at == load),
            key=lambda position: _effort(position.plan.id),
        )

    if not search.ended:
        yield f"the search for the most load with {limits} has not ended: resume the review"
    elif bracket.holds is None:
        yield f"no load is shown to keep {limits}"
    else:
        yield f"{limits} {_answer(goal, bracket, search, placed)}"
    if bracket.holds is not None:
        yield f"kept at {placed(bracket.holds)}: {_latency(longest(bracket.holds), goal)}"
    if bracket.breaks is not None:
        missed = longest(bracket.breaks)
        served = f", and only {_iops(missed.figures.iops)} are served" if _overloads(missed, goal) else ""
        yield f"missed at {placed(bracket.breaks)}: {_latency(missed, goal)}{served}"
    elif search.ended:
        yield f"no load that was tried misses it; the most was {placed(max(load.at for load in search.loads))}"
    if bracket.undecided and search.ended:
        first, last = bracket.undecided[0], bracket.undecided[-1]
        loads = (
            f"from {placed(first.at)} to {placed(last.at)}"
            if len(bracket.undecided) > 2
            else "at " + numbers.listed([placed(trial.at) for trial in bracket.undecided])
        )
        yield f"not shown {loads}: longer runs would show more"
    if bracket.reversed_at:
        loads = numbers.listed([placed(load) for load in bracket.reversed_at])
        yield f"not monotone: kept at {loads}, although missed at {placed(bracket.breaks or 0)}"


def _answer(goal: Goal, bracket: Bracket, search: SearchResult, placed: Callable[[float], str]) -> str:
    """Return up to which load the limits are kept and from which they are missed, and the rate that is served."""
    assert bracket.holds is not None
    assert search.most is not None
    kept = f"is kept up to {placed(bracket.holds)}"
    shown: numbers.Written = numbers.bandwidth if goal.quantity == "bandwidth" else _iops
    if goal.over != "rate":
        kept += f" at {numbers.estimated(search.most, shown)}"
    elif goal.quantity == "bandwidth":
        kept += f" at {numbers.bandwidth(search.most.value)}"
    end = "all that was tried" if bracket.breaks is None else f"missed from {placed(bracket.breaks)}"
    return f"{kept}, {end}"


def _overloads(position: Position, goal: Goal) -> bool:
    return goal.over == "rate" and not _served(position)


def _latency(position: Position, goal: Goal) -> str:
    """Return the limited latencies of a load with their intervals."""
    texts = []
    for limit in goal.limits:
        figure = _figure(position, limit)
        name = "mean" if limit.quantile is None else f"p{limit.quantile * 100:.12g}"
        of = f"{limit.direction} {name}" if limit.direction else name
        texts.append(
            f"{of} is " + ("unknown" if figure is None else numbers.estimated(figure, numbers.duration))
        )
    return " and ".join(texts)


def _iops(value: float, digits: int | None = None) -> str:
    return f"{numbers.rate(value, digits)} IOPS"
