"""One figure of one step, whoever measured it: a review, another tool, or a publication.

What is compared, queried and exported comes from three places that know different amounts: a review has histograms and
intervals, another tool's result perhaps only percentiles, and a publication a number in a table. ``FigureRow`` is what
they have in common, so that nothing has to be invented to lay one beside another: what is not known is None.

Judges nothing and compares nothing. Figures of a review are ``stats.figures``'s, as charts have them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from iogauge.results.review import Drive, Step
from iogauge.stats.figures import StepFigures
from iogauge.stats.quantiles import Estimate
from iogauge.text import numbers
from iogauge.workload import parse
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
class Place:
    """Where a step stands: what has the same place in two reviews was the same procedure at the same load."""

    suite: str
    series: str
    label: str
    """What it is called; empty: its place on the axis says it."""
    at: float
    axis: str = ""
    """What the suite varies."""
    unit: str = ""
    """Of the axis."""

    @property
    def text(self) -> str:
        """The step in words, without its suite."""
        at = self.label or numbers.placed(self.at, self.unit)
        return f"{self.series}, {at}" if self.series else at


@dataclass(frozen=True, kw_only=True)
class FigureRow:
    """One figure of one step on one drive."""

    drive: str
    """What it is called; nothing else that is compared has that name."""
    place: Place
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


def rows_of(drive: Drive) -> tuple[FigureRow, ...]:
    """Return the figures of a suite's complete steps on a drive, step by step; rates, mean, and each quantile."""
    return tuple(row for step, figures, _ in drive.measured() for row in _rows(drive, step, figures))


def rows_of_all(drives: Iterable[Drive]) -> tuple[FigureRow, ...]:
    """Return the figures of several suites and drives, one after the other."""
    return tuple(row for drive in drives for row in rows_of(drive))


def place_of(drive: Drive, step: Step) -> Place:
    """Return where one of a drive's steps stands."""
    return Place(
        suite=drive.plan.suite,
        series=step.plan.series,
        label=step.plan.label,
        at=step.plan.at,
        axis=drive.plan.axis.name,
        unit=drive.plan.axis.unit,
    )


def metrics_of(figures: StepFigures) -> Iterator[tuple[str, Estimate]]:
    """Yield each metric of a step, with its estimate: no latency where nothing completed."""
    yield IOPS, figures.iops_estimate
    yield RATE, figures.rate_estimate
    if figures.mean is not None:
        yield MEAN, figures.mean
    for q, estimate in figures.quantiles.items():
        if estimate is not None:
            yield quantile_metric(q), estimate


def _loop(drive: Drive, step: Step) -> str:
    """Name the loop of DiskSpd that measured the judged job of a step; empty: none of several did."""
    version = drive.manifest.versions.get("diskspd", "")
    if not version:
        return ""
    jobs = parse(step.plan.job_file, source=step.plan.id).jobs
    return loop_of(version, max((job.iodepth for job in jobs if job.name == drive.plan.reader), default=1))


def _rows(drive: Drive, step: Step, figures: StepFigures) -> Iterator[FigureRow]:
    loop = _loop(drive, step)
    for metric, estimate in metrics_of(figures):
        yield FigureRow(
            drive=drive.label,
            place=place_of(drive, step),
            repeat=step.plan.repeat,
            judged=drive.plan.judged,
            metric=metric,
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            supported=estimate.supported,
            long_enough=estimate.long_enough,
            count=estimate.count,
            source=str(drive.path),
            loop=loop,
            pressed=drive.plan.pressure is not None,
            pressure_Bps=figures.pressure_Bps,
        )
