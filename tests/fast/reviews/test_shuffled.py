"""Suites that compare their own steps have them shuffled: blocks are complete, random, and the same for a seed."""

from __future__ import annotations

import pytest

from iogauge.reviews.ordering import placed_plan
from iogauge.schema import StepPlan, SuitePlan
from tests import builders

SERIES = ("reads", "writes")
PLACES = 7


def plan(
    *, shuffled: bool = True, seed: int = 1, order_seed: int | None = None, repeats: int = 4
) -> SuitePlan:
    """Return the placed plan of two series of steps."""
    steps = [
        builders.step(f"{series}-{at}", at, series=series, label=f"rung {at}")
        for series in SERIES
        for at in range(PLACES)
    ]
    made = builders.manifest(steps).plans[0].model_copy(update={"shuffled": shuffled})
    return placed_plan(made, seed=seed, order_seed=order_seed, repeats=repeats)


def orders(placed: SuitePlan) -> list[tuple[float, ...]]:
    """Return the order of the places in each block and series."""
    at = [step.at for step in placed.steps]
    return [tuple(at[first : first + PLACES]) for first in range(0, len(at), PLACES)]


def test_every_block_has_every_step_once_and_series_stay_together() -> None:
    placed = plan()
    groups = [(step.repeat, step.series) for step in placed.steps]
    assert groups == [(repeat, series) for repeat in range(4) for series in SERIES for _ in range(PLACES)]
    assert all(sorted(order) == list(range(PLACES)) for order in orders(placed))
    assert len({step.id for step in placed.steps}) == len(placed.steps)


def test_each_block_and_each_seed_has_its_own_order() -> None:
    assert len(set(orders(plan()))) == 8
    assert orders(plan(seed=2)) != orders(plan())
    assert plan() == plan()


def test_a_seed_of_the_order_alone_changes_nothing_else() -> None:
    """Hosts of a fleet have one order, and requests of their own."""
    one, other = plan(seed=1, order_seed=3), plan(seed=2, order_seed=3)
    assert orders(one) == orders(other) == orders(plan(seed=3))
    assert {step.seed for step in one.steps}.isdisjoint(step.seed for step in other.steps)
    assert {(step.id, step.seed) for step in one.steps} == {(step.id, step.seed) for step in plan().steps}


def test_the_order_changes_neither_ids_nor_seeds() -> None:
    def identity(steps: tuple[StepPlan, ...]) -> set[tuple[str, int]]:
        return {(step.id, step.seed) for step in steps}

    assert identity(plan().steps) == identity(plan(shuffled=False).steps)


def test_other_suites_keep_their_order() -> None:
    assert set(orders(plan(shuffled=False))) == {tuple(range(PLACES))}


@pytest.mark.parametrize("place", range(PLACES))
def test_every_place_comes_first_at_times(place: int) -> None:
    firsts = [order[0] for order in orders(plan(repeats=60))]
    assert 5 <= firsts.count(place) <= 35  # 120 / 7 are expected
