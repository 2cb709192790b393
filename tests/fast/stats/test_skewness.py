"""Hall's transformation: it rises, it can be undone, and t intervals of skewed means miss less often with it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import stdtrit
from scipy.stats import binom, skew

from iogauge.stats.skewness import NONE, skewed, skewness, skewness_of_share, straightened

statistics = st.floats(-100, 100)
skews = st.floats(-5, 5)


@given(st.lists(st.floats(-1e6, 1e6).map(lambda value: round(value, 3)), min_size=3, max_size=50))
def test_the_skewness_is_scipys(values: list[float]) -> None:
    assume(len(set(values)) > 1)
    assert skewness(np.array(values)) == pytest.approx(float(skew(values)), rel=1e-6, abs=1e-6)
    assert skewness(np.full(5, values[0])) == 0


@pytest.mark.parametrize("share", [0.001, 0.2, 0.9, 0.999])
@pytest.mark.parametrize("count", [10, 3000])
def test_a_share_is_as_skewed_as_the_binomial_one_or_more(share: float, count: int) -> None:
    error, expected = binom.std(count, share) / count, float(binom.stats(count, share, moments="s"))
    assert skewness_of_share(0.0, share=share, error=error) == pytest.approx(expected)
    assert skewness_of_share(2 * expected, share=share, error=error) == 2 * expected
    assert skewness_of_share(-expected / 2, share=share, error=error) == pytest.approx(expected)


@given(statistics, statistics, skews)
def test_it_rises_everywhere(one: float, other: float, by: float) -> None:
    low, high = sorted((one, other))
    assert straightened(low, by) <= straightened(high, by) + 1e-6


@given(statistics, skews)
def test_it_can_be_undone(statistic: float, by: float) -> None:
    assert straightened(skewed(statistic, by), by) == pytest.approx(statistic, rel=1e-6, abs=1e-4)


@given(statistics, skews)
def test_the_other_side_is_the_other_skewness(statistic: float, by: float) -> None:
    assert straightened(-statistic, -by) == -straightened(statistic, by)
    assert skewed(-statistic, -by) == -skewed(statistic, by)


@given(statistics)
def test_without_skewness_nothing_changes_and_near_it_hardly_anything(statistic: float) -> None:
    assert straightened(statistic, 0.0) == skewed(statistic, 0.0) == statistic
    assert skewed(statistic, 2 * NONE) == pytest.approx(statistic, abs=1e-2)


def test_intervals_of_a_skewed_mean_hold_it_more_often() -> None:
    # Twelve exponentials: a mean of skewness 0.58, and a t interval that holds it in 91 of 100.
    random = np.random.default_rng(1)
    count, t = 12, -float(stdtrit(11, 0.025))
    plain = removed = 0
    for _ in range(2000):
        values = random.exponential(1.0, count)
        mean, error = values.mean(), values.std(ddof=1) / math.sqrt(count)
        by = skewness(values) / math.sqrt(count)
        plain += abs(mean - 1) <= t * error
        removed += mean - error * skewed(t, by) <= 1 <= mean - error * skewed(-t, by)
    # A difference of pairs: known to half a point or so.
    assert removed / 2000 > plain / 2000 + 0.015
    assert removed / 2000 >= 0.93
