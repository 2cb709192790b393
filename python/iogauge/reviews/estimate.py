"""Estimates what a review costs before it begins: how long every step takes, and how much it writes at most.

The estimate uses the plan and the facts of the targets. It opens no target and measures nothing.

- Writes: a job's rate or amount bounds them; a job that ends with its target is bounded by the target's size. Without
  either, the link of its drive bounds them; if the link is unknown, the fastest link of today's drives does. The output
  then names the link as the bound, since a drive writes far less.
- Steps that follow from a search or from other steps: their suite bounds them, from the fewest to the most.
- Steps that may run again for longer count with that length.
- A job without a runtime takes "at least" the time that its amount takes.

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
from iogauge.reviews.lengthen import CAP, stretched, why_not_lengthened
from iogauge.reviews.ordering import order
from iogauge.schema import Direction, Job, Manifest, PurgeBy, StepPlan, SuitePlan, TargetFacts
from iogauge.suites.suite import Ahead, Suite, SuiteRequest

LINK_Bps = 4 * 32e9 * 128 / 130 / 8
"""The most that a drive with four lanes can take, bytes a second."""
FILL_Bps = 3e9
"""The assumed rate of a job without a runtime, bytes a second: few drives sustain more during a fill."""


@dataclass(frozen=True)
class StepCost:
    """The cost of one step. ``bounded``: its jobs limit what it writes; otherwise only a link does."""

    plan: SuitePlan
    step: StepPlan
    place: str
    expected_s: float
    """Ramp and runtime of its jobs, without the seconds around them. On a drive model, in virtual time."""
    longest_s: float
    """The same, plus a second run at its greatest length, if it may run again to support a quantile."""
    at_least: bool
    """Whether it takes longer: it begins with a purge, or has jobs that end with an amount instead of a time."""
    written_bytes: int
    """At most, ramp included. 0: it writes nothing, or, if not ``bounded``, an unknown amount."""
    bounded: bool
    trims: bool
    """Whether its jobs trim, apart from a purge before it."""

    @property
    def writes(self) -> bool:
        """Whether it writes anything, even an unknown amount."""
        return self.written_bytes > 0 or not self.bounded


@dataclass(frozen=True)
class Following:
    """The steps that follow from a plan's search or steps in one repeat: at least ``least``, at most ``most``."""

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
    """The cost of a review: its known steps in the order in which they run, and the steps that follow from them."""

    steps: tuple[StepCost, ...]
    following: tuple[Following, ...] = ()
    unknown: tuple[SuitePlan, ...] = ()
    """Plans from which an unknown number of steps follows."""
    purge_by: PurgeBy = "discard"

    @property
    def fewest(self) -> int:
        """How many steps there are at least."""
        return len(self.steps) + sum(len(following.least) for following in self.following)

    @property
    def most(self) -> tuple[StepCost, ...]:
        """All steps that there may be."""
        return (*self.steps, *(step for following in self.following for step in following.most))

    @property
    def expected_s(self) -> float:
        """How long the review takes at least, as far as is known."""
        return sum(step.expected_s for step in self.steps) + sum(
            following.expected_s for following in self.following
        )

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
        """Whether the jobs of all steps limit what they write."""
        return all(step.bounded for step in self.most)

    def on(self, path: str) -> Iterator[StepCost]:
        """Yield the steps that may run on a target."""
        return (step for step in self.most if path in step.plan.targets)

    def written_to(self, path: str) -> int:
        """Return the most bytes that are written to a target."""
        return sum(step.written_bytes for step in self.on(path))

    def writes_to(self, path: str) -> bool:
        """Return whether any step that runs on a target writes, even an unknown amount."""
        return any(step.writes for step in self.on(path))

    def given_back(self, path: str) -> str:
        """Describe how a target's content is discarded; empty if it is not."""
        if any(step.step.purge for step in self.on(path)):
            return f"all content is {_PURGED[self.purge_by]}"
        return "content is discarded (trims)" if any(step.trims for step in self.on(path)) else ""


_PURGED = {
    "discard": "discarded (purge)",
    "format": "erased by a format (purge)",
    "sanitize": "erased by a sanitize of the drive (purge)",
}


