"""Steady state: SNIA's rule by hand, levels that were put there, drifts, stalls, and stationary series left alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import linregress

from bench.streams import correlated
from iogauge.stats.steady import FEWEST_SECONDS, change_points, drift, last_rounds, steadiness

rates = st.lists(st.floats(1, 1e7), min_size=5, max_size=12)


def noisy(
    *levels: tuple[int, float], spread: float = 0.03, correlation: float = 0.5, seed: int = 1
) -> NDArray[np.float64]:
    """Rates at levels (seconds, rate), with correlated noise on the scale of logarithms."""
    level = np.concatenate([np.full(seconds, float(rate)) for seconds, rate in levels])
    return level * np.exp(spread * correlated(np.random.default_rng(seed), len(level), correlation))


def test_snias_rule_by_hand() -> None:
    # y = 100, 104, 96, 102, 98: mean 100, range 8; slope = sum((x - 3) y) / 10 = (-200 - 104 + 102 + 196) / 10 = -0.6.
    found = last_rounds([500, 100, 104, 96, 102, 98])
    assert found is not None
    assert (found.mean, found.least, found.greatest) == (100, 96, 104)
    assert found.slope == pytest.approx(-0.6)
    assert found.intercept == pytest.approx(101.2)
    assert found.range_share == pytest.approx(0.08)
    assert found.slope_share == pytest.approx(0.024)
    assert found.steady


@given(rates)
def test_the_line_is_that_of_least_squares(values: list[float]) -> None:
    found = last_rounds(values)
    expected = linregress(range(5), values[-5:])
    assert found is not None
    assert found.slope == pytest.approx(expected.slope, rel=1e-6, abs=1e-6)
    assert found.intercept == pytest.approx(expected.intercept, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize(
    ("values", "steady"),
    [
        ([110, 90, 100, 100, 100], True),  # range 20 % exactly; slope -2, that is 8 %
        ([111, 90, 100, 100, 99], False),  # range 21 %
        ([95, 97.5, 100, 102.5, 105], True),  # slope 10 % exactly
        ([94, 97, 100, 103, 106], False),  # range 12 %, slope 12 %
        ([106, 103, 100, 97, 94], False),
        ([100] * 5, True),
    ],
)
def test_snias_limits_are_within(values: list[float], steady: bool) -> None:
    found = last_rounds(values)
    assert found is not None
    assert found.steady is steady


def test_too_few_rounds_and_rounds_of_nothing_have_no_verdict() -> None:
    assert last_rounds([1, 2, 3, 4]) is None
    assert last_rounds([0] * 5) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_change_is_found_where_it_is(seed: int) -> None:
    given = noisy((40, 500_000), (50, 380_000), seed=seed)
    (place,) = change_points(given)
    assert abs(place - 40) <= 1
    found = steadiness(given.tolist())
    assert found is not None
    assert not found.steady
    assert found.stable_from_s == place
    assert found.left is not None
    before, after = found.left
    assert before.rate_iops == pytest.approx(500_000, rel=0.05)
    assert after.rate_iops == pytest.approx(380_000, rel=0.05)
    assert f"left its level at second {place}: from " in str(found)


def test_several_changes_are_found_in_order() -> None:
    assert change_points(noisy((60, 1e5), (80, 7e4), (100, 9e4), spread=0.01)) == [60, 140]


def test_what_matters_to_nobody_is_no_change() -> None:
    assert change_points(noisy((100, 1e5), (100, 0.97e5), spread=0.001)) == []
    assert change_points(noisy((100, 1e5), (100, 0.93e5), spread=0.001)) == [100]


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.7, 0.9])
def test_stationary_series_have_few_changes_and_drifts(correlation: float) -> None:
    random = np.random.default_rng(11)
    series = [1e5 * np.exp(0.2 * correlated(random, 600, correlation)) for _ in range(60)]
    changed = sum(bool(change_points(one)) for one in series)
    drifted = 0
    for one in series:
        found = drift(one)
        assert found is not None
        drifted += found.present
    # Of 60 at 5 % there are 3; more than 7 come in one of a hundred such tests.
    assert changed <= 7
    assert drifted <= 7


def test_a_drift_is_found_and_its_size_told() -> None:
    given = noisy((300, 1e5)) * np.linspace(1.0, 0.8, 300)
    found = drift(given)
    assert found is not None
    assert found.present
    assert found.change == pytest.approx(-0.2, abs=0.03)
    small = drift(noisy((300, 1e5), spread=0.001) * np.linspace(1.0, 0.95, 300))
    assert small is not None
    assert small.change == pytest.approx(-0.05, abs=0.01)
    assert not small.present
    assert drift(given[:9]) is None


def test_a_slow_decline_is_not_steady() -> None:
    declining = (noisy((300, 1e5), spread=0.01) * np.linspace(1.0, 0.7, 300)).tolist()
    found = steadiness(declining)
    assert found is not None
    assert not found.steady


def test_a_short_stall_counts_and_makes_no_level() -> None:
    given = noisy((120, 1e5))
    given[50:53] = 0
    found = steadiness(given.tolist())
    assert found is not None
    assert found.steady
    assert found.stalled_s == 3
    assert str(found).endswith("nothing completed in 3 of 120 seconds")
    mean = found.stretches[0].rate_iops
    assert mean == pytest.approx(given.mean())


def test_a_long_stall_is_a_level() -> None:
    given = noisy((120, 1e5), spread=0.01)
    given[50:70] = 0
    assert change_points(given) == [50, 70]
    ended = noisy((120, 1e5), spread=0.01)
    ended[100:] = 0
    found = steadiness(ended.tolist())
    assert found is not None
    assert found.stable_from_s is None
    assert "at second 100: from " in str(found)
    assert "to 0 IOPS" in str(found)


@pytest.mark.parametrize("level", [1.0, 1e6])
def test_a_rate_that_the_generator_sets_is_steady(level: float) -> None:
    found = steadiness([level] * 60)
    assert found is not None
    assert found.steady
    assert found.left is None


def test_a_warm_up_is_left_behind() -> None:
    found = steadiness(noisy((12, 2e5), (60, 4e5), spread=0.01).tolist())
    assert found is not None
    assert not found.steady
    assert found.stable_from_s == 12


def test_too_little_has_no_verdict_and_a_negative_rate_is_refused() -> None:
    assert steadiness([100.0] * (FEWEST_SECONDS - 1)) is None
    assert steadiness([0.0] * 60) is None
    assert steadiness([]) is None
    with pytest.raises(ValueError, match="not negative"):
        steadiness([-1.0] * 60)


@given(st.lists(st.integers(0, 3000), min_size=FEWEST_SECONDS, max_size=90))
def test_any_series_has_stretches_that_cover_it(counts: list[int]) -> None:
    found = steadiness(counts)
    if not any(counts):
        assert found is None
        return
    assert found is not None
    ends = [0, *(stretch.end_s for stretch in found.stretches)]
    assert [stretch.start_s for stretch in found.stretches] == ends[:-1]
    assert ends[-1] == len(counts)
    assert str(found)
