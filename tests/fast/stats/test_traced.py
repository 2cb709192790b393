"""Distributions of traced requests, and what a trace can say of its own cost."""

from __future__ import annotations

from iogauge.stats.histogram import Histogram
from iogauge.stats.traced import slowdown, supports


def test_requests_that_were_cut_off_support_nothing() -> None:
    histogram = Histogram.of(range(10_000))
    assert supports(histogram, 0.999, cut=0)
    assert not supports(histogram, 0.999, cut=1)
    assert supports(histogram, 0.99, cut=90)
    assert not supports(histogram, 0.99, cut=91)


def test_a_slowdown_needs_three_pairs_for_an_interval() -> None:
    assert slowdown([]) is None
    assert slowdown([(5.0, 0.0)]) is None
    assert slowdown([(50.0, 100.0), (70.0, 100.0)]) == (0.4, None, None)
    share, low, high = slowdown([(90.0, 100.0), (80.0, 100.0), (70.0, 100.0)]) or (0.0, None, None)
    assert low is not None
    assert high is not None
    assert low < share < high
