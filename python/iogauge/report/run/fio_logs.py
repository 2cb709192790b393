"""fio's log files: ``write_bw_log``, ``write_lat_log``, ``write_iops_log`` and ``write_hist_log``, in fio's formats.

    PREFIX_bw.N.log, PREFIX_iops.N.log, PREFIX_{lat,clat,slat}.N.log     time, value, ddir, bs, prio
    PREFIX_clat_hist.N.log                                               time, ddir, bs, 1856 counts

Times are in ms since the measured start of the row, latencies in ns, bandwidth in KiB/s (as in fio, in kB/s for single
requests). With ``log_avg_msec``, and for histograms ``log_hist_msec``, lines are made from the run's intervals while it
lasts. Without it, ``request_logs`` writes one line a request after the run. Memory does not grow with the run.

Deliberate differences from fio:

- an engine without slat has no log of it;
- a window without I/O is a line of zeros in a log of rates; a log of latencies has no line for it;
- a group that is reported as one row has one file, with the number of its first worker.

As in fio, a window at the end that is shorter than half its length has lines for its latencies, but none for rates.

Source: fio's HOWTO (log file formats); io_u.c (account_io_completion), stat.c (calc_log_samples) and the files that fio
3.33 writes.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from iogauge.errors import IogaugeError
from iogauge.report.run.fio_buckets import buckets
from iogauge.report.run.rows import histogram_of, left_out
from iogauge.schema import Direction, EngineKind, Interval, Job, JobFile, Kind
from iogauge.stats.histogram import Histogram
from iogauge.store.outputs import Claims, Existing, Output
from iogauge.workload.clones import clones

SHORTEST_NS = 10_000_000
"""The shortest interval: handing out histograms must be rare compared with I/Os."""
LONGEST_NS = 60_000_000_000
"""The longest interval: a bucket counts to 2**32, which the null engine reaches in a minute and a half."""
DEFAULT_NS = 1_000_000_000

_LEAST_SHARE = 0.5
"""The least share of its length that a last window needs to have a line of rates."""

_UNMERGED = 16
"""The most histograms of one window that are kept unmerged: a window may be hours of short intervals."""

DDIR = {Direction.READ: 0, Direction.WRITE: 1, Direction.TRIM: 2}
_WINDOW_VALUES: dict[str, Callable[[int, int], str]] = {
    "avg": lambda mean, _: str(mean),
    "max": lambda _, largest: str(largest),
    "both": lambda mean, largest: f"{mean}, {largest}",
}
"""How log_window_value writes the mean and the maximum of a window."""
_LATENCIES = (Kind.LAT, Kind.CLAT, Kind.SLAT)


IOLOG = "iolog"
"""The name of the log that can be replayed."""


def interval_ns_for(jobs: JobFile, *, otherwise_ns: int = DEFAULT_NS) -> int:
    """Return the longest interval that divides every log's window and ``otherwise_ns``.

    Raises IogaugeError where that would be shorter than 10 ms.
    """
    interval_ns = math.gcd(otherwise_ns, *_windows(jobs))
    if interval_ns < SHORTEST_NS:
        windows = ", ".join(f"{window_ns / 1e6:g} ms" for window_ns in sorted(_windows(jobs)))
        raise IogaugeError(
            f"{jobs.source}: log windows of {windows} need intervals of {interval_ns / 1e6:g} ms, and "
            f"{SHORTEST_NS / 1e6:g} ms is the shortest",
            hint="use multiples of 10 for log_avg_msec and log_hist_msec; leave out log_avg_msec to log every request",
        )
    return interval_ns


def require_interval(jobs: JobFile, *, interval_ns: int) -> None:
    """Raise IogaugeError if the interval does not divide the windows of the jobs' logs."""
    for window_ns in sorted(_windows(jobs)):
        if window_ns % interval_ns:
            raise IogaugeError(
                f"a log window of {window_ns / 1e6:g} ms is not a multiple of the interval, {interval_ns / 1e6:g} ms",
                hint="choose an interval that divides log_avg_msec and log_hist_msec, or leave it out",
            )


