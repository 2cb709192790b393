"""The loads behind the published figures, as job files in which ``{drive}`` stands for the target.

The number of I/Os of a load follows from its quantile: ``BEYOND`` samples lie beyond it. A ``ramp_time`` before the
measurement fills the queues.

Source: the evaluations that the rows of ``published_points.csv`` name.
"""

from __future__ import annotations

BEYOND = 20
FEWEST = 100_000
MOST = 50_000_000
SWEEP_IOS = 40_000
"""At each depth of a sweep: enough for rates and a p99."""
DEPTHS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 40, 48, 64)
"""Depths of the single-thread sweeps."""
MIXES = tuple(range(100, -1, -10))
"""Reads in percent."""
SATURATED = 0.95
"""A depth is saturated if it has this share of a sweep's highest throughput."""
WRITER_BPS = 100_000_000
"""The rate of each writer of ACT-1."""
KEPT = 0.99
"""A drive keeps up with its writers if it completes this share of their rate."""


def ios_for(quantile: float, *, most: int = MOST) -> int:
    """Return how many I/Os put ``BEYOND`` samples beyond a quantile, within bounds.

    >>> ios_for(0.5), ios_for(0.99999)
    (100000, 2000000)
    """
    return max(FEWEST, min(most, round(BEYOND / max(1 - quantile, 1e-12))))


def plain(
    rw: str,
    block_bytes: int,
    *,
    threads: int,
    depth: int,
    ios: int,
    polled: bool = False,
    read_percent: int = 100,
    more: str = "",
) -> str:
    """Return the job file of one job.

    ``ios`` is the number of I/Os of all threads together. ``polled`` issues one at a time, and the CPU polls for it.
    """
    engine = "ioengine=pvsync2\nhipri=1" if polled else "ioengine=libaio\niodepth_batch=1"
    return (
        f"[load]\nfilename={{drive}}\nrw={rw}\nbs={block_bytes}\nnumjobs={threads}\niodepth={depth}\n{engine}\n"
        f"direct=1\nnorandommap=1\nthread=1\ngroup_reporting=1\nnumber_ios={max(1, ios // threads)}\n"
        f"rwmixread={read_percent}\n{more}"
    )


def two_drives(*, ios: int) -> str:
    """Return random 4 KiB reads of two drives at once: 4 threads for each drive, at depth 8."""
    return (
        "[global]\nrw=randread\nbs=4096\nnumjobs=4\niodepth=8\nioengine=libaio\niodepth_batch=1\ndirect=1\n"
        f"norandommap=1\nthread=1\ngroup_reporting=1\nnumber_ios={ios // 4}\n"
        "[first]\nfilename={drive}\n[second]\nfilename={other}\n"
    )


def mix(read_percent: int, *, ios: int) -> str:
    """Return MIX-1 at one share of reads: 4 threads at depth 4, 4 KiB at random."""
    return plain("randrw", 4096, threads=4, depth=4, ios=ios, read_percent=read_percent)


def pressed(writers: int, *, seconds: float, block_bytes: int = 4096) -> str:
    """Return ACT-1: one reader and a number of writers, all at depth 1; each writer has its rate."""
    common = (
        f"[global]\nfilename={{drive}}\nbs={block_bytes}\niodepth=1\nioengine=libaio\ndirect=1\nnorandommap=1\n"
        f"thread=1\ntime_based=1\nruntime={round(seconds * 1000)}ms\nramp_time={round(seconds * 500)}ms\n"
        "group_reporting=1\n"
    )
    reader = "[reader]\nrw=randread\nnew_group=1\n"
    if not writers:
        return common + reader
    return f"{common}[writer]\nrw=randwrite\nnumjobs={writers}\nrate={WRITER_BPS}\n{reader}"


def staircase(at_MBps: int, *, seconds: float) -> str:
    """Return WP-1 at one write rate: a reader at depth 1 and eight writers at depth 8 that share the rate, 8 KiB."""
    common = (
        "[global]\nfilename={drive}\nbs=8k\nioengine=libaio\ndirect=1\nnorandommap=1\nthread=1\ntime_based=1\n"
        f"runtime={round(seconds * 1000)}ms\nramp_time={round(seconds * 500)}ms\ngroup_reporting=1\n"
    )
    return (
        f"{common}[pressure]\nrw=randwrite\niodepth=8\nnumjobs=8\nrate=,{at_MBps * 125}k\n"
        "[reader]\nrw=randread\niodepth=1\nnew_group=1\n"
    )
