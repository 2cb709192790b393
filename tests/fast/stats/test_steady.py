"""Steady state: SNIA's rule by hand, levels that were put there, drifts, stalls, and stationary series left alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import linregress

from bench.streams import noisy
from iogauge.stats.moments import Moment
from iogauge.stats.steady import FEWEST_SECONDS, last_rounds, left_level, steadiness

rates = st.lists(st.floats(1, 1e7), min_size=5, max_size=12)


def test_snias_rule_by_hand() -> None:
    # y = 100, 104, 96, 102, 98: mean 100, range 8; slope = sum((x - 3) y) / 10 = (-200 - 104 + 102 + 196) / 10 = -0.6.
    result = last_rounds([500, 100, 104, 96, 102, 98])
    assert result is not None
    assert (result.mean, result.least, result.greatest) == (100, 96, 104)
    assert result.slope == pytest.approx(-0.6)
    assert result.intercept == pytest.approx(101.2)
    assert result.range_share == pytest.approx(0.08)
    assert result.slope_share == pytest.approx(0.024)
    assert result.steady


@given(rates)
def test_the_line_is_that_of_least_squares(values: list[float]) -> None:
    result = last_rounds(values)
    expected = linregress(range(5), values[-5:])
    assert result is not None
    assert result.slope == pytest.approx(expected.slope, rel=1e-6, abs=1e-6)
    assert result.intercept == pytest.approx(expected.intercept, rel=1e-6, abs=1e-6)


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
    result = last_rounds(values)
    assert result is not None
    assert result.steady is steady


def test_too_few_rounds_and_rounds_of_nothing_have_no_verdict() -> None:
    assert last_rounds([1, 2, 3, 4]) is None
    assert last_rounds([0] * 5) is None


@pytest.mark.parametrize("seed", range(5))
def test_a_change_is_found_where_it_is(seed: int) -> None:
    rates = noisy((40, 500_000), (50, 380_000), seed=seed)
    result = steadiness(rates.tolist())
    assert result is not None
    place = result.stretches[-1].start_s
    assert abs(place - 40) <= 1
    assert result.left is not None
    before, after = result.left
    assert before.rate_iops == pytest.approx(500_000, rel=0.05)
    assert after.rate_iops == pytest.approx(380_000, rel=0.05)
    assert f"left its level at second {place}: from " in str(result)


def test_a_slow_decline_is_not_steady() -> None:
    result = steadiness((noisy((300, 1e5), spread=0.01) * np.linspace(1.0, 0.7, 300)).tolist())
    assert result is not None
    assert result.left is None
    assert str(result).startswith("its rate fell gradually by 30")


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        (np.linspace(1.0, 0.7, 60), "its rate fell gradually by"),
        (0.5 ** np.linspace(0, 1, 60), "its rate fell gradually by"),
        (np.interp(np.arange(60), [20, 40], [1.0, 0.7]), "between seconds 20 and 40"),
        (np.repeat([1.0, 0.8], 30), "left its level at second 30"),
    ],
)
def test_whether_a_step_left_its_level_at_once_or_gradually_is_said(
    shape: NDArray[np.float64], said: str
) -> None:
    result = left_level(_moments(noisy((60, 1e5), spread=0.02) * shape))
    assert result is not None
    assert said in str(result)
    assert (result.left is None) is result.drifts


def test_a_step_that_stayed_or_is_short_did_not_leave_its_level() -> None:
    assert left_level(_moments(noisy((60, 1e5)))) is None
    assert left_level(_moments(noisy((59, 1e5)) * np.linspace(1.0, 0.5, 59))) is None


def _moments(per_second: NDArray[np.float64]) -> list[Moment]:
    return [
        Moment(float(second), second + 1.0, int(ios), None, None, None, 0, 0)
        for second, ios in enumerate(per_second)
    ]


def test_a_short_stall_counts_and_makes_no_level() -> None:
    rates = noisy((120, 1e5))
    rates[50:53] = 0
    result = steadiness(rates.tolist())
    assert result is not None
    assert result.stalled_s == 3
    assert str(result).startswith("steady at ")
    assert str(result).endswith("nothing completed in 3 of 120 seconds")
    mean = result.stretches[0].rate_iops
    assert mean == pytest.approx(rates.mean())


def test_a_long_stall_is_a_level() -> None:
    rates = noisy((120, 1e5), spread=0.01)
    rates[50:70] = 0
    between = steadiness(rates.tolist())
    assert between is not None
    assert [stretch.start_s for stretch in between.stretches] == [0, 50, 70]
    ended = noisy((120, 1e5), spread=0.01)
    ended[100:] = 0
    result = steadiness(ended.tolist())
    assert result is not None
    assert "SNIA's steady state" in str(result)
    assert "at second 100: from " in str(result)
    assert "to 0 IOPS" in str(result)


@pytest.mark.parametrize("level", [1.0, 1e6])
def test_a_rate_that_the_generator_sets_is_steady(level: float) -> None:
    result = steadiness([level] * 60)
    assert result is not None
    assert str(result).startswith("steady at ")


def test_a_warm_up_is_left_behind() -> None:
    result = steadiness(noisy((12, 2e5), (60, 4e5), spread=0.01).tolist())
    assert result is not None
    assert [stretch.start_s for stretch in result.stretches] == [0, 12]
    assert "SNIA" not in str(result)


def test_too_little_has_no_verdict_and_a_negative_rate_is_refused() -> None:
    assert steadiness([100.0] * (FEWEST_SECONDS - 1)) is None
    assert steadiness([0.0] * 60) is None
    assert steadiness([]) is None
    with pytest.raises(ValueError, match="cannot be negative"):
        steadiness([-1.0] * 60)


@given(st.lists(st.integers(0, 3000), min_size=FEWEST_SECONDS, max_size=90))
def test_any_series_has_stretches_that_cover_it(counts: list[int]) -> None:
    result = steadiness(counts)
    if not any(counts):
        assert result is None
        return
    assert result is not None
    ends = [0, *(stretch.end_s for stretch in result.stretches)]
    assert [stretch.start_s for stretch in result.stretches] == ends[:-1]
    assert ends[-1] == len(counts)
    assert str(result)
