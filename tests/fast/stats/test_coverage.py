"""Intervals hold the truth of made-up runs as often as they say: a small part of ``python -m bench coverage``."""

from __future__ import annotations

import numpy as np
import pytest

from bench.cases.coverage import BLOCKS, one_run, rejected, several_runs
from bench.streams import RATE_IOPS, STREAMS, Stream, histograms
from iogauge.stats.histogram import Histogram

each_stream = pytest.mark.parametrize("stream", STREAMS, ids=lambda stream: stream.name)
FIGURES = {"mean", "p50", "p99", "p99.9"}


@each_stream
def test_a_streams_truth_is_that_of_many_of_its_seconds(stream: Stream) -> None:
    many = Histogram.merge(stream.intervals(np.random.default_rng(1), 3000))
    assert many.count == 3000 * RATE_IOPS
    # A thousand independent times or so: troubled ones are known to 5 %, shifts to 1 %.
    assert many.mean == pytest.approx(stream.mean, rel=0.06)
    assert many.quantile(0.5) == pytest.approx(stream.quantile(0.5), rel=0.03)
    assert many.quantile(0.999) == pytest.approx(stream.quantile(0.999), rel=0.06)


def test_rows_become_the_recorders_histograms() -> None:
    latencies = np.array([[5.0, 2048.0, 2049.0, 5.0], [1e6, 1.0, 1e6, 7e9]])
    for result, row in zip(histograms(latencies), latencies, strict=True):
        expected = Histogram.of(row.astype(int))
        assert result.values.tolist() == expected.values.tolist()
        assert result.lowest.tolist() == expected.lowest.tolist()
        assert result.counts.tolist() == expected.counts.tolist()


@pytest.mark.parametrize(
    "stream",
    [*(pytest.param(stream, marks=pytest.mark.slow) for stream in STREAMS[:2]), *STREAMS[3:]],
    ids=lambda stream: stream.name,
)
def test_intervals_of_one_run_hold_the_truth(stream: Stream) -> None:
    result = one_run(stream, seconds=60, trials=300 if stream is STREAMS[3] else 200)
    assert set(result) == FIGURES
    for name, figure in result.items():
        # These trials are always the same. Without Hall's transformation, stalls are held in 90 %.
        assert figure.coverage >= 0.92, name
        assert figure.widths, name


def test_intervals_are_no_wider_than_they_need_to_be() -> None:
    # 60,000 independent lognormals: the ideal interval of the mean has 2 * 1.96 * 0.417 / sqrt(60,000) = 0.67 %.
    result = one_run(STREAMS[0], seconds=60, trials=50)
    assert np.mean(result["mean"].widths) < 2 * 0.0067


@pytest.mark.parametrize("runs", [3, pytest.param(5, marks=pytest.mark.slow)])
def test_intervals_of_repeats_hold_the_truth_and_the_hierarchical_bootstraps_do_not(runs: int) -> None:
    result = several_runs(runs=runs, trials=150)
    for name in FIGURES:
        # Without the jackknife, p99.9 of three runs is held in 90 % of these trials.
        assert result[name].coverage >= 0.91, name
    assert result["mean, hierarchical bootstrap"].coverage < result["mean"].coverage


@pytest.mark.parametrize("blocks", BLOCKS)
def test_comparisons_of_the_same_find_a_difference_in_five_of_a_hundred(blocks: int) -> None:
    # Six blocks have 64 ways to flip, and find one in 3.1 %. 3,000 trials know 5 % to 0.4 %.
    expected = {6: 2 / 64, 8: 12 / 256, 12: 204 / 4096}[blocks]
    assert rejected(blocks=blocks, trials=3000) == pytest.approx(expected, abs=0.012)
