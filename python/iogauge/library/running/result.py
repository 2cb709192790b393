"""The result of a run: for each job and direction its requests, rates and latencies, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from iogauge.errors import IogaugeError, UsageError
from iogauge.library.notebook import QUANTILES, folded_warnings
from iogauge.library.public import public
from iogauge.results.collection import Collection
from iogauge.results.tabular import Tabular
from iogauge.schema import Direction, Interval, Kind, RowResult, RunRecord, Tally
from iogauge.stats.figure import Figure
from iogauge.text import html, numbers

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.library.running.run_tables import OverTime
    from iogauge.report.run.interval_stats import IntervalStats
    from iogauge.schema import Notice
    from iogauge.stats.figures import StepFigures


_HEAD = ("job", "direction", "IOPS", "MB/s", "mean", *(f"p{100 * q:.12g}" for q in QUANTILES), "max")


class Latency:
    """One latency of a job in one direction."""

    def __init__(self, figures: StepFigures, sample: str) -> None:
        self._figures = figures
        self._name = sample

    @property
    def count(self) -> int:
        """Requests that completed after the ramp."""
        return self._figures.histogram.count

    @property
    def max_ns(self) -> float:
        """The largest latency. Raises IogaugeError if nothing completed."""
        if self._figures.max_ns is None:
            raise self._nothing()
        return self._figures.max_ns

    @property
    def mean(self) -> Figure:
        """The mean. Raises IogaugeError if nothing completed."""
        return self._known(self._figures.mean)

    @public
    def quantile(self, q: float) -> Figure:
        """Return the ``q``-quantile, 0 < q < 1. Raises IogaugeError if nothing completed."""
        if not 0 < q < 1:
            raise UsageError(f"quantile {q:g}: must be above 0 and below 1", hint="for p99.9 write 0.999")
        return self._known(self._figures.quantile(q))

    def _known(self, figure: Figure | None) -> Figure:
        if figure is None:
            raise self._nothing()
        return figure

    def _nothing(self) -> IogaugeError:
        return IogaugeError(f"{self._name}: nothing completed", hint="look at its ios and errors")

    def __str__(self) -> str:
        figures = {"mean": self.mean, **{f"p{100 * q:.12g}": self.quantile(q) for q in QUANTILES}}
        return ", ".join(
            [
                *(f"{name} {figure}" for name, figure in figures.items()),
                f"max {numbers.duration(self.max_ns)}",
            ]
        )

    def __repr__(self) -> str:
        return f"<Latency of {self._name}: {self}>"


class DirectionResult:
    """The requests of a job in one direction. Everything is zero if it issued none."""

    def __init__(self, result: RunResult, job: str, direction: Direction) -> None:
        self._result = result
        self._job = job
        self.direction = direction
        self._figures: dict[Kind, StepFigures] = {}

    @property
    def ios(self) -> int:
        """Requests that completed after the ramp."""
        return sum(tally.ios for tally in self._tallies)

    @property
    def bytes(self) -> int:
        """Bytes that these requests moved."""
        return sum(tally.bytes for tally in self._tallies)

    @property
    def errors(self) -> dict[int, int]:
        """Failed requests by error number (``errno``)."""
        counts: Counter[int] = Counter()
        for tally in self._tallies:
            counts.update(tally.errors)
        return dict(counts)

    @cached_property
    def iops(self) -> Figure:
        """Completed requests a second."""
        return self._of(Kind.LAT).iops_figure if self.ios else Figure(0.0, unit="IOPS")

    @cached_property
    def bandwidth_Bps(self) -> Figure:
        """Bytes a second."""
        return self._of(Kind.LAT).rate_figure if self.bytes else Figure(0.0, unit="B/s")

    @property
    def lat(self) -> Latency:
        """The time from the start of a request in the generator to its completion: fio's lat."""
        return self.latency(Kind.LAT)

    @property
    def clat(self) -> Latency:
        """The time from a request's submission to its completion: fio's clat."""
        return self.latency(Kind.CLAT)

    @property
    def slat(self) -> Latency:
        """The time that submitting a request took: fio's slat."""
        return self.latency(Kind.SLAT)

    @property
    def response(self) -> Latency:
        """The time from the scheduled start of a request to its completion; without a schedule, the same as ``lat``."""
        return self.latency(Kind.RESPONSE)

    @public
    def latency(self, kind: Kind | str) -> Latency:
        """Return a latency by its name (docs/latency.md): lat, clat, slat, response, queued or lateness."""
        if kind not in [*Kind]:
            raise UsageError(f"there is no latency {kind!r}", hint=f"latencies: {', '.join(Kind)}")
        sample = f"{self._job}, {self.direction.value}"
        if not self.ios:
            raise IogaugeError(f"{sample}: nothing completed", hint="look at the job's rw, and at its errors")
        return Latency(self._of(Kind(kind)), sample)

    def __str__(self) -> str:
        lat = f", mean {self.lat.mean}" if self.ios else ""
        return f"{self._job}, {self.direction.value}: {self.iops}, {self.bandwidth_Bps}{lat}"

    def __repr__(self) -> str:
        return f"<DirectionResult {self}>"

    def _repr_html_(self) -> str:
        return html.table(_HEAD, [[self._job, *_cells(self)]])

    @property
    def _tallies(self) -> list[Tally]:
        rows = self._result.rows_of(self._job)
        return [tally for row in rows if (tally := row.tallies.get(self.direction))]

    def _of(self, kind: Kind) -> StepFigures:
        from iogauge.stats.figures import step_figures

        if kind not in self._figures:
            self._figures[kind] = step_figures(
                self._result.record,
                self._result.intervals,
                measured_job=self._job,
                load_jobs=None,
                kind=kind,
                direction=self.direction,
            )
        return self._figures[kind]


