"""Centres and spreads beside their definitions, under contamination, and the tail that follows from them."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from iogauge.stats.fleet.robust import (
    EFFICIENCY,
    benjamini_hochberg,
    centres,
    degrees,
    quantiles,
    spread,
    upper_tail,
)


@pytest.mark.parametrize("count", [1, 2, 7, 100])
def test_the_correction_is_that_of_statsmodels(count: int) -> None:
    p_values = np.random.default_rng(count).random(count) ** 3
    assert benjamini_hochberg(p_values) == pytest.approx(multipletests(p_values, method="fdr_bh")[1])


def test_quantiles_by_label_are_those_of_numpy() -> None:
    random = np.random.default_rng(4)
    values, label = random.random(200), random.integers(0, 30, 200)
    for q in (0.0, 0.25, 0.5, 0.9, 1.0):
        expected = [np.quantile(values[label == place], q) for place in range(30)]
        assert quantiles(values, label, 30, q) == pytest.approx(expected)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1])
def test_outliers_move_neither_centre_nor_spread(share: float) -> None:
    values = np.random.default_rng(5).normal(10, 2, 2000)
    values[: round(share * 2000)] = 10 + 2 * 6
    one = np.zeros(2000, dtype=np.intp)
    centre = centres(values, one, 1, np.full(2000, 2.0)).value[0]
    assert centre == pytest.approx(10, abs=0.1)
    assert spread(values - centre) == pytest.approx(2, rel=0.05)


def test_few_members_have_a_spread_without_bias() -> None:
    random = np.random.default_rng(6)
    for count in (8, 10, 20):
        spreads = [spread(x - np.median(x)) for x in random.normal(size=(400, count))]
        assert np.mean(spreads) == pytest.approx(1, abs=0.05)


def test_fewer_than_two_have_no_spread() -> None:
    assert spread(np.array([])) == spread(np.array([0.0])) == 0
    assert spread(np.zeros(9)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("count", [5, 8, 20, 100])
def test_the_worst_of_a_healthy_kind_is_a_finding_as_often_as_the_rate_says(count: int) -> None:
    random = np.random.default_rng(7)
    smallest = []
    for values in random.normal(size=(1500, count)):
        width = spread(values - np.median(values))
        centre = centres(values, np.zeros(count, dtype=np.intp), 1, np.full(count, width)).value[0]
        beside = (values - centre) / (width * np.sqrt(1 + 1 / (EFFICIENCY * count)))
        smallest.append(upper_tail(beside, degrees(count)).min())
    # Three standard errors above the rate.
    assert np.mean(np.array(smallest) <= 0.05 / count) <= 0.067