def cost_of_step(
    plan: SuitePlan, step: StepPlan, *, place: str = "", targets: Iterable[TargetFacts] = ()
) -> StepCost:
    """Return the cost of one step on ``targets`` of known sizes. Raises IogaugeError if its job file is invalid.

    >>> job = "[w]\\nrw=randwrite\\nbs=4k\\nrate=,1000k\\nnumjobs=8\\nruntime=10\\nramp_time=2\\ntime_based=1\\n"
    >>> step = StepPlan(id="a", at=1, job_file=job + "filename=t\\n", seed=0, state_group="a")
    >>> from iogauge.schema import Axis
    >>> plan = SuitePlan(key="k", suite="k", title="K", source="", targets=("t",), axis=Axis(name="", unit=""),
    ...                  measured_job="w", load_jobs=None, steps=(step,))
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
    # One job of unknown cost leaves the whole step unknown.
    total = 0 if (0, False) in written else sum(amount for amount, _ in written)
    if not untimed:
        # Jobs that run at once share the links.
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
    """Return the cost of a new review, in the order in which its steps run. ``suites`` returns a suite by its name."""
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
    return ReviewCost(tuple(steps), tuple(following), tuple(unknown.values()), manifest.purge_by)


def _costs(
    manifest: Manifest, plan: SuitePlan, some: Iterable[StepPlan], steps: Sequence[StepPlan]
) -> tuple[StepCost, ...]:
    """Return the costs of ``some`` steps of a plan. ``steps`` are all steps that the plan may have."""
    costs = [cost_of_step(plan, step, targets=manifest.targets) for step in some]
    if manifest.until_supported is not None:
        costs = [_lengthened(cost, steps, manifest.targets) for cost in costs]
    return tuple(costs)


def _lengthened(cost: StepCost, steps: Iterable[StepPlan], targets: Iterable[TargetFacts]) -> StepCost:
    """Add to a step's cost a second run at its greatest length, if it may run again. ``steps`` are its plan's."""
    if cost.plan.prepares or why_not_lengthened(cost.step, steps):
        return cost
    again = cost_of_step(cost.plan, stretched(cost.step, CAP), targets=targets)
    return replace(
        cost,
        longest_s=cost.longest_s + again.expected_s,
        written_bytes=cost.written_bytes + again.written_bytes,
    )


def most_places(manifest: Manifest) -> Counter[str]:
    """Count the judged positions of every series of the largest plan; at least 1."""
    places = [
        {(step.series, step.label, step.at) for step in plan.steps if step.judged} for plan in manifest.plans
    ]
    return Counter(series for series, _, _ in max(places, key=len)) or Counter({"": 1})


def _written(job: Job, sizes: Mapping[str, int]) -> tuple[int, bool]:
    """Return the most that a job writes, all clones together, and whether the job itself limits it."""
    if Direction.WRITE not in job.rw.directions or _only_reads(job):
        return 0, True
    seconds = (job.runtime_ns + job.ramp_time_ns) / 1e9
    limits: list[float] = []
    if job.rate_Bps.write:
        limits.append(job.rate_Bps.write * job.numjobs * seconds)
    if job.rate_iops.write:
        limits.append(job.rate_iops.write * job.bs.write.maximum_bytes * job.numjobs * seconds)
    limits += _amounts(job, sizes)
    # A job with neither time nor amount ends with its target. If the size is unknown, the amount that it writes is too.
    link = LINK_Bps * seconds * max(len(job.filenames), 1) if seconds else math.inf
    least = min([*limits, link])
    return (round(least) if math.isfinite(least) else 0), bool(limits) and least < link


def _amounts(job: Job, sizes: Mapping[str, int]) -> Iterator[int]:
    """Yield the most bytes that a job's clones move together, one value for every amount that can end the job."""
    if job.number_ios:
        largest = job.bs.write if job.rw.writes else job.bs.read
        yield job.number_ios * largest.maximum_bytes * job.numjobs
    if job.time_based:
        return
    amount, times = (job.io_size, 1) if job.io_size else (job.size, job.loops)
    if amount is not None and amount.size_bytes:
        yield amount.size_bytes * times * job.numjobs
    elif sizes.keys() >= {*job.filenames}:
        targets_bytes = sum(sizes[name] for name in job.filenames)
        yield (amount.of(targets_bytes) if amount and amount.percent else targets_bytes) * times * job.numjobs


def _link_Bps(target: TargetFacts | None) -> float:
    """Return the bandwidth of a target's link, bytes a second."""
    return target.link_Bps if target and target.link_Bps else LINK_Bps


def _only_reads(job: Job) -> bool:
    return Direction.READ in job.rw.directions and job.rwmix_read_percent == 100
