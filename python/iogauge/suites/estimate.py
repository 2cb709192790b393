"""What a review will cost before it is begun: how long each step takes, and how much it writes at most.

From the plan alone: no target is opened, and nothing is measured. A job whose writes are limited, by a rate or by an
amount, is bounded by that. What nothing limits is bounded by the fastest link that a drive has today, which is
said, since a drive takes far less; and steps that follow from a search, or from other steps, are not known yet.

Source for the link: PCI Express 5.0, four lanes of 32 GT/s with 128b/130b encoding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from iogauge import workload
from iogauge.schema import Direction, Job, Manifest, StepPlan, SuitePlan
from iogauge.suites.conduct import expected_s, place_of
from iogauge.suites.place import order

LINK_Bps = 4 * 32e9 * 128 / 130 / 8
"""What no drive of four lanes takes more than, bytes a second."""


@dataclass(frozen=True)
class StepCost:
    """One step. ``bounded``: its writes are limited by what is asked for; otherwise by no more than a link."""

    plan: SuitePlan
    step: StepPlan
    place: str
    expected_s: float
    """Its jobs' ramp and runtime; what comes around them is seconds. On a drive model, of virtual time."""
    written_bytes: int
    """At most, ramp included; 0: it writes nothing."""
    bounded: bool


@dataclass(frozen=True)
class ReviewCost:
    """All steps that are known, in the order in which they run, searches first."""

    steps: tuple[StepCost, ...]
    searches: int
    """Plans of which only the search is known: their steps follow from what it finds."""

    @property
    def expected_s(self) -> float:
        """How long the known steps take together."""
        return sum(step.expected_s for step in self.steps)

    @property
    def written_bytes(self) -> int:
        """How much the known steps write at most."""
        return sum(step.written_bytes for step in self.steps)

    @property
    def bounded(self) -> bool:
        """Whether all that writes is limited by what is asked for."""
        return all(step.bounded for step in self.steps)

    def written_to(self, path: str) -> int:
        """Return how much is written at most by steps that run on a target, bytes."""
        return sum(step.written_bytes for step in self.steps if path in step.plan.targets)


def cost_of_step(plan: SuitePlan, step: StepPlan, *, place: str = "") -> StepCost:
    """Return what one step takes. Raises IogaugeError where its job file is not one.

    >>> job = "[w]\\nrw=randwrite\\nbs=4k\\nrate=,1000k\\nnumjobs=8\\nruntime=10\\nramp_time=2\\ntime_based=1\\n"
    >>> step = StepPlan(id="a", at=1, job_file=job + "filename=t\\n", seed=0, state_group="a")
    >>> from iogauge.schema import Axis
    >>> plan = SuitePlan(key="k", suite="k", title="K", source="", targets=("t",), axis=Axis(name="", unit=""),
    ...                  reader="w", pressure=None, steps=(step,))
    >>> cost = cost_of_step(plan, step)
    >>> cost.expected_s, cost.written_bytes, cost.bounded
    (12.0, 98304000, True)
    """
    written, bounded = 0, True
    for job in workload.parse(step.job_file, source=step.id).jobs:
        amount, limited = _written(job)
        written += amount
        bounded = bounded and limited
    return StepCost(plan, step, place or place_of(plan, step), expected_s(step), written, bounded)


def cost_of(manifest: Manifest) -> ReviewCost:
    """Return what a review's known steps cost, in the order in which they run."""
    searched = [(plan, plan.search) for plan in manifest.plans if plan.search and not plan.steps]
    steps = [cost_of_step(plan, search, place="search") for plan, search in searched]
    steps += [
        cost_of_step(plan, step)
        for repeat, plan in order(manifest)
        for step in plan.steps
        if step.repeat == repeat
    ]
    return ReviewCost(tuple(steps), searches=len(searched))


def comparisons(manifest: Manifest) -> int:
    """Return how many steps a comparison has to share its level among: the places of the largest plan."""
    return max(
        (len({(step.series, step.label, step.at) for step in plan.steps}) for plan in manifest.plans),
        default=1,
    )


def _written(job: Job) -> tuple[int, bool]:
    """Return how much a job writes at most, all its clones together, and whether it is limited in that."""
    if Direction.WRITE not in job.rw.directions or _only_reads(job):
        return 0, True
    seconds = (job.runtime_ns + job.ramp_time_ns) / 1e9
    limits: list[float] = []
    if job.rate_Bps.write:
        limits.append(job.rate_Bps.write * job.numjobs * seconds)
    if job.rate_iops.write:
        limits.append(job.rate_iops.write * job.bs.write.maximum_bytes * job.numjobs * seconds)
    if job.number_ios:
        limits.append(job.number_ios * job.bs.write.maximum_bytes * job.numjobs)
    for amount in _amounts(job):
        limits.append(amount * job.numjobs)
    # A job with neither time nor amount ends with its target: what it writes is not known here.
    link = LINK_Bps * seconds if seconds else math.inf
    least = min([*limits, link])
    return (round(least) if math.isfinite(least) else 0), bool(limits) and least < link


def _amounts(job: Job) -> Iterable[int]:
    """What a clone moves, where it ends with an amount and not with its time."""
    if job.time_based:
        return
    if job.io_size is not None and job.io_size.size_bytes:
        yield job.io_size.size_bytes
    elif job.size is not None and job.size.size_bytes:
        yield job.size.size_bytes * job.loops


def _only_reads(job: Job) -> bool:
    return Direction.READ in job.rw.directions and job.rwmix_read_percent == 100
