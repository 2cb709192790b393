"""One figure of one step, whoever measured it: a review, another tool, or a publication.

What is compared, queried and exported comes from three places that know different amounts: a review has histograms and
intervals, another tool's result perhaps only percentiles, and a publication a number in a table. ``Figure`` is what
they have in common, so that nothing has to be invented to lay one beside another: what is not known is None.

Judges nothing and compares nothing. Figures of a review are ``stats.figures``'s, as charts have them.
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
    """Return the name of a quantile's metric, a latency in nanoseconds.

    >>> quantile_metric(0.999), quantile_metric(0.5)
    ('p99.9_ns', 'p50_ns')
    """
    return f"p{100 * q:.12g}_ns"


def metric_text(metric: str) -> str:
    """Return a metric as people read it.

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
    """What it is called; nothing else that is compared has that name."""
    position: PositionKey
    repeat: int
    """From 0."""
    judged: str
    """What one of the requests is called, such as ``read``."""
    metric: str
    """``iops``, ``rate_Bps``, ``mean_ns``, or ``p50_ns`` and its like."""
    value: float
    """In the unit that ends the metric's name."""
    low: float | None = None
    high: float | None = None
    """The 95 % interval within one run; None: not known."""
    supported: bool = True
    """Whether the sample is large enough for a quantile; of a publication, that it says nothing else."""
    long_enough: bool = True
    """Whether the run is long enough for its dependence; where not, the interval is open and decides nothing."""
    count: int = 0
    """Samples behind a latency; 0: not told."""
    source: str
    """The review's directory, the file that was imported, or where it was published."""
    pressed: bool = False
    """Whether other jobs press at this one along the axis."""
    pressure_Bps: float = 0.0
    """What these jobs moved."""
    loop: str = ""
    """Of a figure that DiskSpd measured above depth 1: by which of its asynchronous loops."""

    @property
    def estimate(self) -> Estimate:
        """The same as ``stats`` has it, for its functions of two estimates."""
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
    """Return the figures of a suite's complete steps on a drive, step by step; rates, mean, and the usual quantiles."""
    return tuple(
        figure
        for position in result.positions
        for run in position.runs
        for figure in _figures(result, position, run)
    )


def figures_of_all(results: Iterable[SuiteResult]) -> tuple[Figure, ...]:
    """Return the figures of several suites and drives, one after the other."""
    return tuple(figure for result in results for figure in figures_of(result))


def metrics_of(
    figures: StepFigures, quantiles: Iterable[float] = QUANTILES
) -> Iterator[tuple[str, Estimate]]:
    """Yield each metric of a step, with its estimate: no latency where nothing completed."""
    yield IOPS, figures.iops_estimate
    yield RATE, figures.rate_estimate
    if figures.mean is not None:
        yield MEAN, figures.mean
    for q in quantiles:
        if (estimate := figures.quantile(q)) is not None:
            yield quantile_metric(q), estimate


def _loop(result: SuiteResult, run: Run) -> str:
    """Name the loop of DiskSpd that measured the judged job of a step; empty: none of several did."""
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
