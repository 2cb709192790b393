"""A whole write-pressure review of a made-up drive, saved by the real store: what charts and reports are tried on.

Reads wait for the drive alone or behind writes, the more often the harder it is pressed; figures are plausible for
a flash drive, the drives' names are not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from iogauge.schema import Direction, Interval, Job, JobFile, Rw, Tally
from iogauge.schema import Warning as Caution
from iogauge.stats.histogram import Histogram
from iogauge.store import Review
from tests import builders

PRESSURES_MBps = (100, 200, 300, 400, 500, 600, 700)
SECOND_NS = 10**9
BLOCK_BYTES = 8192


def job_file(at_MBps: float) -> str:
    """Return the step as a job file."""
    return (
        "[global]\nioengine=libaio\ndirect=1\nbs=8k\nnorandommap=1\ntime_based=1\nruntime=60\n"
        f"filename=/dev/nvme0n1\n\n[pressure]\nrw=randwrite\niodepth=8\nnumjobs=8\ngroup_reporting=1\n"
        f"rate=,{at_MBps * 1e6 / 8 / 1024:.0f}k\n\n[reader]\nstonewall=0\nnew_group=1\nrw=randread\niodepth=1\n"
    )


def save(
    path: Path,
    *,
    model: str = "Flash 9000",
    pressures_MBps: Sequence[float] = PRESSURES_MBps,
    seconds: int = 12,
    base_us: float = 85.0,
    slope: float = 1.0,
    limit_MBps: float = 640.0,
    reads_a_second: int = 2_000,
    silent: Collection[int] = (),
    missing: Collection[float] = (),
    seed: int = 1,
    cautions: Sequence[Caution] = (),
    job_text: str | None = None,
    **manifest: object,
) -> Review:
    """Save a review. ``silent`` seconds complete nothing; steps at ``missing`` pressures are planned, not run."""
    random = np.random.default_rng(seed)
    steps = tuple(
        builders.step(f"at-{at:04.0f}", at, job_file=job_text or job_file(at), seed=seed + place)
        for place, at in enumerate(pressures_MBps)
    )
    target = builders.target(
        "/dev/nvme0n1",
        kind="block",
        model=model,
        size_bytes=1_600_321_314_816,
        serial="S3E4",
        firmware="8DV1",
    )
    fields: dict[str, object] = {"target": target, "warnings": tuple(cautions), "seed": seed}
    review = Review.create(path, builders.manifest(steps, **(fields | manifest)))
    with review.lock():
        for step in steps:
            if step.at not in missing:
                _run(
                    review,
                    step.id,
                    step.at,
                    random,
                    target,
                    seconds,
                    base_us,
                    slope,
                    limit_MBps,
                    reads_a_second,
                    silent,
                )
    return review


def _run(
    review, step_id, at, random, target, seconds, base_us, slope, limit_MBps, reads_a_second, silent
) -> None:  # type: ignore[no-untyped-def]
    intervals: list[Interval] = []
    whole: list[Histogram] = []
    written = 0
    share = min(at, limit_MBps) / limit_MBps
    for second in range(seconds):
        quiet = second in silent
        count = 0 if quiet else max(int(random.normal(reads_a_second / (1 + 3 * slope * share), 20)), 10)
        lat_us = base_us * random.lognormal(0, 0.12, count)
        behind = random.random(count) < 0.02 + 0.5 * share**2 * slope
        lat_us = lat_us + behind * random.gamma(2, 260 * slope * (0.3 + share), count)
        lat_us = lat_us + (random.random(count) < 2e-4) * random.exponential(4000 * share, count)
        taken = Histogram.of((lat_us * 1000).astype(int))
        blocks = 0 if quiet else int(min(at, limit_MBps * random.normal(1, 0.01)) * 1e6 / BLOCK_BYTES)
        whole.append(taken)
        written += blocks
        read = builders.tally(dict(zip(taken.values.tolist(), taken.counts.tolist(), strict=True)))
        write = Tally(ios=blocks, bytes=blocks * BLOCK_BYTES)
        intervals += [
            builders.interval(second, {Direction.WRITE: write}, row=0),
            builders.interval(second, {Direction.READ: read}, row=1),
        ]
    total = Histogram.merge(whole)
    rows = (
        builders.row(
            "pressure",
            {Direction.WRITE: Tally(ios=written, bytes=written * BLOCK_BYTES)},
            index=0,
            end_ns=seconds * SECOND_NS,
        ),
        builders.row(
            "reader",
            {
                Direction.READ: builders.tally(
                    dict(zip(total.values.tolist(), total.counts.tolist(), strict=True))
                )
            },
            index=1,
            end_ns=seconds * SECOND_NS,
        ),
    )
    jobs = JobFile(
        jobs=(
            Job(name="pressure", rw=Rw.RANDWRITE, numjobs=8, iodepth=8),
            Job(name="reader", rw=Rw.RANDREAD),
        ),
        source=step_id,
        options=({}, {}),
    )
    with review.begin(step_id) as writer:
        for interval in intervals:
            writer.interval(interval)
        writer.finish(builders.record(rows, jobs=jobs, target_facts=target))
