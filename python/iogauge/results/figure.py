"""One figure of one step, from a review, another tool's result, or a publication.

The three sources know different amounts: a review has histograms and intervals, another tool's result perhaps only
percentiles, and a publication a number in a table. ``Figure`` holds what they share, so that comparisons, SQL and
exports can treat them alike; unknown fields are None.

This module judges and compares nothing. ``stats.figures`` computes the figures of a review, as for charts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from iogauge.results.position import Position, PositionKey
from iogauge.results.run import Run
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figures import QUANTILES, StepFigures
from iogauge.stats.quantiles import Estimate
from iogauge.text import numbers
from iogauge.workload import jobs_of
from iogauge.workload.diskspd.versions import loop_of

IOPS = "iops"
RATE = "rate_Bps"
MEAN = "mean_ns"


def quantile_metric(q: float) -> str:
    """Return the metric of a latency quantile, in nanoseconds.

    >>> quantile_metric(0.999), quantile_metric(0.5)
    ('p99.9_ns', 'p50_ns')
    """
    return f"p{100 * q:.12g}_ns"


def metric_text(metric: str) -> str:
    """Return a metric's name for people.

    >>> metric_text("p99.9_ns"), metric_text("iops"), metric_text("rate_Bps")
    ('p99.9', 'IOPS', 'rate')
    """
    return {IOPS: "IOPS", RATE: "rate"}.get(metric, metric.removesuffix("_ns"))


def value_text(metric: str, value: float) -> str:
    """Return a metric's value with its unit.

    >>> value_text("iops", 583558), value_text("rate_Bps", 2.5e9), value_text("p99_ns", 15000)
    ('583,558', '2,500 MB/s', '15.00 us')
    """
    if metric == IOPS:
        return numbers.figure(value) if value < 1000 else f"{value:,.0f}"
    return numbers.bandwidth(value) if metric == RATE else numbers.duration(value)


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One figure of one step on one drive."""

    drive: str
    """The drive's name, unique in a comparison."""
    position: PositionKey
    repeat: int
    """From 0."""
    judged: str
    """The noun for one of the requests, such as ``read``."""
    metric: str
    """``iops``, ``rate_Bps``, ``mean_ns``, or ``p50_ns`` and its like."""
    value: float
    """In the unit that ends the metric's name."""
    low: float | None = None
    high: float | None = None
    """The 95 % interval within one run; None: unknown."""
    supported: bool = True
    """Whether the sample is large enough for a quantile; always True for publications."""
    long_enough: bool = True
    """Whether the run is long enough for its dependence; if not, the interval is open and decides nothing."""
    count: int = 0
    """Samples behind a latency; 0: unknown."""
    source: str
    """The review's directory, the imported file, or the publication."""
    pressed: bool = False
    """Whether load jobs run beside the measured job."""
    pressure_Bps: float = 0.0
    """The rate of the load jobs."""
    loop: str = ""
    """The asynchronous loop of DiskSpd that measured the figure, if above depth 1."""

    @property
    def estimate(self) -> Estimate:
        """The figure as an estimate, for functions of ``stats``."""
        return Estimate(
            self.value,
            self.low,
            self.high,
            self.supported,
            0,
            self.count,
            dependence=True,
            long_enough=self.long_enough,
        )


def figures_of(result: SuiteResult) -> tuple[Figure, ...]:
    """Return rates, mean and the usual quantiles of each complete step of a suite on a drive."""
    return tuple(
        figure
        for position in result.positions
        for run in position.runs
        for figure in _figures(result, position, run)
    )


def metrics_of(
    figures: StepFigures, quantiles: Iterable[float] = QUANTILES
) -> Iterator[tuple[str, Estimate]]:
    """Yield each metric of a step with its estimate; no latencies if nothing completed."""
    yield IOPS, figures.iops_estimate
    yield RATE, figures.rate_estimate
    if figures.mean is not None:
        yield MEAN, figures.mean
    for q in quantiles:
        if (estimate := figures.quantile(q)) is not None:
            yield quantile_metric(q), estimate


def _loop(result: SuiteResult, run: Run) -> str:
    """Return the loop of DiskSpd that ran a step's measured job; empty at depth 1, or if another tool ran it."""
    version = result.manifest.versions.get("diskspd", "")
    if not version:
        return ""
    jobs = jobs_of(run.plan).jobs
    return loop_of(
        version, max((job.iodepth for job in jobs if job.name == result.plan.measured_job), default=1)
    )


def _figures(result: SuiteResult, position: Position, run: Run) -> Iterator[Figure]:
    loop = _loop(result, run)
    for metric, estimate in metrics_of(run.figures):
        yield Figure(
            drive=result.label,
            position=position.key,
            repeat=run.plan.repeat,
            judged=result.plan.judged,
            metric=metric,
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            supported=estimate.supported,
            long_enough=estimate.long_enough,
            count=estimate.count,
            source=str(result.path),
            loop=loop,
            pressed=result.plan.load_jobs is not None,
            pressure_Bps=run.figures.pressure_Bps,
        )
