"""What a review will cost before it is begun: how long each step takes, and how much it writes at most.

From the plan and the targets' facts: no target is opened, and nothing is measured. A job whose writes are limited, by a
rate or by an amount, is bounded by that; one that ends with its target, by the target's size. What nothing limits is
bounded by the link of its drive, where that is known, and else by the fastest that a drive has today, which is said,
since a drive takes far less. Steps that follow from a search or from other steps are bounded by what their suite says
of them, from the fewest to the most. Steps that may be run again for longer are reckoned so. What has no time takes "at
least" what its amount does.

Source for the link: PCI Express 5.0, four lanes of 32 GT/s with 128b/130b encoding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from iogauge import workload
from iogauge.results.position import name_of
from iogauge.reviews.ahead import expected_s
from iogauge.reviews.lengthen import CAP, kept, stretched
from iogauge.reviews.ordering import order
from iogauge.schema import Direction, Job, Manifest, StepPlan, SuitePlan, TargetFacts
from iogauge.suites.suite import Ahead, Suite, SuiteRequest

LINK_Bps = 4 * 32e9 * 128 / 130 / 8
"""What no drive of four lanes takes more than, bytes a second."""
FILL_Bps = 3e9
"""What a job without a time is reckoned with, bytes a second: few drives take more for as long as a fill lasts."""


@dataclass(frozen=True)
class StepCost:
    """One step. ``bounded``: its writes are limited by what is asked for; otherwise by no more than a link."""

    plan: SuitePlan
    step: StepPlan
    place: str
    expected_s: float
    """Its jobs' ramp and runtime; what comes around them is seconds. On a drive model, of virtual time."""
    longest_s: float
    """The same, and once more for as long as it may become, where it may be run again to support a quantile."""
    at_least: bool
    """Whether it takes longer: it purges, or has jobs that end with what they move and not with a time."""
    written_bytes: int
    """At most, ramp included; 0: it writes nothing, or, where it is not bounded, nobody knows how much."""
    bounded: bool
    trims: bool
    """Whether it gives back blocks, beside a purge that comes before it."""

    @property
    def writes(self) -> bool:
        """Whether it writes anything, known or not."""
        return self.written_bytes > 0 or not self.bounded


@dataclass(frozen=True)
class Following:
    """What follows from a plan's search or steps in one repeat: ``least`` in any case, ``most`` at most."""

    plan: SuitePlan
    repeat: int
    least: tuple[StepCost, ...]
    most: tuple[StepCost, ...]

    @property
    def expected_s(self) -> float:
        """How long it takes at least."""
        return sum(step.expected_s for step in self.least)

    @property
    def longest_s(self) -> float:
        """How long it takes at most."""
        return sum(step.longest_s for step in self.most)


@dataclass(frozen=True)
class ReviewCost:
    """All steps that are known, in the order in which they run, searches first, and what follows from them."""

    steps: tuple[StepCost, ...]
    following: tuple[Following, ...] = ()
    unknown: tuple[SuitePlan, ...] = ()
    """Plans from which more follows, and nobody knows how much."""

    @property
    def fewest(self) -> int:
        """How many steps there are at least."""
        return len(self.steps) + sum(len(each.least) for each in self.following)

    @property
    def most(self) -> tuple[StepCost, ...]:
        """All steps that there may be."""
        return (*self.steps, *(step for each in self.following for step in each.most))

    @property
    def expected_s(self) -> float:
        """How long the review takes at least, as far as that is known."""
        return sum(step.expected_s for step in self.steps) + sum(each.expected_s for each in self.following)

    @property
    def longest_s(self) -> float:
        """How long it may take."""
        return sum(step.longest_s for step in self.most)

    @property
    def at_least(self) -> bool:
        """Whether some steps take longer than is known."""
        return any(step.at_least for step in self.most)

    @property
    def written_bytes(self) -> int:
        """How much is written at most."""
        return sum(step.written_bytes for step in self.most)

    @property
    def bounded(self) -> bool:
        """Whether all that writes is limited by what is asked for."""
        return all(step.bounded for step in self.most)

    def on(self, path: str) -> Iterator[StepCost]:
        """Yield the steps that may run on a target."""
        return (step for step in self.most if path in step.plan.targets)

    def written_to(self, path: str) -> int:
        """Return how much is written at most by steps that run on a target, bytes."""
        return sum(step.written_bytes for step in self.on(path))

    def writes_to(self, path: str) -> bool:
        """Return whether any step that runs on a target writes, known how much or not."""
        return any(step.writes for step in self.on(path))

    def given_back(self, path: str) -> str:
        """Return how a target's content is given back, in words; empty: it is not."""
        if any(step.step.purge for step in self.on(path)):
            return "all content is given back (purge)"
        return "content is given back (trims)" if any(step.trims for step in self.on(path)) else ""


