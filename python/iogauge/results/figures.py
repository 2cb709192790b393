"""The figures of positions, from a review, another tool's result, or a publication.

A review has histograms and intervals, another tool's result perhaps only percentiles, and a publication a number in a
table. ``PositionFigure`` holds what they share, so that comparisons, SQL and exports can treat them alike.

This module judges and compares nothing. ``stats.figures`` computes the figures of a review, as for charts.
This module imports little, because a list of reviews needs the names of metrics at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iogauge.stats.figure import QUANTILES, Figure, Unit, written

if TYPE_CHECKING:
    from iogauge.results.position import Position, PositionKey
    from iogauge.results.run import Run
    from iogauge.results.suite_result import SuiteResult
    from iogauge.stats.figures import StepFigures

IOPS = "iops"
RATE = "rate_Bps"
MEAN = "mean_ns"


def quantile_metric(q: float) -> str:
    """Return the metric of a latency quantile, in nanoseconds.

    >>> quantile_metric(0.999), quantile_metric(0.5)
    ('p99.9_ns', 'p50_ns')
    """
    return f"p{100 * q:.12g}_ns"


def unit_of(metric: str) -> Unit:
    """Return the unit of a metric's values.

    >>> unit_of("iops"), unit_of("rate_Bps"), unit_of("p99_ns")
    ('IOPS', 'B/s', 'ns')
    """
    units: dict[str, Unit] = {IOPS: "IOPS", RATE: "B/s"}
    return units.get(metric, "ns")


def metric_text(metric: str) -> str:
    """Return a metric's name for people.

    >>> metric_text("p99.9_ns"), metric_text("iops"), metric_text("rate_Bps")
    ('p99.9', 'IOPS', 'rate')
    """
    return {IOPS: "IOPS", RATE: "rate"}.get(metric, metric.removesuffix("_ns"))


def value_text(metric: str, value: float, digits: int | None = None) -> str:
    """Return a metric's value with its unit, by default with four digits.

    >>> value_text("iops", 583558), value_text("rate_Bps", 2.5e9), value_text("p99_ns", 15000)
    ('583,558', '2,500 MB/s', '15.00 us')
    """
    return written(value, unit_of(metric), digits)


@dataclass(frozen=True, kw_only=True)
class PositionFigure(Figure):
    """The figure of one metric of one step on one drive, with the interval within one run."""

    drive: str
    """The drive's name, unique in a comparison."""
    position: PositionKey
    repeat: int
    """From 0."""
    judged: str
    """The noun for one of the requests, such as ``read``."""
    metric: str
    """``iops``, ``rate_Bps``, ``mean_ns``, or ``p50_ns`` and its like."""
    source: str
    """The review's directory, the imported file, or the publication."""
    pressed: bool = False
    """Whether load jobs run beside the measured job."""
    pressure_Bps: float = 0.0
    """The rate of the load jobs."""
    loop: str = ""
    """The asynchronous loop of DiskSpd that measured the figure, if above depth 1."""


def figures_of(result: SuiteResult) -> tuple[PositionFigure, ...]:
    """Return rates, mean and the usual quantiles of each complete step of a suite on a drive."""
    return tuple(
        figure
        for position in result.positions
        for run in position.runs
        for figure in _figures(result, position, run)
    )


def metrics_of(figures: StepFigures, quantiles: Iterable[float] = QUANTILES) -> Iterator[tuple[str, Figure]]:
    """Yield each metric of a step with its figure; no latencies if nothing completed."""
    yield IOPS, figures.iops_figure
    yield RATE, figures.rate_figure
    if figures.mean is not None:
        yield MEAN, figures.mean
    for q in quantiles:
        if (figure := figures.quantile(q)) is not None:
            yield quantile_metric(q), figure


def figure_of(figures: StepFigures, metric: str, q: float | None = None) -> Figure | None:
    """Return the figure of a metric, or of the quantile ``q``. None: nothing completed, or no data moved (syncs).

    Requests that move no data have no rate in bytes: one of 0 would miss every limit.
    """
    if q is not None:
        return figures.quantile(q)
    if metric == RATE and not figures.rate_Bps:
        return None
    return dict(metrics_of(figures, ())).get(metric)


def _loop(result: SuiteResult, run: Run) -> str:
    """Return the loop of DiskSpd that ran a step's measured job; empty at depth 1, or if another tool ran it."""
    version = result.manifest.versions.get("diskspd", "")
    if not version:
        return ""
    from iogauge.workload import jobs_of
    from iogauge.workload.diskspd.versions import loop_of

    jobs = jobs_of(run.plan).jobs
    return loop_of(
        version, max((job.iodepth for job in jobs if job.name == result.plan.measured_job), default=1)
    )


def _figures(result: SuiteResult, position: Position, run: Run) -> Iterator[PositionFigure]:
    loop = _loop(result, run)
    for metric, figure in metrics_of(run.figures):
        yield PositionFigure(
            drive=result.label,
            position=position.key,
            repeat=run.plan.repeat,
            judged=result.plan.judged,
            metric=metric,
            **vars(figure),
            source=str(result.path),
            loop=loop,
            pressed=result.plan.load_jobs is not None,
            pressure_Bps=run.figures.pressure_Bps,
        )