class JobResult:
    """The result of one job, all its clones together."""

    def __init__(self, result: RunResult, name: str) -> None:
        self.name = name
        self.read = DirectionResult(result, name, Direction.READ)
        self.write = DirectionResult(result, name, Direction.WRITE)
        self.trim = DirectionResult(result, name, Direction.TRIM)
        self.sync = DirectionResult(result, name, Direction.SYNC)

    @property
    def directions(self) -> tuple[DirectionResult, ...]:
        """The directions in which requests completed or failed."""
        return tuple(
            part for part in (self.read, self.write, self.trim, self.sync) if part.ios or part.errors
        )

    def __str__(self) -> str:
        return "\n".join(map(str, self.directions)) or f"{self.name}: nothing completed"

    def __repr__(self) -> str:
        return f"<JobResult {self.name}: {', '.join(part.direction.value for part in self.directions)}>"

    def _repr_html_(self) -> str:
        return html.table(_HEAD, [[self.name, *_cells(part)] for part in self.directions])


class RunResult(Tabular, Collection[JobResult]):
    """The result of a run. ``result["reads"]`` is the job of that name; ``str()``: the command's table."""

    NOUN = "job"

    def __init__(
        self, record: RunRecord, intervals: Iterable[Interval], *, diskspd: str | None = None
    ) -> None:
        self.record = record
        """The stored record of the run: jobs, plan, totals, targets, devices, warnings."""
        self.intervals = tuple(intervals)
        """Full histograms of every row, interval by interval."""
        self.diskspd = diskspd
        """The DiskSpd command line that was run; None: it was a fio job."""

    @cached_property
    def jobs(self) -> dict[str, JobResult]:
        """The jobs by their names, in the order of the job file."""
        return {job.name: JobResult(self, job.name) for job in self.record.jobs.jobs}

    def _parts(self) -> dict[str, JobResult]:
        return self.jobs

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.record, self.intervals, self.diskspd)

    @property
    def warnings(self) -> tuple[Notice, ...]:
        """The warnings about its figures."""
        return self.record.warnings

    def rows_of(self, job: str) -> list[RowResult]:
        """Return the rows of results that a job is counted in."""
        places = {(worker.stage, worker.row) for worker in self.record.result.workers if worker.name == job}
        return [row for row in self.record.result.rows if (row.stage, row.row) in places]

    def to_arrow(self) -> pa.Table:
        """Return a row for each job and direction, as an Arrow table.

        Units end the names; latencies are lat, each with the bounds of its 95 % interval (``mean_ns``, ``mean_low_ns``,
        ``mean_high_ns``). ``supported`` is the highest quantile that the sample supports.
        """
        from iogauge.library.running.run_tables import figures_table

        return figures_table(_figures(job.name, part) for job in self for part in job.directions)

    @property
    def over_time(self) -> OverTime:
        """The run over time as a table: a row for each interval, job and direction."""
        from iogauge.library.running.run_tables import OverTime

        return OverTime(self.record, self.intervals)

    def to_dict(self) -> dict[str, Any]:
        """Return the run as data that JSON can hold, as the command's json+ format has it."""
        from iogauge.report.run import jsonplus

        return jsonplus.document(self.record, self._stats, plus=True)

    def to_json(self) -> str:
        """Return the same as text."""
        from iogauge.report.run import jsonplus

        return jsonplus.render(self.record, self._stats, plus=True)

    def to_text(self) -> str:
        """Return iogauge's table of the run, or DiskSpd's tables of its command line, without the warnings."""
        from iogauge.report.run import diskspd_table, table
        from iogauge.report.run.diskspd_rates import DiskspdRates

        if self.diskspd is not None:
            rates = DiskspdRates(interval_ns=self.record.plan.interval_ns)
            for interval in self.intervals:
                rates.add(interval)
            return diskspd_table.render(self.record, rates, command=self.diskspd)
        return table.render(self.record, self._stats)

    @cached_property
    def _stats(self) -> IntervalStats:
        from iogauge.report.run.interval_stats import IntervalStats

        return IntervalStats.over(self.intervals, interval_ns=self.record.plan.interval_ns)

    def __str__(self) -> str:
        from iogauge.report.run import surroundings

        return self.to_text() + surroundings.warnings(self.warnings)

    def _repr_html_(self) -> str:
        rows = [[job.name, *_cells(part)] for job in self for part in job.directions]
        return html.table(_HEAD, rows) + folded_warnings(self.warnings)

    def __repr__(self) -> str:
        return f"<RunResult of {', '.join(self.jobs)}>"