def cost_of_step(
    plan: SuitePlan, step: StepPlan, *, place: str = "", targets: Iterable[TargetFacts] = ()
) -> StepCost:
    """Return what one step takes, on ``targets`` of known sizes. Raises IogaugeError where its job file is not one.

    >>> job = "[w]\\nrw=randwrite\\nbs=4k\\nrate=,1000k\\nnumjobs=8\\nruntime=10\\nramp_time=2\\ntime_based=1\\n"
    >>> step = StepPlan(id="a", at=1, job_file=job + "filename=t\\n", seed=0, state_group="a")
    >>> from iogauge.schema import Axis
    >>> plan = SuitePlan(key="k", suite="k", title="K", source="", targets=("t",), axis=Axis(name="", unit=""),
    ...                  reader="w", pressure=None, steps=(step,))
    >>> cost = cost_of_step(plan, step)
    >>> cost.expected_s, cost.written_bytes, cost.bounded
    (12.0, 98304000, True)
    """
    facts = {target.path: target for target in targets}
    sizes = {path: target.size_bytes for path, target in facts.items()}
    jobs = workload.jobs_of(step).jobs
    written = [_written(job, sizes) for job in jobs]
    untimed = [job for job in jobs if not job.runtime_ns]
    moved = sum(min(_amounts(job, sizes), default=0) for job in untimed)
    takes_s = max(expected_s(step), moved / (FILL_Bps * len(plan.targets)))
    # One job of which nothing is known leaves nothing to say of the step.
    total = 0 if (0, False) in written else sum(amount for amount, _ in written)
    if not untimed:
        # All that runs at once shares the links.
        used = {name for job in jobs for name in job.filenames}
        total = min(total, round(takes_s * sum(_link_Bps(facts.get(path)) for path in used)))
    return StepCost(
        plan=plan,
        step=step,
        place=place or name_of(step, plan.axis, repeat=True),
        expected_s=takes_s,
        longest_s=takes_s,
        at_least=bool(untimed) or step.purge,
        written_bytes=total,
        bounded=all(limited for _, limited in written),
        trims=any(Direction.TRIM in job.rw.directions for job in jobs),
    )


def cost_of(manifest: Manifest, suites: Callable[[str], Suite]) -> ReviewCost:
    """Return what a new review costs, in the order in which its steps run. ``suites`` gives a suite by its name."""
    targets = manifest.targets
    steps = [
        cost_of_step(plan, plan.search, place="search", targets=targets)
        for plan in manifest.plans
        if plan.search and not plan.steps
    ]
    following: list[Following] = []
    unknown: dict[str, SuitePlan] = {}
    for repeat, plan in order(manifest):
        planned = tuple(step for step in plan.steps if step.repeat == repeat)
        ahead = suites(plan.suite).ahead(plan, SuiteRequest.of(manifest, plan))
        if ahead is None:
            unknown[plan.key] = plan
            ahead = Ahead()
        least, most, known = (
            _costs(manifest, plan, some, (*planned, *ahead.most))
            for some in (ahead.least, ahead.most, planned)
        )
        steps += known
        if most:
            following.append(Following(plan, repeat, least, most))
    return ReviewCost(tuple(steps), tuple(following), tuple(unknown.values()))


def _costs(
    manifest: Manifest, plan: SuitePlan, some: Iterable[StepPlan], steps: Sequence[StepPlan]
) -> tuple[StepCost, ...]:
    """Return what some of a plan's ``steps`` cost, all of which there may be."""
    costs = [cost_of_step(plan, step, targets=manifest.targets) for step in some]
    if manifest.until_supported is not None:
        costs = [_lengthened(cost, steps, manifest.targets) for cost in costs]
    return tuple(costs)


def _lengthened(cost: StepCost, steps: Iterable[StepPlan], targets: Iterable[TargetFacts]) -> StepCost:
    """Return what a step costs that may be run again, as long as it can become; ``steps`` are all of its plan."""
    if cost.plan.prepares or kept(cost.step, steps):
        return cost
    again = cost_of_step(cost.plan, stretched(cost.step, CAP), targets=targets)
    return replace(
        cost,
        longest_s=cost.longest_s + again.expected_s,
        written_bytes=cost.written_bytes + again.written_bytes,
    )


def most_places(manifest: Manifest) -> Counter[str]:
    """Return how many places each series of the largest plan has whose figures can be compared; at least 1."""
    places = [
        {(step.series, step.label, step.at) for step in plan.steps if step.judged} for plan in manifest.plans
    ]
    return Counter(series for series, _, _ in max(places, key=len)) or Counter({"": 1})


def _written(job: Job, sizes: Mapping[str, int]) -> tuple[int, bool]:
    """Return how much a job writes at most, all its clones together, and whether it is limited in that."""
    if Direction.WRITE not in job.rw.directions or _only_reads(job):
        return 0, True
    seconds = (job.runtime_ns + job.ramp_time_ns) / 1e9
    limits: list[float] = []
    if job.rate_Bps.write:
        limits.append(job.rate_Bps.write * job.numjobs * seconds)
    if job.rate_iops.write:
        limits.append(job.rate_iops.write * job.bs.write.maximum_bytes * job.numjobs * seconds)
    limits += _amounts(job, sizes)
    # A job with neither time nor amount ends with its target: where its size is not known, nor is what it writes.
    link = LINK_Bps * seconds * max(len(job.filenames), 1) if seconds else math.inf
    least = min([*limits, link])
    return (round(least) if math.isfinite(least) else 0), bool(limits) and least < link


def _amounts(job: Job, sizes: Mapping[str, int]) -> Iterator[int]:
    """Yield what a job's clones move at most, all together, by each of the amounts that it ends with, bytes."""
    if job.number_ios:
        largest = job.bs.write if job.rw.writes else job.bs.read
        yield job.number_ios * largest.maximum_bytes * job.numjobs
    if job.time_based:
        return
    amount, times = (job.io_size, 1) if job.io_size else (job.size, job.loops)
    if amount is not None and amount.size_bytes:
        yield amount.size_bytes * times * job.numjobs
    elif sizes.keys() >= {*job.filenames}:
        whole = sum(sizes[name] for name in job.filenames)
        yield (amount.of(whole) if amount and amount.percent else whole) * times * job.numjobs


def _link_Bps(target: TargetFacts | None) -> float:
    """Return what a target's link carries at most, bytes a second."""
    return target.link_Bps if target and target.link_Bps else LINK_Bps


def _only_reads(job: Job) -> bool:
    return Direction.READ in job.rw.directions and job.rwmix_read_percent == 100
