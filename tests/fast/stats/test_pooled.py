"""Several runs as one: counts add up, histograms merge, and what is uncertain is how the runs differ."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from iogauge.stats.figure import QUANTILES
from iogauge.stats.figures import StepFigures, step_figures
from iogauge.stats.pooled import pooled, variations
from tests import builders

JOBS = "[reader]\nrw=randread\nruntime=1\ntime_based\n"


def run(lat_ns: int, *, ios: int = 20_000, errors: int = 0) -> StepFigures:
    """A run in which every thousandth read takes ten times as long."""
    from iogauge import workload

    reads = builders.tally({lat_ns: ios - ios // 1000, 10 * lat_ns: ios // 1000})
    reads = reads.model_copy(update={"errors": {5: errors} if errors else {}})
    row = builders.row("reader", {builders.Direction.READ: reads}, index=0, end_ns=10**9)
    record = builders.record((row,), jobs=workload.parse(JOBS, source="x"))
    return step_figures(record, [], measured_job="reader", load_jobs=None)


def test_one_run_is_itself() -> None:
    alone = run(80_000)
    assert pooled([alone]) is alone
    assert variations([alone], QUANTILES) == {}


def test_the_pressure_of_runs_has_the_interval_of_how_they_differ() -> None:
    runs = [replace(run(80_000), pressure_Bps=rate) for rate in (100.0, 110.0, 121.0)]
    pressure = pooled(runs).pressure_figure
    assert (pressure.low, pressure.value, pressure.high) == pytest.approx((86.81, 110, 139.39), abs=0.01)
    assert pooled([replace(run, pressure_Bps=0.0) for run in runs]).pressure_figure.low is None


def test_figures_of_runs_are_those_of_their_logarithms() -> None:
    latencies = [80_000, 84_000, 79_000, 90_000]
    runs = [run(latency, ios=20_000 + 500 * place) for place, latency in enumerate(latencies)]
    result = pooled(runs)
    assert result.runs == 4
    assert result.ios == result.histogram.count == sum(run.ios for run in runs)
    assert result.iops == pytest.approx(scipy_stats.gmean([run.iops for run in runs]))
    assert result.mean is not None
    assert result.mean.value == pytest.approx(result.histogram.mean)
    logs = np.log([run.mean.value for run in runs if run.mean])
    low, high = scipy_stats.t.interval(0.95, 3, loc=logs.mean(), scale=scipy_stats.sem(logs))
    assert result.mean.low is not None
    assert result.mean.high is not None
    assert result.mean.high / result.mean.low == pytest.approx(math.exp(high - low))
    median = result.quantile(0.5)
    assert median is not None
    assert median.value == result.histogram.quantile(0.5)
    assert median.low is not None
    assert median.low < median.value


def test_what_no_run_supports_all_together_may() -> None:
    runs = [run(80_000, ios=50_000) for _ in range(3)]
    assert all(not run.quantile(0.9999).supported for run in runs if run.quantile(0.9999))
    result = pooled(runs).quantile(0.9999)
    assert result is not None
    assert result.supported
    assert result.count == 150_000
    assert "p99.99" not in variations(runs, QUANTILES)


def test_troubles_of_runs_add_up() -> None:
    runs = [run(80_000, errors=2), run(81_000, errors=3)]
    assert pooled(runs).errors == 5


def test_a_run_in_which_nothing_completed_leaves_no_interval() -> None:
    silent = run(80_000, ios=0)
    result = pooled([run(80_000), silent])
    assert result.mean is not None
    assert (result.mean.low, result.mean.high, result.iops_figure.low) == (None, None, None)
    assert variations([run(80_000), silent], QUANTILES) == {}


def test_variation_is_said_of_every_figure_that_all_runs_have() -> None:
    runs = [run(latency) for latency in (80_000, 88_000, 96_000)]
    result = variations(runs, QUANTILES)
    assert set(result) == {"iops", "mean", "p50", "p99", "p99.9"}
    values = [run.mean.value for run in runs if run.mean]
    assert result["mean"].coefficient == pytest.approx(np.std(values, ddof=1) / np.mean(values))
    assert result["iops"].coefficient == 0
    share = result["mean"].share
    assert share is not None
    assert 0.9 < share <= 1