def needs_requests(jobs: JobFile) -> bool:
    """Return whether some log has a line for every request."""
    return any(request_names(job) for job in jobs.jobs)


def needs_intervals(jobs: JobFile) -> bool:
    """Return whether some log has a line for every window of time."""
    return any(interval_names(job) for job in jobs.jobs)


def _windows(jobs: JobFile) -> set[int]:
    averaged = {job.log_avg_ns for job in jobs.jobs if _prefixes(job)}
    histograms = {job.log_hist_ns for job in jobs.jobs if job.write_hist_log is not None}
    # A sample of a steady state is made of whole intervals, too.
    steady = {job.steadystate_interval_ns for job in jobs.jobs if job.steadystate_duration_ns}
    return (averaged | histograms | steady) - {0}


def _prefixes(job: Job) -> dict[str, str]:
    """Return the prefix of each log of rates and latencies that a job writes, by what is logged."""
    options = {"bw": job.write_bw_log, "iops": job.write_iops_log, "lat": job.write_lat_log}
    return {what: prefix or job.name for what, prefix in options.items() if prefix is not None}


def request_names(job: Job) -> list[str]:
    """Return the names of a job's logs that have a line for every request."""
    values = [] if job.log_avg_ns else _value_names(job)
    return [*values, *([IOLOG] if job.write_iolog is not None else [])]


def interval_names(job: Job) -> list[str]:
    """Return the names of a job's logs that have a line for every window of time."""
    averaged = _value_names(job) if job.log_avg_ns else []
    return [*averaged, *(["clat_hist"] if job.write_hist_log is not None else [])]


def _all_names(job: Job) -> list[str]:
    return [*request_names(job), *interval_names(job)]


def _value_names(job: Job) -> list[str]:
    names = [name for what in _prefixes(job) for name in (_latencies(job) if what == "lat" else (what,))]
    return [*map(str, names)]


def _latencies(job: Job) -> tuple[Kind, ...]:
    """Return the latencies that a job's logs have: those that its engine measures and the job does not leave out.

    Only an engine with a call of its own for submission has a slat.
    """
    at_once = job.ioengine.is_synchronous
    at_once = at_once or (job.ioengine is EngineKind.NULL and job.iodepth == 1)
    kinds = _LATENCIES[:-1] if at_once or job.sqthread_poll else _LATENCIES
    return tuple(kind for kind in kinds if not left_out(job, kind))


def empty_names(job: Job) -> set[str]:
    """Return the names of the logs that stay empty, as in fio, because the job leaves out what they would hold.

    Averages of rates are never left out: in fio they come from a timer that ignores these options.
    """
    names = {"clat_hist"} if job.disable_clat else set()
    if job.disable_bw_measurement and not job.log_avg_ns:
        names |= {"bw", "iops"} if job.disable_clat and job.disable_slat else {"bw"}
    return names


def claim(
    jobs: JobFile,
    claims: Claims,
    *,
    names: Callable[[Job], list[str]] = _all_names,
    directory: Path = Path(),
) -> dict[str, Output]:
    """Claim the logs of the jobs in ``directory``; return them by name. Raises IogaugeError if one must not be written.

    ``names`` chooses among the logs of a job. As in fio, logs replace those of an earlier run.
    """
    return {name: claims.file(directory / name, existing=Existing.REPLACE) for name in names_of(jobs, names)}


def names_of(jobs: JobFile, names: Callable[[Job], list[str]]) -> list[str]:
    """Return the file names of the jobs' logs, without duplicates. ``names`` chooses among the logs of a job."""
    return list(
        dict.fromkeys(
            name_of(name, jobs.jobs[clone.job], number)
            for number, clone in enumerate(clones(jobs), 1)
            if clone.first
            for name in names(jobs.jobs[clone.job])
        )
    )


