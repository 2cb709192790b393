"""The stationary bootstrap against the ``arch`` package, and the long-run variance against what is known of AR(1)."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from arch.bootstrap import StationaryBootstrap, optimal_block_length
from numpy.typing import NDArray

from bench.streams import correlated
from iogauge.stats.dependence import block_length, correlation_bound, long_run, stationary_weights


def series(count: int, correlation: float, seed: int = 0) -> NDArray[np.float64]:
    return correlated(np.random.default_rng(seed), count, correlation)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("count", [10, 11, 15, 30, 60, 100, 600])
def test_the_block_length_is_archs_with_a_floor(count: int, correlation: float) -> None:
    sample = series(count, correlation, seed=count)
    with warnings.catch_warnings():
        # A window that leaves nothing divides by zero there.
        warnings.simplefilter("ignore", RuntimeWarning)
        expected = optimal_block_length(sample)["stationary"].iloc[0]
    assert block_length(sample) == pytest.approx(max(expected, count ** (1 / 3)))


def test_blocks_grow_with_correlation_from_the_floor_on() -> None:
    lengths = [block_length(series(600, correlation)) for correlation in (0.0, 0.5, 0.9)]
    assert lengths[0] == pytest.approx(600 ** (1 / 3))
    assert lengths == sorted(lengths)
    assert lengths[2] > 2 * lengths[0]


@pytest.mark.parametrize(("count", "length"), [(12, 1), (60, 5), (600, 40)])
def test_resampled_means_spread_as_archs_do(count: int, length: int) -> None:
    sample = series(count, 0.7)
    ours = stationary_weights(count, length, seed=1, resamples=20_000) @ sample / count
    package = StationaryBootstrap(length, sample, seed=2)
    theirs = [sample[package.update_indices()].mean() for _ in range(4000)]
    # A standard deviation of 4,000 draws is known to 1.1 %; three times that.
    assert np.std(ours) == pytest.approx(np.std(theirs), rel=0.035)
    assert np.mean(ours) == pytest.approx(sample.mean(), abs=4 * np.std(ours) / math.sqrt(20_000))


def test_blocks_have_geometric_lengths_and_go_round() -> None:
    # Of a series that is drawn whole as one block, every weight is one; blocks of one are drawn independently.
    weights = stationary_weights(50, 10**9, seed=3, resamples=100)
    assert (weights == 1).all()
    single = stationary_weights(50, 1, seed=3, resamples=4000)
    assert single.var() == pytest.approx(1 - 1 / 50, rel=0.03)
    assert (single.sum(axis=1) == 50).all()


def test_weights_are_shared_and_cannot_be_written() -> None:
    weights = stationary_weights(20, 3, seed=4)
    assert weights is stationary_weights(20, 3, seed=4)
    with pytest.raises(ValueError, match="read-only"):
        weights[0, 0] = 7


@pytest.mark.parametrize(
    ("count", "correlation"),
    [(60, 0.0), (60, 0.5), (60, 0.7), (60, 0.9), (60, 0.95), (20, 0.7), (20, 0.9), (20, 0.95)],
)
def test_t_intervals_of_a_correlated_mean_hold_it_or_are_open(count: int, correlation: float) -> None:
    from scipy.special import stdtrit

    random = np.random.default_rng(5)
    held = 0
    for _ in range(1000):
        sample = correlated(random, count, correlation)
        estimate = long_run(sample - sample.mean())
        reach = -stdtrit(estimate.degrees, 0.025) * estimate.error if estimate.long_enough else np.inf
        held += abs(sample.sum()) <= reach
    # 0.95 is known to 0.7 % from 1000 draws. With bounds of 90 %, 20 at 0.95 are held in 0.904, 60 in 0.929.
    assert 0.93 <= held / 1000 <= 0.975


def test_what_is_constant_has_no_error() -> None:
    assert long_run(np.zeros(30)).error == 0
    assert block_length(np.full(30, 7.0)) == pytest.approx(30 ** (1 / 3))


@pytest.mark.parametrize(
    ("correlation", "least", "most"), [(0.0, 0.0, 0.0), (0.5, 0.0, 0.02), (0.95, 0.6, 1.0)]
)
def test_a_minute_is_too_short_where_its_seconds_are_much_alike(
    correlation: float, least: float, most: float
) -> None:
    random = np.random.default_rng(1)
    short = [not long_run(correlated(random, 60, correlation)).long_enough for _ in range(200)]
    assert least <= np.mean(short) <= most


def test_the_error_of_a_long_series_is_that_of_its_correlation() -> None:
    random = np.random.default_rng(2)
    errors = [long_run(correlated(random, 600, 0.9)).error / math.sqrt(600) for _ in range(100)]
    # Of an autoregressive series of variance 1 it is sqrt((1 + r) / (1 - r)); 0.9 of it without the correction.
    assert np.mean(errors) == pytest.approx(math.sqrt(1.9 / 0.1), rel=0.15)
    assert np.mean(errors) >= math.sqrt(1.9 / 0.1)


def test_independent_series_are_hardly_less_sure_for_it() -> None:
    random = np.random.default_rng(3)
    errors = [long_run(random.standard_normal(60)).error / math.sqrt(60) for _ in range(200)]
    assert np.mean(errors) < 1.03


def test_noise_does_not_hide_what_other_series_of_the_run_show() -> None:
    random = np.random.default_rng(4)
    alone, together = [], []
    for _ in range(50):
        level = correlated(random, 60, 0.95)
        noisy = level + random.standard_normal(60)
        alone.append(long_run(noisy).long_enough)
        together.append(long_run(noisy, correlation=correlation_bound(level)).long_enough)
    assert np.mean(together) < 0.5 < np.mean(alone)
