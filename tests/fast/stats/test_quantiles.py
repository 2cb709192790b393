"""Intervals against exact binomial sums, known distributions and clustered series."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import binom

from iogauge.stats.figure import Figure
from iogauge.stats.histogram import Histogram
from iogauge.stats.moments import rate_with_interval
from iogauge.stats.quantiles import FEWEST_BLOCKS, LEVEL, Sample, binomial_interval, binomial_rank


@pytest.mark.parametrize(("count", "q"), [(100, 0.5), (1000, 0.5), (1000, 0.99), (2000, 0.9), (1009, 0.25)])
def test_binomial_ranks_cover_at_least_the_level(count: int, q: float) -> None:
    # Values 1..n below 2048 have buckets of one nanosecond, so the bounds are the ranks themselves.
    low, high = binomial_interval(Histogram.of(range(1, count + 1)), q)
    assert low is not None
    assert high is not None
    covered = binom.cdf(high - 1, count, q) - binom.cdf(low - 1, count, q)
    assert covered >= LEVEL
    narrower = binom.cdf(high - 2, count, q) - binom.cdf(low, count, q)
    assert narrower < LEVEL


@pytest.mark.parametrize("level", [0.025, 0.975])
@pytest.mark.parametrize("q", [0.0001, 0.25, 0.5, 0.99, 0.99999])
def test_ranks_are_those_of_scipys_own_distribution(level: float, q: float) -> None:
    counts = [1, 2, 9, 100, 1009, 10**5, 10**7, 3 * 10**9]
    ranks = [binomial_rank(level, count, q) for count in counts]
    assert ranks == [int(binom.ppf(level, count, q)) for count in counts]


def test_an_interval_that_the_sample_cannot_close_is_open() -> None:
    assert binomial_interval(Histogram.of(range(1, 101)), 0.99)[1] is None
    assert binomial_interval(Histogram.of(range(1, 101)), 0.01)[0] is None


def test_bounds_are_the_outer_edges_of_their_buckets() -> None:
    low, high = binomial_interval(Histogram.of([1_000_000] * 1000), 0.5)
    histogram = Histogram.of([1_000_000])
    assert (low, high) == (histogram.min, histogram.max)
    assert histogram.min < histogram.max


def test_intervals_of_independent_samples_hold_the_truth() -> None:
    # 200 samples of an exponential: the true p99 is ln 100 times the scale. 95 % of the intervals hold it; with
    # 200 draws the count lies within 3 standard errors (10 of 200) of 190, or above: the method is conservative.
    random = np.random.default_rng(2)
    held_p99 = held_mean = 0
    for _ in range(200):
        sample = Sample([Histogram.of((random.exponential(1e5, 2000)).astype(int))])
        p99, mean = sample.quantile(0.99), sample.mean()
        assert p99 is not None
        assert mean is not None
        held_p99 += p99.low <= 1e5 * np.log(100) <= p99.high
        held_mean += mean.low <= 1e5 <= mean.high
    assert held_p99 >= 180
    assert held_mean >= 180


def test_clustered_latencies_widen_the_interval() -> None:
    # Half the seconds are slow, in runs of six: within a second all requests agree, so a minute holds ten facts.
    random = np.random.default_rng(3)
    seconds = [
        Histogram.of(random.normal(2e5 if second // 6 % 2 else 1e5, 1e3, 1000).astype(int))
        for second in range(60)
    ]
    together, shuffled = Sample(seconds), Sample([Histogram.merge(seconds)])
    wide, narrow = together.mean(), shuffled.mean()
    assert wide is not None
    assert narrow is not None
    assert wide.value == narrow.value
    assert wide.dependence
    assert not narrow.dependence
    assert width(wide) > 10 * width(narrow)


def test_neighbouring_slow_seconds_widen_more_than_scattered_ones() -> None:
    fast, slow = Histogram.of([100_000] * 500), Histogram.of([300_000] * 500)
    runs = Sample([slow if second // 3 % 2 else fast for second in range(60)]).mean()
    scattered = Sample([slow if second % 2 else fast for second in range(60)]).mean()
    assert runs is not None
    assert scattered is not None
    assert width(runs) > width(scattered)


def test_a_minute_of_one_change_is_too_short_to_bound_its_mean_or_median() -> None:
    fast, slow = Histogram.of([100_000] * 500), Histogram.of([300_000] * 500)
    halves = Sample([slow if second < 30 else fast for second in range(60)])
    for figure in (halves.mean(), halves.quantile(0.5)):
        assert figure is not None
        assert (figure.low, figure.high, figure.long_enough) == (None, None, False)


def test_ten_seconds_that_do_not_resemble_their_neighbours_are_enough() -> None:
    random = np.random.default_rng(8)
    means = []
    for _ in range(100):
        shifts = random.normal(0, 0.2, 10)
        means.append(
            Sample([Histogram.of((1e5 * np.exp([shift] * 9)).astype(int)) for shift in shifts]).mean()
        )
    assert sum(mean is not None and not mean.long_enough for mean in means) <= 3


def test_levels_that_hardly_differ_leave_a_short_run_its_interval() -> None:
    rate = rate_with_interval(1000.5, np.repeat([1000.0, 1001.0], 15).tolist(), count=30_015, unit="IOPS")
    assert rate.long_enough
    assert rate.low is not None
    assert rate.high is not None
    assert 990 < rate.low < rate.high < 1010


def test_stalls_reach_farther_above_than_below() -> None:
    # Three seconds of sixty hold all slow requests; that there might have been six is likelier than none at all.
    calm, troubled = [100_000] * 1000, [100_000] * 900 + [10_000_000] * 100
    seconds = [Histogram.of(troubled if 20 <= second < 23 else calm) for second in range(60)]
    mean = Sample(seconds).mean()
    assert mean is not None
    assert mean.low is not None
    assert mean.high is not None
    assert mean.high / mean.value > 1.2 * mean.value / mean.low
    assert mean.high - mean.value > 2 * (mean.value - mean.low)


def test_seconds_that_are_all_alike_leave_the_quantile_its_bucket() -> None:
    sample = Sample([Histogram.of(range(1, 1001))] * 60)
    median = sample.quantile(0.5)
    assert median is not None
    # Nothing differs from second to second, so that the binomial ranks of 60,000 requests alone are left.
    assert (median.low, median.high) == binomial_interval(sample.histogram, 0.5)


def test_one_event_of_three_seconds_says_less_of_a_tail_than_three_events() -> None:
    def minute(slow: Sequence[int]) -> Figure:
        random = np.random.default_rng(7)
        latencies = random.lognormal(11, 0.2, (60, 1000))
        latencies[slow, :40] = random.uniform(1e6, 2e6, (3, 40))
        estimate = Sample([Histogram.of(row.astype(int)) for row in latencies]).quantile(0.999)
        assert estimate is not None
        return estimate

    apart, together = minute([12, 28, 47]), minute([28, 29, 30])
    assert apart.value == together.value
    assert apart.low is not None
    assert together.low is not None
    # No such event in a minute is likely enough where there was one, and p99.9 is then among the calm requests.
    assert together.low < 0.2e6 < 1e6 < apart.low
    assert together.high is None or apart.high is None or together.high >= apart.high


@pytest.mark.parametrize("q", [0.4, 0.5, 0.6])
def test_a_quantiles_interval_holds_the_quantile(q: float) -> None:
    random = np.random.default_rng(6)
    shifts = np.repeat(random.normal(0, 0.3, 20), 3)
    sample = Sample([Histogram.of(random.lognormal(11 + shift, 0.4, 300).astype(int)) for shift in shifts])
    quantile = sample.quantile(q)
    assert quantile is not None
    assert quantile.low is not None
    assert quantile.high is not None
    assert quantile.low < quantile.value < quantile.high


def width(estimate: Figure) -> float:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.high - estimate.low


def test_the_same_seed_gives_the_same_interval() -> None:
    random = np.random.default_rng(4)
    seconds = [Histogram.of(random.lognormal(11, 0.5, 300).astype(int)) for _ in range(20)]
    assert Sample(seconds, seed=7).quantile(0.9) == Sample(seconds, seed=7).quantile(0.9)


def test_empty_seconds_belong_to_the_series() -> None:
    full = [Histogram.of([100_000, 110_000])] * FEWEST_BLOCKS
    sample = Sample([*full, *[Histogram.empty()] * 5])
    assert sample.dependence
    mean = sample.mean()
    assert mean is not None
    assert mean.count == 2 * FEWEST_BLOCKS


def test_few_seconds_are_not_resampled() -> None:
    assert not Sample([Histogram.of([5, 6])] * (FEWEST_BLOCKS - 1)).dependence


def test_support_is_told_with_what_it_would_need() -> None:
    sample = Sample([Histogram.of(range(1, 1001))])
    supported, unsupported = sample.quantile(0.99), sample.quantile(0.999)
    assert supported is not None
    assert supported.supported
    assert unsupported is not None
    assert not unsupported.supported
    assert unsupported.needed == 10_000


def test_no_sample_has_no_figures_and_one_sample_no_interval() -> None:
    assert Sample([]).mean() is None
    assert Sample([Histogram.empty()]).quantile(0.5) is None
    single = Sample([Histogram.of([7])]).mean()
    assert single is not None
    assert (single.value, single.low, single.high, single.supported) == (7, None, None, False)
