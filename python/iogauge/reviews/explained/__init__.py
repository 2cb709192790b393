"""Chooses the steps of a review of drive models whose runs say where the time of requests goes.

An explained run takes 1.5 to 2.8 times as long as the same run without. So only a few requests of a review are
explained: of each suite the step with the fewest requests in flight, and the one with the most, as far as the sum
stays small. The choice depends on the plan alone, and is saved in it: a resumed review explains the same steps.

Requests are estimated with the rates of a fast drive; what counts is how the steps compare.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from iogauge import workload
from iogauge.reviews.ahead import expected_s
from iogauge.reviews.drive_rates import DriveRates
from iogauge.reviews.likely import loads
from iogauge.schema import Direction, Manifest, StepPlan, SuitePlan

SHARE = 0.025
"""The most of a review's requests that are explained."""
ALLOWED = 500_000
"""A review may explain this many requests even if they exceed ``SHARE``: they take less than a second."""

_WAYS = (Direction.READ, Direction.WRITE)
_RATES = DriveRates(
    latency_ns=dict.fromkeys(_WAYS, 9e3),
    iops=dict.fromkeys(_WAYS, 550e3),
    bandwidth_Bps=dict.fromkeys(_WAYS, 2.4e9),
    sync_ns=0,
    basis="a fast drive",
)


def with_explained(manifest: Manifest, keys: Collection[str]) -> Manifest:
    """Return the manifest with the steps to explain chosen in the plans of these keys."""
    requests = {step.id: requests_of(step) for step in manifest.steps}
    left = max(SHARE * sum(requests.values()), ALLOWED)
    left -= sum(requests[step.id] for step in manifest.steps if step.explained)
    plans = [
        _candidates(plan, requests)
        for plan in manifest.plans
        if plan.key in keys and _modelled(manifest, plan)
    ]
    chosen: set[str] = set()
    # First one step of each plan, the cheapest first, so that as many suites as possible have one.
    alone = sorted((steps[0].id for steps, _ in plans if steps), key=lambda step: requests[step])
    for wanted in (*([step] for step in alone), *([step.id for step in loaded] for _, loaded in plans)):
        step = next((step for step in wanted if requests[step] <= left), None)
        if step is not None:
            left -= requests[step]
            chosen.add(step)
    return manifest.model_copy(update={"plans": tuple(_marked(plan, chosen) for plan in manifest.plans)})


def _candidates(plan: SuitePlan, requests: Mapping[str, float]) -> tuple[list[StepPlan], list[StepPlan]]:
    """Return the steps of a plan, the fewest in flight first; and those with more load than that, the most first."""
    if plan.prepares:
        return [], []
    steps = [step for step in plan.steps if step.judged and not step.repeat]
    load = {step.id: (in_flight(step), requests[step.id]) for step in steps}
    alone = sorted(steps, key=in_flight)
    loaded = [step for step in steps if load[step.id] > load[alone[0].id]]
    return alone, sorted(loaded, key=lambda step: load[step.id], reverse=True)


def _marked(plan: SuitePlan, chosen: Collection[str]) -> SuitePlan:
    steps = tuple(
        step.model_copy(update={"explained": True}) if step.id in chosen else step for step in plan.steps
    )
    return plan.model_copy(update={"steps": steps})


def _modelled(manifest: Manifest, plan: SuitePlan) -> bool:
    return all(manifest.target(path).modelled for path in plan.targets)


def in_flight(step: StepPlan) -> int:
    """Return how many requests the jobs of a step keep in flight."""
    return sum(job.numjobs * job.iodepth for job in workload.jobs_of(step).jobs)


def requests_of(step: StepPlan) -> float:
    """Return about how many requests a step makes on a fast drive."""
    return sum(load.iops for load in loads(workload.jobs_of(step).jobs, lambda _: _RATES)) * expected_s(step)
