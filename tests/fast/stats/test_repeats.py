"""Repeats against scipy's t interval, an analysis of variance by hand, and made-up runs of known spread."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from iogauge.stats.repeats import repeated, variation

positive = st.floats(1e-3, 1e12)
figures = st.lists(positive, min_size=2, max_size=30)


@given(figures)
def test_the_interval_is_the_t_interval_of_logarithms(values: list[float]) -> None:
    result = repeated(values)
    logs = np.log(values)
    assert result.value == pytest.approx(stats.gmean(values))
    assert result.low is not None
    assert result.high is not None
    error = stats.sem(logs)
    if error > 1e-12:
        low, high = stats.t.interval(0.95, len(values) - 1, logs.mean(), error)
        assert (math.log(result.low), math.log(result.high)) == (pytest.approx(low), pytest.approx(high))
    assert result.low <= result.value * (1 + 1e-12)
    assert result.high >= result.value * (1 - 1e-12)


@given(figures, positive)
def test_a_merged_value_stands_in_the_middle_and_does_not_change_the_width(
    values: list[float], merged: float
) -> None:
    alone, together = repeated(values), repeated(values, merged=merged)
    assert together.value == merged
    assert together.low is not None
    assert together.high is not None
    assert alone.low is not None
    assert alone.high is not None
    assert together.low <= merged <= together.high
    assert together.high / together.low == pytest.approx(alone.high / alone.low)


@given(st.lists(st.tuples(positive, positive), min_size=2, max_size=30), positive)
def test_the_error_of_a_merged_value_is_the_jackknifes_where_that_is_larger(
    pairs: list[tuple[float, float]], merged: float
) -> None:
    values, others = [own for own, _ in pairs], [other for _, other in pairs]
    count = len(pairs)
    pseudo = count * math.log(merged) - (count - 1) * np.log(others)
    error = max(stats.sem(pseudo), stats.sem(np.log(values)))
    result = repeated(values, merged=merged, others=others)
    assert result.low is not None
    assert result.high is not None
    reach = -stats.t.ppf(0.025, count - 1) * error
    if reach < 300:
        assert math.log(merged / result.low) == pytest.approx(reach, rel=1e-6, abs=1e-9)
        assert math.log(result.high / merged) == pytest.approx(reach, rel=1e-6, abs=1e-9)


def test_every_run_is_left_out_once() -> None:
    with pytest.raises(ValueError, match="3 leave-one-out figures for 2 runs"):
        repeated([1.0, 2.0], merged=1.5, others=[1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="positive"):
        repeated([1.0, 2.0], merged=1.5, others=[1.0, 0.0])


@given(figures, positive)
def test_units_do_not_matter(values: list[float], unit: float) -> None:
    one, other = repeated(values), repeated([value * unit for value in values])
    assert other.value == pytest.approx(one.value * unit)
    result, scaled = (
        variation(figures, [0.01] * len(values)) for figures in (values, [value * unit for value in values])
    )
    assert result is not None
    assert scaled is not None
    assert scaled.coefficient == pytest.approx(result.coefficient, abs=1e-9)


def test_a_single_run_says_nothing_of_others() -> None:
    result = repeated([84_000.0])
    assert (result.value, result.low, result.high, result.runs) == (pytest.approx(84_000), None, None, 1)
    assert variation([84_000.0], [0.01]) is None


@pytest.mark.parametrize("values", [[], [1.0, 0.0], [1.0, -2.0], [1.0, math.nan], [1.0, math.inf]])
def test_what_is_not_positive_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"positive|no run"):
        repeated(values)
    with pytest.raises(ValueError, match=r"positive|no run"):
        variation(values, [0.1] * len(values))


def test_a_merged_figure_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="not positive"):
        repeated([1.0, 2.0], merged=0.0)


def test_every_run_has_an_error_or_none() -> None:
    with pytest.raises(ValueError, match="1 errors for 2"):
        variation([1.0, 2.0], [0.1])
    unknown = variation([90.0, 110.0], [0.1, None])
    assert unknown is not None
    assert unknown.coefficient == pytest.approx(math.sqrt(200) / 100)
    assert (unknown.within, unknown.between, unknown.share) == (None, None, None)


def test_variance_lies_where_it_was_put() -> None:
    # Logarithms -0.1, 0, 0.1: variance 0.01. Of it 0.05^2 = 0.0025 is within runs, and 0.0075 between.
    result = variation([math.exp(-0.1), 1.0, math.exp(0.1)], [0.05, 0.05, 0.05])
    assert result is not None
    assert result.within == pytest.approx(0.05)
    assert result.between == pytest.approx(math.sqrt(0.0075))
    assert result.share == pytest.approx(0.75)


def test_runs_that_agree_better_than_they_should_have_nothing_between() -> None:
    result = variation([100.0, 100.1, 99.9], [0.05, 0.05, 0.05])
    assert result is not None
    assert (result.between, result.share) == (0, 0)
    same = variation([100.0, 100.0], [0.0, 0.0])
    assert same is not None
    assert (same.coefficient, same.share) == (0, None)


def test_components_are_those_of_an_analysis_of_variance() -> None:
    # Balanced groups of 20: within is the mean square within over 20, between (mean square between - within) / 20.
    random = np.random.default_rng(1)
    groups = 0.1 * random.standard_normal((8, 1)) + 0.3 * random.standard_normal((8, 20))
    square_within = float(np.mean(groups.var(axis=1, ddof=1)))
    square_between = 20 * float(np.var(groups.mean(axis=1), ddof=1))
    means = np.exp(groups.mean(axis=1)).tolist()
    result = variation(means, np.sqrt(groups.var(axis=1, ddof=1) / 20).tolist())
    assert result is not None
    assert result.within == pytest.approx(math.sqrt(square_within / 20))
    assert result.between == pytest.approx(math.sqrt((square_between - square_within) / 20))
    assert square_between / square_within == pytest.approx(stats.f_oneway(*groups).statistic)
