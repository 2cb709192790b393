"""Published figures of the same load as a step's.

A row of ``catalog.published`` states a pattern, a block size, a share of reads, threads and depth; so does a step's job
file. If all of these agree, row and step have the same load, on different drives and machines; nothing more is claimed.
Rows about ratios, saturation or power match no step, nor do rows that state their load only in part ("up to"), and rows
that are only bounds or context.

Two caveats. The "sequential" DiskSpd rows of Intel's guide carry ``-r``, so they are random. fio's published
percentiles were clat, while a step's figures are lat: at depth 1 they differ by the submission, about a microsecond.

Source: the evaluations that the rows of ``published_points.csv`` name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from iogauge import workload
from iogauge.catalog.published import Point, points
from iogauge.errors import IogaugeError, UsageError
from iogauge.results.figures import IOPS, MEAN, RATE, PositionFigure, unit_of
from iogauge.results.position import PositionKey
from iogauge.schema import Direction, Job, StepPlan, SuitePlan
from iogauge.text.numbers import block, counted
from iogauge.text.option import call

PUBLISHED = "published"
"""Name of the built-in review of published figures; ``published:NAME`` selects drives with NAME in their names."""

_SCALES = {"IOPS": 1.0, "MB/s": 1e6, "GB/s": 1e9, "us": 1e3}
_METRICS = {"iops": IOPS, "throughput": RATE, "lat_mean": MEAN}
_RANDOM = ("rand", "rand_mix", "rand_single_thread")


@dataclass(frozen=True)
class Load:
    """The load of a step, in the terms that publications state."""

    random: bool
    block_bytes: int
    read_percent: int
    threads: int
    depth: int
    """Depth of each thread."""

    def matches(self, point: Point) -> bool:
        """Return whether a published row has this load."""
        random = _is_random(point)
        if random is None or point.depth is None:
            return False
        if (random, point.block_bytes, point.read_percent) != (
            self.random,
            self.block_bytes,
            self.read_percent,
        ):
            return False
        if point.threads is None:
            return point.depth == self.threads * self.depth
        return (point.threads, point.depth) == (self.threads, self.depth)


def load_of(step: StepPlan, plan: SuitePlan) -> Load | None:
    """Return the load of a step; None if publications cannot state it.

    These are steps with several jobs, a rate, pauses, varying block sizes, an offset, or flushed writes, and steps that
    judge one direction of several.
    """
    try:
        jobs = workload.jobs_of(step).jobs
    except IogaugeError:
        return None  # A newer iogauge wrote the review, with options that this one cannot parse.
    if len(jobs) != 1 or jobs[0].name != plan.measured_job or step.direction is not None:
        return None
    job = jobs[0]
    reads = _read_percent(job)
    sizes = {
        size
        for way in job.rw.directions
        for size in (getattr(job.bs, way).minimum_bytes, getattr(job.bs, way).maximum_bytes)
    }
    if reads is None or len(sizes) != 1 or _limited(job):
        return None
    return Load(job.rw.random, sizes.pop(), reads, job.numjobs, job.iodepth)


def published_rows(step: StepPlan, plan: SuitePlan) -> tuple[PositionFigure, ...]:
    """Return the published figures of a step's load, of all drives, in the file's order and without intervals.

    ``drive`` is the published drive, with machine and driver if the source states them.
    """
    load = load_of(step, plan)
    if load is None:
        return ()
    position = PositionKey(
        suite=plan.suite,
        series=step.series,
        label=step.label,
        at=step.at,
        axis=plan.axis.name,
        unit=plan.axis.unit,
    )
    return tuple(
        PositionFigure(
            drive=drive_of(point),
            position=position,
            repeat=0,
            judged=plan.judged,
            metric=metric,
            value=value,
            unit=unit_of(metric),
            source=point.source,
        )
        for point in _comparable()
        if load.matches(point)
        for metric, value in (figure_of_point(point),)
    )


def is_published(name: str) -> bool:
    """Return whether a review's name stands for the published figures, or some of them.

    >>> is_published("published"), is_published("published:p4800x"), is_published("./published")
    (True, True, False)
    """
    return name.partition(":")[0] == PUBLISHED


def split_names(names: Iterable[str]) -> tuple[list[Path], list[str]]:
    """Split names of reviews into paths of saved reviews and names of published ones.

    >>> split_names(["saved", "published:p4800x"])
    ([PosixPath('saved')], ['published:p4800x'])
    """
    names = list(names)
    return [Path(name) for name in names if not is_published(name)], [*filter(is_published, names)]


def named_drives(names: Iterable[str]) -> frozenset[str]:
    """Return the published drives that ``names`` select; names of saved reviews are ignored.

    Raises UsageError: a name selects no drive.
    """
    drives: set[str] = set()
    for name in filter(is_published, names):
        part = name.partition(":")[2].lower()
        matches = {drive for drive in published_drives() if part in drive.lower()}
        if not matches:
            raise UsageError(
                f"{name}: no published drive has {part!r} in its name",
                hint=f"{call('published')} has them",
            )
        drives |= matches
    return frozenset(drives)


def source_text(source: str) -> str:
    """Return the name of a row's source, without its number and details.

    >>> source_text("S4 AnandTech's review of the P4800X (page 3)")
    "AnandTech's review of the P4800X"
    """
    return re.sub(r"^S\d+ | \(.*", "", source)


def load_text(load: Load) -> str:
    """Describe a load in a few words.

    >>> load_text(Load(random=True, block_bytes=4096, read_percent=70, threads=4, depth=4))
    '4 KiB random, 70 % reads, 4 threads at depth 4'
    """
    way = {100: "reads", 0: "writes"}.get(load.read_percent, f"{load.read_percent} % reads")
    order = "random" if load.random else "sequential"
    return (
        f"{block(load.block_bytes)} {order}, {way}, {counted(load.threads, 'thread')} at depth {load.depth}"
    )


def load_of_point(point: Point) -> Load | None:
    """Return the load of a row; None if the row does not state all of it.

    A row without a number of threads states the depth of all threads together; it is treated as one thread's.
    """
    random = _is_random(point)
    if random is None or point.block_bytes is None or point.read_percent is None or point.depth is None:
        return None
    return Load(random, point.block_bytes, point.read_percent, point.threads or 1, point.depth)


def figure_of_point(point: Point) -> tuple[str, float]:
    """Return the metric of a row of ``published_drives``, and its value in the metric's unit."""
    metric = _metric(point)
    assert metric is not None, point
    return metric, point.value * _SCALES[point.unit]


