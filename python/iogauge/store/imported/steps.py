"""The runs of other tools as data: what a result of fio or DiskSpd says, and nothing made up.

If a file has only percentiles, they are kept as published figures, with the bounds of the tool's buckets or digits. A
histogram is kept only if the file has the counts. An unknown value is None. Times are nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from iogauge.schema import Direction, Encoded, Exact, Interval, JobFile, Kind

Tool = Literal["fio", "diskspd"]


@dataclass(frozen=True, kw_only=True)
class PublishedQuantile:
    """One quantile as another tool published it. The sample of that rank lies in [``low_ns``, ``high_ns``]."""

    q: float
    """Fraction, in (0, 1)."""
    value_ns: float
    low_ns: float
    high_ns: float

    @property
    def exact(self) -> bool:
        """Whether the value is exact to the nanosecond."""
        return self.low_ns == self.high_ns


@dataclass(frozen=True, kw_only=True)
class ImportedLatency:
    """One kind of latency in one direction."""

    count: int
    """Samples."""
    mean_ns: float | None = None
    stddev_ns: float | None = None
    min_ns: float | None = None
    max_ns: float | None = None
    quantiles: tuple[PublishedQuantile, ...] = ()
    """Ascending, as the tool computed them."""
    histogram: Encoded | None = None
    """HdrHistogram V2; a sample counts at the middle of the tool's bucket."""

    @property
    def exact(self) -> Exact | None:
        """Exact count, sum and extremes; None if the tool did not report all of them.

        >>> ImportedLatency(count=2, mean_ns=1.5, min_ns=1.0, max_ns=2.0).exact.sum_ns
        3
        """
        if not self.count or self.mean_ns is None or self.min_ns is None or self.max_ns is None:
            return None
        return Exact(
            count=self.count,
            sum_ns=round(self.mean_ns * self.count),
            min_ns=round(self.min_ns),
            max_ns=round(self.max_ns),
        )


@dataclass(frozen=True, kw_only=True)
class ImportedFigures:
    """What one direction of a row did."""

    ios: int
    bytes: int
    iops: float
    rate_Bps: float
    short: int = 0
    latencies: dict[Kind, ImportedLatency] = field(default_factory=dict)
    """Lat counts from before a request is submitted, clat from after it. A kind that is missing was not measured."""

    @property
    def latency(self) -> ImportedLatency | None:
        """The service latency, or clat where it is all that there is: then a warning of the step says so."""
        return self.latencies.get(Kind.LAT) or self.latencies.get(Kind.CLAT)


@dataclass(frozen=True, kw_only=True)
class ImportedRow:
    """One line of results: a job or a group of them (fio), all threads or one thread on one target (DiskSpd)."""

    name: str
    duration_s: float
    figures: dict[Direction, ImportedFigures]
    """Only directions in which a request completed."""
    together: ImportedLatency | None = None
    """Reads and writes as one sample, if the tool reported it: it does not follow from their percentiles."""
    section: int = 0
    """Index of its job in the step's job file, if there is one."""
    user_percent: float | None = None
    """CPU time of its threads in percent of their time."""
    system_percent: float | None = None
    context_switches: int | None = None


@dataclass(frozen=True, kw_only=True)
class ImportedStep:
    """One run of another tool. ``source`` is the file that it was read from."""

    label: str
    tool: Tool
    version: str
    source: str
    rows: tuple[ImportedRow, ...]
    options: dict[str, str] = field(default_factory=dict)
    """The options of the run, in the tool's own words, as far as the file says."""
    command: str | None = None
    """DiskSpd's command line."""
    jobs: JobFile | None = None
    """The same as jobs; None: they are unknown or cannot be expressed, and a warning says why."""
    parts: tuple[ImportedRow, ...] = ()
    """DiskSpd: each thread on each target, with means alone."""
    intervals: tuple[Interval, ...] = ()
    """From log files beside it, or from the file itself: I/Os and bytes, and latencies where those were logged one by
    one or as histograms. Empty where I/Os and bytes are not both known."""
    started_at: str | None = None
    """UTC, ISO 8601."""
    warnings: tuple[str, ...] = ()
    """What limits the meaning of the figures, a sentence each."""