def _restored(record: RunRecord, intervals: tuple[Interval, ...], diskspd: str | None) -> RunResult:
    return RunResult(record, intervals, diskspd=diskspd)


def _figures(job: str, part: DirectionResult) -> dict[str, Any]:
    """Return a row of the table of figures."""
    from iogauge.library.running.run_tables import QUANTILES, bounded
    from iogauge.results.figures import quantile_metric

    row: dict[str, Any] = {
        "job": job,
        "direction": part.direction.value,
        "ios": part.ios,
        "bytes": part.bytes,
        "errors": sum(part.errors.values()),
        **bounded("iops", part.iops.value, part.iops.low, part.iops.high),
        **bounded("rate_Bps", part.bandwidth_Bps.value, part.bandwidth_Bps.low, part.bandwidth_Bps.high),
    }
    if not part.ios:
        return row
    quantiles = {q: part.lat.quantile(q) for q in QUANTILES}
    named = {"mean_ns": part.lat.mean, **{quantile_metric(q): figure for q, figure in quantiles.items()}}
    for metric, figure in named.items():
        row |= bounded(metric, figure.value, figure.low, figure.high)
    row["max_ns"] = part.lat.max_ns
    row["supported"] = max((q for q, figure in quantiles.items() if figure.supported), default=None)
    return row


def _cells(part: DirectionResult) -> list[str]:
    rates = [numbers.rate(part.iops.value), numbers.megabytes(part.bandwidth_Bps.value)]
    if not part.ios:
        return [part.direction.value, *rates, *["-"] * (len(QUANTILES) + 2)]
    quantiles = [part.lat.quantile(q).text for q in QUANTILES]
    mean, largest = numbers.duration(part.lat.mean.value), numbers.duration(part.lat.max_ns)
    return [part.direction.value, *rates, mean, *quantiles, largest]