def drive_of(point: Point) -> str:
    """Return the name of a row's drive with its host, since a drive may have rows from several hosts."""
    return f"{point.drive} ({point.host})" if point.host else f"{point.drive} (specified)"


def drive_alone(name: str) -> str:
    """Return the drive's name without the host that ``drive_of`` adds.

    >>> drive_alone("Samsung 960 EVO 250GB (specified)")
    'Samsung 960 EVO 250GB'
    """
    return name.rpartition(" (")[0]


def published_drives() -> dict[str, tuple[Point, ...]]:
    """Return the rows that can match a step, by drive.

    >>> [point.value for point in published_drives()["Samsung 960 EVO 250GB (specified)"]]
    [14000.0, 50000.0, 330000.0, 300000.0]
    """
    by_drive: dict[str, tuple[Point, ...]] = {}
    for point in _comparable():
        by_drive[drive_of(point)] = (*by_drive.get(drive_of(point), ()), point)
    return by_drive


def _comparable() -> Iterator[Point]:
    """Yield each row that states a figure and its complete load."""
    for point in points():
        if point.use == "fit" and point.unit in _SCALES and _metric(point) and load_of_point(point):
            yield point


def _metric(point: Point) -> str | None:
    if point.metric.startswith("lat_p"):
        return f"{point.metric.removeprefix('lat_')}_ns"
    return _METRICS.get(point.metric)


def _is_random(point: Point) -> bool | None:
    if point.workload == "seq":
        return point.host.startswith("windows")
    return True if point.workload in _RANDOM else None


def _read_percent(job: Job) -> int | None:
    ways = set(job.rw.directions)
    if ways == {Direction.READ}:
        return 100
    if ways == {Direction.WRITE}:
        return 0
    return round(job.rwmix_read_percent) if ways == {Direction.READ, Direction.WRITE} else None


def _limited(job: Job) -> bool:
    rates = [getattr(limit, way) for limit in (job.rate_Bps, job.rate_iops) for way in job.rw.directions]
    return any(rates) or bool(job.offset.size_bytes) or bool(job.thinktime_ns) or bool(job.fsync)
