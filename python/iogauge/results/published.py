"""What was published of the load that a step puts on a drive: the figures to lay beside its own.

A row of ``catalog.published`` says a pattern, a block size, a share of reads, threads and depth. A step's job file says
the same. Where all of it agrees, whichever suite the step is of, the row's figure and the step's are of the same load,
on other drives and machines: no more is claimed. Rows about ratios, saturation, power, or a load that they do not tell
in full ("up to") belong to no step; nor do rows that are only bounds or context.

Two readings. DiskSpd's "sequential" rows of Intel's guide carry ``-r``: they are random. And fio's published
percentiles were clat, where a step's figures are lat: at depth 1 the difference is the submission, about a
microsecond.

Source: the evaluations that the rows of ``published_points.csv`` name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from iogauge import workload
from iogauge.catalog.published import Point, points
from iogauge.errors import IogaugeError
from iogauge.results.figure import IOPS, MEAN, RATE, Figure
from iogauge.results.position import PositionKey
from iogauge.schema import Direction, Job, StepPlan, SuitePlan
from iogauge.text.numbers import block, counted

PUBLISHED = "published"
"""What the built-in review is called; ``published:NAME`` is that part of it whose drives' names have NAME in them."""

_SCALES = {"IOPS": 1.0, "MB/s": 1e6, "GB/s": 1e9, "us": 1e3}
_METRICS = {"iops": IOPS, "throughput": RATE, "lat_mean": MEAN}
_RANDOM = ("rand", "rand_mix", "rand_single_thread")


@dataclass(frozen=True)
class Load:
    """What a step asks of a drive, as far as publications tell it."""

    random: bool
    block_bytes: int
    read_percent: int
    threads: int
    depth: int
    """Of each thread."""

    def is_of(self, point: Point) -> bool:
        """Whether a published row is of this load."""
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
    """Return the load of a step; None where publications have no words for it.

    That is: several jobs at once, a rate, block sizes that vary, requests that are not aligned, writes that are
    flushed, or one direction of several that is judged.
    """
    try:
        jobs = workload.jobs_of(step).jobs
    except IogaugeError:
        return None  # of a review that says of itself what this iogauge cannot read
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


def published_rows(step: StepPlan, plan: SuitePlan) -> tuple[Figure, ...]:
    """Return what was published of a step's load, of whichever drive: values without intervals, in the file's order.

    ``drive`` is the published drive, with the machine and driver behind it where the source tells them.
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
        Figure(
            drive=drive_of(point),
            position=position,
            repeat=0,
            judged=plan.judged,
            metric=metric,
            value=value,
            source=point.source,
        )
        for point in _comparable()
        if load.is_of(point)
        for metric, value in (figure_of_point(point),)
    )


def is_published(name: str) -> bool:
    """Whether a review's name stands for the built-in one, or a part of it.

    >>> is_published("published"), is_published("published:p4800x"), is_published("./published")
    (True, True, False)
    """
    return name.partition(":")[0] == PUBLISHED


def parted(names: Iterable[str]) -> tuple[list[Path], list[str]]:
    """Return the saved reviews among ``names``, and the names of published ones.

    >>> parted(["saved", "published:p4800x"])
    ([PosixPath('saved')], ['published:p4800x'])
    """
    names = list(names)
    return [Path(name) for name in names if not is_published(name)], [*filter(is_published, names)]


def named_drives(names: Iterable[str]) -> frozenset[str]:
    """Return the published drives that ``names`` stand for, those among them that name published ones.

    Raises IogaugeError where a part has no drive.
    """
    drives: set[str] = set()
    for name in filter(is_published, names):
        wanted = name.partition(":")[2].lower()
        some = {drive for drive in published_drives() if wanted in drive.lower()}
        if not some:
            raise IogaugeError(
                f"{name}: no published drive has {wanted!r} in its name",
                hint="iogauge list --published has them",
            )
        drives |= some
    return frozenset(drives)


def source_text(source: str) -> str:
    """Return the name of a row's source, without its own mark and the host's details.

    >>> source_text("S4 AnandTech's review of the P4800X (page 3)")
    "AnandTech's review of the P4800X"
    """
    return re.sub(r"^S\d+ | \(.*", "", source)


def load_text(load: Load) -> str:
    """Return a load in a few words.

    >>> load_text(Load(random=True, block_bytes=4096, read_percent=70, threads=4, depth=4))
    '4 KiB random, 70 % reads, 4 threads at depth 4'
    """
    way = {100: "reads", 0: "writes"}.get(load.read_percent, f"{load.read_percent} % reads")
    order = "random" if load.random else "sequential"
    return (
        f"{block(load.block_bytes)} {order}, {way}, {counted(load.threads, 'thread')} at depth {load.depth}"
    )


def load_of_point(point: Point) -> Load | None:
    """Return the load that a row is of; None where it does not tell all of it.

    Where it tells no threads, their depth is that of all together, and is taken for one thread's.
    """
    random = _is_random(point)
    if random is None or point.block_bytes is None or point.read_percent is None or point.depth is None:
        return None
    return Load(random, point.block_bytes, point.read_percent, point.threads or 1, point.depth)


def figure_of_point(point: Point) -> tuple[str, float]:
    """Return which metric a row of ``published_drives`` is, and its value in the metric's unit."""
    metric = _metric(point)
    assert metric is not None, point
    return metric, point.value * _SCALES[point.unit]


def drive_of(point: Point) -> str:
    """Return what a row's drive is called here: by its host too, since one drive has rows of several."""
    return f"{point.drive} ({point.host})" if point.host else f"{point.drive} (specified)"


def drive_alone(name: str) -> str:
    """Return the drive in what ``drive_of`` calls a row's, without its host.

    >>> drive_alone("Samsung 960 EVO 250GB (specified)")
    'Samsung 960 EVO 250GB'
    """
    return name.rpartition(" (")[0]


def published_drives() -> dict[str, tuple[Point, ...]]:
    """Return the rows that can be laid beside a step, by drive.

    >>> [point.value for point in published_drives()["Samsung 960 EVO 250GB (specified)"]]
    [14000.0, 50000.0, 330000.0, 300000.0]
    """
    by_drive: dict[str, tuple[Point, ...]] = {}
    for point in _comparable():
        by_drive[drive_of(point)] = (*by_drive.get(drive_of(point), ()), point)
    return by_drive


def _comparable() -> Iterator[Point]:
    """Yield each row that tells a figure of a whole load."""
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
