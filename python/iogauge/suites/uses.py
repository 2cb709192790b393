"""What uses need of suites: the steps of a plan that profiles need, and whether suites have what a profile names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import get_args

from iogauge.catalog.profiles import Profile
from iogauge.errors import UsageError
from iogauge.schema import Pace, SuitePlan, TargetFacts
from iogauge.suites import SUITES
from iogauge.suites.suite import Ahead, Suite, SuiteRequest
from iogauge.text import numbers
from iogauge.text.option import call
from iogauge.workload.suggest import closest


def needed(plan: SuitePlan, use: Sequence[Profile]) -> SuitePlan:
    """Return a plan with the steps that profiles need, and those that share a drive state with them.

    A plan that begins with a search keeps all: the steps that follow depend on each other. Raises UsageError if a
    profile needs none of the steps of a suite that it names.
    """
    groups: set[str] = set()
    for profile in use:
        wanted = {
            step.state_group
            for step in plan.steps
            if step.judged and profile.needs(plan.suite, step.series, step.at)
        }
        if plan.steps and plan.suite in profile.suites and not wanted:
            raise UsageError(
                f"no step of {plan.suite} on {', '.join(plan.targets)} is at a position that the profile "
                f"{profile.name} names",
                hint=f"{call('plan', plan.targets[0], suites=plan.suite)} has its positions",
            )
        groups |= wanted
    return plan.model_copy(update={"steps": tuple(step for step in plan.steps if step.state_group in groups)})


def check_profile(profile: Profile) -> None:
    """Raise UsageError where a criterion names a suite, a series or a position that there is not.

    Suites of the user's own are not looked at, nor are positions of a suite that chooses them by what it measures.
    """
    for number, criterion in enumerate(profile.criterion, 1):
        place = f"{profile.name}: criterion.{number}"
        if criterion.suite.endswith((".py", ".toml")):
            continue
        if criterion.suite not in SUITES:
            raise _unknown(f"{place}.suite: there is no suite", criterion.suite, SUITES)
        known = _positions(SUITES[criterion.suite])
        if known and criterion.series not in known:
            raise _unknown(f"{place}.series: {criterion.suite} has no series", criterion.series, known)
        positions = known.get(criterion.series)
        if positions and criterion.at not in positions:
            raise UsageError(
                f"{place}.at: {criterion.suite} measures nothing at {numbers.position(criterion.at)}",
                hint=f"positions: {', '.join(map(numbers.position, sorted(positions)))}",
            )


def _unknown(what: str, name: str, known: Collection[str]) -> UsageError:
    near = closest(name, known)
    names = ", ".join(filter(None, known)) or "leave it out: there is only one"
    return UsageError(f"{what} {name!r}", hint=f"did you mean {near!r}?" if near else names)


def _positions(suite: Suite) -> Mapping[str, Collection[float]]:
    """Return the positions of each series of a suite, at any pace; none where they follow from the target."""
    positions: dict[str, set[float]] = {}
    fixed = not (suite.TOGETHER or suite.LAYERS or suite.IDLE_STATES or suite.TUNES)
    target = TargetFacts(path="/dev/any", kind="block", size_bytes=10**12)
    for pace in get_args(Pace):
        request = SuiteRequest(targets=(target,) * max(suite.FEWEST_TARGETS, 1), pace=pace)
        plan = suite.plan(request)
        ahead = suite.ahead(plan, request)
        fixed = fixed and ahead == Ahead()
        for step in (*plan.steps, *(ahead.most if ahead else ())):
            if step.judged:
                positions.setdefault(step.series, set()).add(step.at)
    return positions if fixed else dict.fromkeys(positions, ())
