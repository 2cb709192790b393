"""Effects by block: a true difference is found with its size, and ladders that change nothing seldom say otherwise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wilcoxon

from iogauge.stats.differences.comparison import ALPHA
from iogauge.stats.differences.effects import Effect, effects


def blocks(values: np.ndarray) -> dict[int, float]:
    return dict(enumerate(map(float, values)))


def alone(before: np.ndarray, after: np.ndarray) -> Effect:
    return effects({"only": (blocks(before), blocks(after))})["only"]


def test_drift_between_blocks_cancels() -> None:
    drift = np.array([0.0, 30, -20, 100, 5, 60])
    effect = alone(10 + drift, 9.5 + drift)
    assert effect.value == pytest.approx(-0.5)
    assert (effect.low, effect.high) == pytest.approx((-0.5, -0.5))
    assert effect.p == effect.p_corrected == 2 / 2**6
    assert effect.established


@pytest.mark.parametrize("count", [6, 8, 12])
def test_the_interval_excludes_zero_exactly_where_the_signed_rank_test_rejects_it(count: int) -> None:
    random = np.random.default_rng(3)
    outcomes = set()
    for _ in range(60):
        differences = random.normal(0.9, 1, count)
        effect = alone(np.zeros(count), differences)
        assert effect.low is not None
        assert effect.high is not None
        rejects = bool(wilcoxon(differences, method="exact").pvalue <= ALPHA)
        assert (effect.low > 0 or effect.high < 0) == rejects
        outcomes.add(rejects)
    assert outcomes == {True, False}


def test_fewer_than_six_blocks_establish_nothing_and_have_students_interval() -> None:
    effect = alone(np.full(5, 10.0), np.array([9.0, 9.1, 9, 8.9, 9]))
    assert not effect.established
    assert effect.by_t
    assert effect.high is not None
    assert effect.high < -0.9
    single = alone(np.array([1.0]), np.array([2.0]))
    assert (single.low, single.high, single.value) == (None, None, 1.0)


def test_only_blocks_that_ran_both_sides_count() -> None:
    known = effects(
        {
            "some": ({0: 1.0, 1: 1.0, 2: 1.0}, {1: 2.0, 2: 2.0, 3: 9.0}),
            "none": ({0: 1.0}, {1: 2.0}),
        }
    )
    assert known.keys() == {"some"}
    assert (known["some"].blocks, known["some"].value) == (2, 1.0)


@pytest.mark.parametrize("noise", ["normal", "exponential", "lognormal"])
@pytest.mark.parametrize("cumulative", [True, False])
def test_ladders_that_change_nothing_seldom_establish_an_effect(noise: str, cumulative: bool) -> None:
    random = np.random.default_rng(20170319)
    ladders, wrong = 300, 0
    for _ in range(ladders):
        runs = [blocks(row) for row in getattr(random, noise)(size=(6, 6)) + 3 * random.normal(size=6)]
        pairs = {f"{rung}": (runs[rung - 1 if cumulative else 0], runs[rung]) for rung in range(1, 6)}
        wrong += any(effect.established for effect in effects(pairs).values())
    # 5 % are allowed: fifteen, and three standard errors.
    assert wrong <= 15 + 3 * 3.8


def test_one_rung_among_five_is_found_in_six_blocks() -> None:
    random = np.random.default_rng(1)
    runs = [blocks(row) for row in 0.02 * random.normal(size=(6, 6)) + 3 * random.normal(size=6)]
    runs[3] = {block: value - 1 for block, value in runs[3].items()}
    known = effects({f"{rung}": (runs[0], runs[rung]) for rung in range(1, 6)})
    assert [name for name, effect in known.items() if effect.established] == ["3"]
    assert known["3"].value == pytest.approx(-1, abs=0.05)


@given(
    st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)), min_size=6, max_size=9),
    st.floats(0.001, 1000),
)
def test_another_unit_changes_only_the_numbers(values: list[float], scale: float) -> None:
    differences = np.array(values)
    effect, scaled = (alone(np.zeros(len(values)), factor * differences) for factor in (1, scale))
    assert scaled.value == pytest.approx(scale * effect.value, rel=1e-6, abs=1e-6)
    assert scaled.p == effect.p
    assert scaled.established == effect.established
