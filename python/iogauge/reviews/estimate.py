"""Estimate, before a review begins, the time and the writes of every step, most likely and at most.

The estimate uses the plan and the facts of the targets. It opens no target and measures nothing.

- At most: ``bounds``. A job's rate or amount bounds its writes; a job that ends with its target is bounded by the
  target's size. Without either, the link of its drive bounds them; if the link is unknown, the fastest link of today's
  drives does.
- Most likely: ``likely``, by the rates of the drive (``drive_rates``).
- Around a step: opening targets, laying out memory, watching the machine, saving. A drive model has none of it in its
  virtual time.
- Steps that follow from a search or from other steps: their suite bounds them, from the fewest to the most, and says
  how many are likely.
- Steps that may run again for longer count with that length.
- A job without a runtime takes "at least" the time that its amount takes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from iogauge import workload
from iogauge.results.position import name_of
from iogauge.reviews.ahead import expected_s
from iogauge.reviews.bounds import amounts, link_Bps, most_written
from iogauge.reviews.drive_rates import DriveRates, rates_of
from iogauge.reviews.lengthen import CAP, SPARE, stretched, why_not_lengthened
from iogauge.reviews.likely import likely, loads
from iogauge.reviews.ordering import order
from iogauge.schema import Direction, Manifest, PurgeBy, StepPlan, SuitePlan, TargetFacts
from iogauge.stats.histogram import needed
from iogauge.suites.suite import Ahead, Suite, SuiteRequest

FILL_Bps = 3e9
"""The assumed rate of a job without a runtime, bytes a second: few drives sustain more during a fill."""
SLOWER = 3
"""The last requests of a step take at most this many times as long as is likely."""
AROUND_S, MOST_AROUND_S = 0.8, 3.0
"""Seconds around a step on a real target, likely and at most. Of 100 steps on a file, with nine threads ready for each
CPU, half took 0.85 s or less for it, and the slowest 2.3 s."""
STALL_S = 0.1
"""The last requests may take this much longer, in seconds: few drives pause longer."""


@dataclass(frozen=True)
class StepCost:
    """The cost of one step. ``bounded``: its jobs limit what it writes; otherwise only a link does."""

    plan: SuitePlan
    step: StepPlan
    place: str
    expected_s: float
    """Ramp and runtime of its jobs, without the seconds around them. On a drive model, in virtual time."""
    longest_s: float
    """The same, plus the most that the seconds around them take, and its last requests, which end after its jobs' time.
    If the step may run again to support a quantile, plus a second run at its greatest length."""
    likely_s: float
    """Its most likely time: between both, or longer than both if a job ends with an amount and the drive is slow."""
    at_least: bool
    """Whether it takes longer: it begins with a purge, or has jobs that end with an amount instead of a time."""
    written_bytes: int
    """At most, ramp included. 0: it writes nothing, or, if not ``bounded``, an unknown amount."""
    likely_bytes: int
    """Most likely, ramp included; 0 also if the rates of its target are unknown."""
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
    likely: tuple[StepCost, ...]
    most: tuple[StepCost, ...]
    load: float
    """The mean load of the likely steps, as a share of the load with which they are estimated."""

    @property
    def expected_s(self) -> float:
        """How long it takes at least."""
        return sum(step.expected_s for step in self.least)

    @property
    def longest_s(self) -> float:
        """How long it takes at most."""
        return sum(step.longest_s for step in self.most)

    @property
    def likely_s(self) -> float:
        """How long it is likely to take."""
        return sum(step.likely_s for step in self.likely)

    @property
    def likely_bytes(self) -> int:
        """How much it is likely to write."""
        return round(self.load * sum(step.likely_bytes for step in self.likely))


@dataclass(frozen=True)
class ReviewCost:
    """The cost of a review: its known steps in the order in which they run, and the steps that follow from them."""

    steps: tuple[StepCost, ...]
    following: tuple[Following, ...] = ()
    unknown: tuple[SuitePlan, ...] = ()
    """Plans from which an unknown number of steps follows."""
    purge_by: PurgeBy = "discard"
    basis: tuple[str, ...] = ()
    """Which rates the likely writes are estimated from, in a few words for each kind of target."""

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
    def _parts(self) -> tuple[StepCost | Following, ...]:
        return (*self.steps, *self.following)

    @property
    def likely_s(self) -> float:
        """How long the review is likely to take."""
        return sum(part.likely_s for part in self._parts)

    @property
    def likely_bytes(self) -> int:
        """How much it is likely to write."""
        return sum(part.likely_bytes for part in self._parts)

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

    def likely_written_to(self, path: str) -> int:
        """Return how many bytes are likely to be written to a target."""
        return sum(part.likely_bytes for part in self._parts if path in part.plan.targets)

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
    (12.0, 98336768, True)
    """
    facts = {target.path: target for target in targets}
    sizes = {path: target.size_bytes for path, target in facts.items()}
    jobs = workload.jobs_of(step).jobs
    written = [most_written(job, sizes) for job in jobs]
    untimed = [job for job in jobs if not job.runtime_ns]
    moved = sum(min(amounts(job, sizes), default=0) for job in untimed)
    takes_s = max(expected_s(step), moved / (FILL_Bps * len(plan.targets)))
    # One job of unknown cost leaves the whole step unknown.
    total = 0 if (0, False) in written else sum(amount for amount, _ in written)
    if not untimed:
        # Jobs that run at once share the links.
        used = {name for job in jobs for name in job.filenames}
        total = min(total, round(takes_s * sum(link_Bps(facts.get(path)) for path in used)))
    usual = likely(jobs, _rates_by_path(plan, facts), sizes)
    likely_bytes = round(usual.written_bytes)
    real = any(path in facts and not facts[path].modelled for path in plan.targets)
    return StepCost(
        plan=plan,
        step=step,
        place=place or name_of(step, plan.axis, repeat=True),
        expected_s=takes_s,
        longest_s=takes_s + SLOWER * usual.drain_s + STALL_S + MOST_AROUND_S * real,
        likely_s=max(usual.seconds, takes_s) + usual.drain_s + AROUND_S * real,
        at_least=bool(untimed) or step.purge,
        written_bytes=total,
        likely_bytes=min(likely_bytes, total) if total else likely_bytes,
        bounded=all(limited for _, limited in written),
        trims=any(Direction.TRIM in job.directions for job in jobs),
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
        least, likely_steps, most, known = (
            _costs(manifest, plan, some, (*planned, *ahead.most))
            for some in (ahead.least, ahead.likely or ahead.least, ahead.most, planned)
        )
        steps += known
        if most:
            following.append(Following(plan, repeat, least, likely_steps, most, ahead.load))
    cost = ReviewCost(tuple(steps), tuple(following), tuple(unknown.values()), manifest.purge_by)
    basis = [rates_of(target).basis for target in targets if cost.likely_written_to(target.path)]
    return replace(cost, basis=tuple(dict.fromkeys(basis)))


def _costs(
    manifest: Manifest, plan: SuitePlan, some: Iterable[StepPlan], steps: Sequence[StepPlan]
) -> tuple[StepCost, ...]:
    """Return the costs of ``some`` steps of a plan. ``steps`` are all steps that the plan may have."""
    costs = [cost_of_step(plan, step, targets=manifest.targets) for step in some]
    if manifest.until_supported is not None:
        q = manifest.until_supported
        costs = [_lengthened(cost, steps, manifest.targets, q=q) for cost in costs]
    return tuple(costs)


def _lengthened(
    cost: StepCost, steps: Iterable[StepPlan], targets: Sequence[TargetFacts], *, q: float
) -> StepCost:
    """Add a second run to a step's cost, of likely and of greatest length, if the ``q``-quantile may need one.

    ``steps`` are its plan's.
    """
    if cost.plan.prepares or why_not_lengthened(cost.step, steps):
        return cost
    again = cost_of_step(cost.plan, stretched(cost.step, CAP), targets=targets)
    longer = replace(
        cost,
        longest_s=cost.longest_s + again.longest_s,
        written_bytes=cost.written_bytes + again.written_bytes,
    )
    if not (times := _likely_times(cost, targets, q=q)):
        return longer
    again = cost_of_step(cost.plan, stretched(cost.step, times), targets=targets)
    return replace(
        longer,
        likely_s=cost.likely_s + again.likely_s,
        likely_bytes=cost.likely_bytes + again.likely_bytes,
    )


def _likely_times(cost: StepCost, targets: Iterable[TargetFacts], *, q: float) -> int:
    """Return how many times as long the second run is that a step likely needs for the ``q``-quantile; 0: none."""
    jobs = workload.jobs_of(cost.step).jobs
    count = sum(
        load.iops * load.job.runtime_ns / 1e9
        for load in loads(jobs, _rates_by_path(cost.plan, {target.path: target for target in targets}))
        if load.job.name == cost.plan.measured_job
    )
    return 0 if count >= needed(q) else min(math.ceil(SPARE * needed(q) / max(count, 1)), CAP)


def _rates_by_path(plan: SuitePlan, targets: Mapping[str, TargetFacts]) -> Callable[[str], DriveRates | None]:
    """Return a function from a path to its drive's rates; a layer or a tuned model has those of the first target."""
    first = targets.get(plan.targets[0])

    def rates(path: str) -> DriveRates | None:
        target = targets.get(path, first)
        return None if target is None else rates_of(target)

    return rates


def most_places(manifest: Manifest) -> Counter[str]:
    """Count the judged positions of every series of the largest plan; at least 1."""
    places = [
        {(step.series, step.label, step.at) for step in plan.steps if step.judged} for plan in manifest.plans
    ]
    return Counter(series for series, _, _ in max(places, key=len)) or Counter({"": 1})