def name_of(name: str, job: Job, number: int) -> str:
    """Return the file name of one log; ``number`` counts workers from 1.

    >>> name_of("clat", Job(name="reader", write_lat_log="out"), 1)
    'out_clat.1.log'
    """
    if name == IOLOG and job.write_iolog is not None:
        return job.write_iolog
    prefixes = {"bw": job.write_bw_log, "iops": job.write_iops_log, "clat_hist": job.write_hist_log}
    prefix = prefixes.get(name, job.write_lat_log) or job.name
    return f"{prefix}_{name}.{number}.log" if job.per_job_logs else f"{prefix}_{name}.log"


@dataclass
class _Window:
    """What one row did in its current window."""

    number: int
    end_ns: int = 0
    start_ns: int | None = None
    tallies: dict[Direction, list[int]] = field(default_factory=dict)
    """I/Os and bytes."""
    latencies: dict[tuple[Direction, Kind], list[Histogram]] = field(default_factory=dict)

    def add(self, interval: Interval, kinds: tuple[Kind, ...]) -> None:
        self.start_ns = interval.start_ns if self.start_ns is None else min(self.start_ns, interval.start_ns)
        self.end_ns = max(self.end_ns, interval.end_ns)
        for direction, tally in interval.tallies.items():
            sums = self.tallies.setdefault(direction, [0, 0])
            sums[0] += tally.ios
            sums[1] += tally.bytes
            for kind in kinds:
                # A clat that was not recorded did not differ from lat.
                histogram = histogram_of(tally, kind) or (
                    histogram_of(tally, Kind.LAT) if kind is Kind.CLAT else None
                )
                if histogram is not None:
                    parts = self.latencies.setdefault((direction, kind), [])
                    parts.append(histogram)
                    if len(parts) == _UNMERGED:
                        parts[:] = [Histogram.merge(parts)]


@dataclass
class _WindowLogs:
    """The open log files of one row. ``origin_ns`` is the measured start of the row, since the start of its stage."""

    job: Job
    directions: tuple[Direction, ...]
    files: dict[str, TextIO]
    origin_ns: int | None = None
    average: _Window | None = None
    histogram: _Window | None = None
    rated: bool = False
    """Whether a line of rates was written."""

    def time_ms(self, instant_ns: int) -> int:
        return (instant_ns - (self.origin_ns or 0)) // 10**6


