"""Names the steps of a review, derives their seeds, repeats them, and orders them.

A suite plans one repeat on its targets and knows nothing of the review. This module names the suite's steps after their
plan, repeats them, and derives their seeds from the review's seed. So the same seed gives the same steps even if the
review is interrupted, and no two steps share a seed.

Repeats are randomised complete blocks: a repeat runs every suite on every target once, in its own order, so that drift
(temperature, wear, neighbours) does not fall on one of them alone. Preconditioning comes first in its block. A review
without repeats keeps the order in which the user named its suites. A suite that compares its own steps has them
shuffled too (``SuitePlan.shuffled``): each series stays together, and runs in another order in every repeat.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from iogauge.errors import IogaugeError
from iogauge.reviews.judgeable import check_judgeable
from iogauge.schema import Manifest, StepPlan, SuitePlan


def seed_of(seed: int, name: str) -> int:
    """Derive the seed of one step from the review's seed and the step's name.

    >>> seed_of(1, "pressure-100") == seed_of(1, "pressure-100") != seed_of(1, "pressure-200")
    True
    """
    digest = hashlib.sha256(f"{seed}/{name}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def distinct(steps: Sequence[StepPlan]) -> None:
    """Refuse steps if two of them cannot be distinguished.

    Raises IogaugeError if two have the same id, or the same series, label and position in one repeat.
    """
    ids = Counter(step.id for step in steps)
    places = Counter((step.series, step.label, step.at, step.repeat) for step in steps if step.judged)
    if twice := [name for name, count in ids.items() if count > 1]:
        raise IogaugeError(f"two steps are called {twice[0]}", hint="give each step of the suite its own id")
    if same := [place for place, count in places.items() if count > 1]:
        series, label, at, _ = same[0]
        called = ", ".join(filter(None, (series, label, f"at {at:g}")))
        raise IogaugeError(
            f"two steps have the same position ({called}), and would count as repeats of one step",
            hint="give each step its own label or series",
        )


def check_steps(plan: SuitePlan, new: Sequence[StepPlan]) -> None:
    """Check the steps that are added to a plan, before any of them runs.

    Raises IogaugeError if two cannot be distinguished, or one cannot be judged.
    """
    distinct((*plan.steps, *new))
    check_judgeable(new, measured_job=plan.measured_job, load_jobs=plan.load_jobs)


def placed_plan(plan: SuitePlan, *, seed: int, repeats: int, order_seed: int | None = None) -> SuitePlan:
    """Return a suite's plan as a plan of the review: its steps named by its key, with all repeats.

    The seeds of steps follow from ``seed``, and their order from ``order_seed``, if there is one.
    """
    search = plan.search and _placed(plan.search, key=plan.key, seed=seed, repeat=0)
    check_steps(plan.model_copy(update={"steps": ()}), plan.steps)
    steps = placed(plan.steps, key=plan.key, seed=seed, repeats=range(repeats))
    if plan.shuffled:
        steps = shuffled(steps, seed=seed if order_seed is None else order_seed)
    return plan.model_copy(update={"search": search, "steps": steps})


def placed(steps: Sequence[StepPlan], *, key: str, seed: int, repeats: Iterable[int]) -> tuple[StepPlan, ...]:
    """Return a plan's steps as steps of the review, once for every repeat of ``repeats``.

    >>> step = StepPlan(id="reads-70", at=70, job_file="", seed=0, state_group="reads-70")
    >>> [step.id for step in placed([step], key="mixed", seed=1, repeats=range(2))]
    ['mixed.reads-70', 'mixed.reads-70.r2']
    """
    return tuple(_placed(step, key=key, seed=seed, repeat=repeat) for repeat in repeats for step in steps)


def shuffled(steps: Iterable[StepPlan], *, seed: int) -> tuple[StepPlan, ...]:
    """Return steps with those of each repeat and series in random order, by the review's seed."""
    groups: dict[tuple[int, str], list[StepPlan]] = {}
    for step in steps:
        groups.setdefault((step.repeat, step.series), []).append(step)
    for (repeat, series), group in groups.items():
        random.Random(seed_of(seed, f"order of {group[0].id}, {series}, repeat {repeat}")).shuffle(group)
    return tuple(step for group in groups.values() for step in group)


def _placed(step: StepPlan, *, key: str, seed: int, repeat: int) -> StepPlan:
    again = f".r{repeat + 1}" if repeat else ""
    name = f"{key}.{step.id}{again}"
    return step.model_copy(
        update={
            "id": name,
            "seed": seed_of(seed, name),
            "state_group": f"{key}.{step.state_group}{again}",
            "repeat": repeat,
        }
    )


def order_seed_of(manifest: Manifest) -> int:
    """Return the seed from which the order of a review's steps follows."""
    return manifest.seed if manifest.order_seed is None else manifest.order_seed


def order(manifest: Manifest) -> Iterator[tuple[int, SuitePlan]]:
    """Yield the repeat and the plan, in the order in which they run."""
    for repeat in range(manifest.repeats):
        plans = list(manifest.plans)
        if manifest.repeats > 1:
            random.Random(seed_of(order_seed_of(manifest), f"block {repeat}")).shuffle(plans)
        # Preconditioning comes before what is measured.
        plans.sort(key=lambda plan: not plan.prepares)
        for plan in plans:
            if not plan.prepares or any(step.repeat == repeat for step in plan.steps):
                yield repeat, plan


def with_plan(manifest: Manifest, plan: SuitePlan) -> Manifest:
    """Return the manifest with this plan in place of the one of the same key."""
    plans = tuple(plan if other.key == plan.key else other for other in manifest.plans)
    return manifest.model_copy(update={"plans": plans})


def in_order(manifest: Manifest) -> Iterator[tuple[SuitePlan, tuple[StepPlan, ...]]]:
    """Yield every plan with its known steps of one repeat, in the order in which they run.

    Preconditioning comes first, then searches of plans without steps, then the rest.
    """
    planned = [
        (repeat, plan, tuple(step for step in plan.steps if step.repeat == repeat))
        for repeat, plan in order(manifest)
    ]
    yield from ((plan, steps) for repeat, plan, steps in planned if plan.prepares and not repeat)
    for plan in manifest.plans:
        if plan.search is not None and not plan.steps:
            yield plan, (plan.search,)
    yield from ((plan, steps) for repeat, plan, steps in planned if repeat or not plan.prepares)