class FioLogs:
    """Writes the logs of a run's intervals while the run lasts; ``close`` ends them.

    A file that cannot be written does not stop the run: ``close`` raises the error as IogaugeError.
    """

    def __init__(self, jobs: JobFile, outputs: Mapping[str, Output]) -> None:
        """Open the logs. ``outputs`` is what ``claim`` returned for the jobs."""
        self._trouble: IogaugeError | None = None
        self._rows: dict[tuple[int, int], _WindowLogs] = {}
        self._files = ExitStack()
        self._open_files: dict[Output, TextIO] = {}
        for number, clone in enumerate(clones(jobs), 1):
            if clone.first:
                job = jobs.jobs[clone.job]
                files = {
                    name: self._open(outputs[name_of(name, job, number)]) for name in interval_names(job)
                }
                self._rows[clone.stage, clone.row] = _WindowLogs(
                    job,
                    tuple(direction for direction in DDIR if direction in job.directions),
                    {name: file for name, file in files.items() if name not in empty_names(job)},
                )

    def _open(self, output: Output) -> TextIO:
        """Return a log opened for writing; jobs without per_job_logs share one."""
        if output in self._open_files:
            return self._open_files[output]
        try:
            file = self._files.enter_context(output.stream())
        except IogaugeError:
            self._files.close()
            raise
        text = io.TextIOWrapper(file, encoding="ascii")
        self._files.callback(text.detach)  # flushes the text, and leaves closing the file to the output
        self._open_files[output] = text
        return text

    def interval(self, interval: Interval) -> None:
        """Add one interval, or one part of one, unless it is of the ramp."""
        row = self._rows.get((interval.stage, interval.row))
        if row is None or interval.ramp or self._trouble:
            return
        if row.origin_ns is None:
            row.origin_ns = interval.start_ns
        try:
            if row.job.log_avg_ns and _prefixes(row.job):
                row.average = self._enter(row, row.average, interval, row.job.log_avg_ns, self._averages)
                row.average.add(interval, _LATENCIES if row.job.write_lat_log is not None else ())
            if row.job.log_hist_ns and "clat_hist" in row.files:
                row.histogram = self._enter(
                    row, row.histogram, interval, row.job.log_hist_ns, self._histograms
                )
                row.histogram.add(interval, (Kind.CLAT,))
        except IogaugeError as error:
            self._trouble = error

    def _enter(
        self,
        row: _WindowLogs,
        window: _Window | None,
        interval: Interval,
        window_ns: int,
        write: Callable[[_WindowLogs, _Window], None],
    ) -> _Window:
        """Return the window of ``interval``; write the window before it if that has ended."""
        number = interval.start_ns // window_ns
        if window is not None and window.number != number:
            write(row, window)
            window = None
        return window or _Window(number)

    def _averages(self, row: _WindowLogs, window: _Window) -> None:
        time_ms = row.time_ms(window.end_ns)
        length_ns = max(window.end_ns - (window.start_ns or 0), 1)
        # A short last window cannot stand for a rate unless it is the only one. Its latencies are samples all the same.
        rated = length_ns >= _LEAST_SHARE * row.job.log_avg_ns or not row.rated
        row.rated = True
        for direction in row.directions:
            ios, moved = window.tallies.get(direction, (0, 0))
            means = (
                {"bw": moved * 10**9 // length_ns >> 10, "iops": ios * 10**9 // length_ns} if rated else {}
            )
            # A window is one sample of a rate, so its mean is its maximum.
            values = {name: (rate, rate) for name, rate in means.items()}
            for kind in _LATENCIES:
                parts = Histogram.merge(window.latencies.get((direction, kind), ()))
                if parts.exact is not None:
                    values[kind.value] = (round(parts.mean), parts.exact.max_ns)
            for name, value in values.items():
                if name in row.files:
                    logged = _WINDOW_VALUES[row.job.log_window_value](*value)
                    # Neither an offset nor a priority is that of a window.
                    offset, prio = ", 0" * row.job.log_offset, "0x0000" if row.job.log_prio else "0"
                    row.files[name].write(f"{time_ms}, {logged}, {DDIR[direction]}, 0{offset}, {prio}\n")

    def _histograms(self, row: _WindowLogs, window: _Window) -> None:
        time_ms = row.time_ms(window.end_ns)
        for direction in row.directions:
            parts = window.latencies.get((direction, Kind.CLAT), ())
            counts = buckets(Histogram.merge(parts), coarseness=row.job.log_hist_coarseness)
            size = getattr(row.job.bs, direction.value).maximum_bytes
            row.files["clat_hist"].write(
                f"{time_ms}, {DDIR[direction]}, {size}, {', '.join(map(str, counts))}\n"
            )

    def close(self) -> None:
        """Write the current windows and close the files.

        Raises IogaugeError if anything could not be written, now or earlier.
        """
        try:
            for row in self._rows.values():
                if row.average and not self._trouble:
                    self._averages(row, row.average)
                if row.histogram and not self._trouble:
                    self._histograms(row, row.histogram)
            self._files.close()
        except IogaugeError as error:
            self._trouble = self._trouble or error
        if trouble := self._trouble:
            raise IogaugeError(
                f"the job's logs are not complete: {trouble}",
                hint="free some space, or write the logs elsewhere",
            ) from trouble
