"""A whole write-pressure review of a made-up drive, saved by the real store: what charts and reports are tried on.

Reads wait for the drive alone or behind writes, the more often the harder it is pressed; figures are plausible for
a flash drive, the drives' names are not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from iogauge.machine.judge import throttling
from iogauge.machine.samples.drive_reader import DriveReader
from iogauge.machine.samples.sampling import columns
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Direction, DriveSamples, Interval, Job, JobFile, Rw, StepPlan, Tally, TargetFacts
from iogauge.stats.histogram import Histogram
from iogauge.store import Review
from iogauge.suites import SUITES
from tests import builders
from tests.nvme_images import laptop

PRESSURES_MBps = (100, 200, 300, 400, 500, 600, 700)
SECOND_NS = 10**9
BLOCK_BYTES = 8192
JOBS = (Job(name="pressure", rw=Rw.RANDWRITE, numjobs=8, iodepth=8), Job(name="reader", rw=Rw.RANDREAD))


def concluded(review: Review, place: int = 0) -> SuiteResult:
    """Return what one of a review's suites shows, with what it concludes."""
    plan = review.manifest.plans[place]
    return SuiteResult(review, plan, conclude=SUITES[plan.suite].conclude)


@dataclass(frozen=True)
class Drive:
    """How a made-up drive answers. ``silent`` are the seconds of each step in which it does nothing at all.

    From ``throttled_from`` on, a second of each step, it answers a third of the reads. If ``sampled``, it says so,
    at 88 C, and that it is hot in the two seconds before.
    """

    model: str = "Flash 9000"
    base_us: float = 85.0
    slope: float = 1.0
    """How much writes slow reads down; 0: not at all."""
    limit_MBps: float = 640.0
    reads_a_second: int = 2_000
    seconds: int = 12
    silent: Collection[int] = ()
    throttled_from: int | None = None
    sampled: bool = False

    @property
    def target(self) -> TargetFacts:
        """The facts of this drive."""
        return builders.target(
            "/dev/nvme0n1",
            kind="block",
            model=self.model,
            size_bytes=1_600_321_314_816,
            serial="S3E4",
            firmware="8D",
        )

    def second(self, at_MBps: float, random: np.random.Generator) -> tuple[Histogram, int]:
        """Return one second's read latencies and how many blocks were written."""
        share = min(at_MBps, self.limit_MBps) / self.limit_MBps
        count = max(int(random.normal(self.reads_a_second / (1 + 3 * self.slope * share), 20)), 10)
        lat_us = self.base_us * random.lognormal(0, 0.12, count)
        behind = random.random(count) < share**2 * self.slope / 2 + 0.02
        lat_us += behind * random.gamma(2, 260 * self.slope * (0.3 + share), count)
        lat_us += (random.random(count) < 2e-4) * random.exponential(4000 * share, count)
        written_MBps = min(at_MBps, self.limit_MBps * random.normal(1, 0.01))
        return Histogram.of((lat_us * 1000).astype(int)), int(written_MBps * 1e6 / BLOCK_BYTES)


def job_file(at_MBps: float) -> str:
    """Return the step as a job file."""
    return (
        "[global]\nioengine=libaio\ndirect=1\nbs=8k\nnorandommap=1\ntime_based=1\nruntime=60\n"
        "filename=/dev/nvme0n1\ngroup_reporting=1\n\n"
        f"[pressure]\nrw=randwrite\niodepth=8\nnumjobs=8\nrate=,{at_MBps * 1e6 / 8 / 1024:.0f}k\n\n"
        "[reader]\nnew_group=1\nrw=randread\niodepth=1\n"
    )


def save(
    path: Path,
    drive: Drive = Drive(),
    *,
    pressures_MBps: Sequence[float] = PRESSURES_MBps,
    missing: Collection[float] = (),
    seed: int = 1,
    repeats: int = 1,
    job_text: str | None = None,
    **manifest: object,
) -> Review:
    """Save a review of ``drive``. Steps at ``missing`` pressures are planned, not run."""
    random = np.random.default_rng(seed)
    steps = tuple(
        builders.step(
            f"at-{at:04.0f}" + (f"-{repeat + 1}" if repeats > 1 else ""),
            at,
            job_file=job_text or job_file(at),
            seed=seed + place + repeat * len(pressures_MBps),
            repeat=repeat,
        )
        for repeat in range(repeats)
        for place, at in enumerate(pressures_MBps)
    )
    made = builders.manifest(steps, target=drive.target, seed=seed, repeats=repeats, **manifest)
    review = Review.create(path, made)
    with review.lock():
        for step in steps:
            if step.at not in missing:
                _run(review, step, drive, random)
    return review


def _run(review: Review, step: StepPlan, drive: Drive, random: np.random.Generator) -> None:
    intervals: list[Interval] = []
    reads, written = [], 0
    for second in range(drive.seconds):
        throttled = drive.throttled_from is not None and second >= drive.throttled_from
        now = replace(drive, reads_a_second=drive.reads_a_second // 3) if throttled else drive
        taken, blocks = now.second(step.at, random)
        if second in drive.silent:
            taken, blocks = Histogram.empty(), 0
        reads.append(taken)
        written += blocks
        intervals.append(builders.interval(second, {Direction.WRITE: _writes(blocks)}, row=0))
        intervals.append(builders.interval(second, {Direction.READ: _reads(taken)}, row=1))
    end_ns = drive.seconds * SECOND_NS
    rows = (
        builders.row("pressure", {Direction.WRITE: _writes(written)}, index=0, end_ns=end_ns),
        builders.row("reader", {Direction.READ: _reads(Histogram.merge(reads))}, index=1, end_ns=end_ns),
    )
    # Without pressure there are no jobs that press, as in the suite's first quick step.
    rows, jobs = (rows, JOBS) if step.at else (rows[1:], JOBS[1:])
    with review.begin(step.id) as writer:
        for interval in intervals:
            writer.interval(interval)
        file = JobFile(jobs=jobs, source=step.id, options=tuple({} for _ in jobs))
        drives = (_samples(drive),) if drive.sampled else ()
        said = tuple(throttling(drives))
        record = builders.record(
            rows, jobs=file, target_facts=drive.target, drive_samples=drives, warnings=said
        )
        writer.finish(record)


def _samples(drive: Drive) -> DriveSamples:
    """Return what the drive says: 60 C and warmer by a degree a second, hot from 85 C on; read as a real one is."""
    throttles = drive.seconds if drive.throttled_from is None else drive.throttled_from
    readings = []
    for second in range(drive.seconds + 1):
        hot_C = 86 if second > throttles - 2 else min(60 + second, 84)
        answers = laptop(
            temperature=273 + (88 if second > throttles else hot_C),
            thm_temp2_total_time=max(0, second - throttles),
        )
        reader = DriveReader("nvme0n1", answers)
        reader.identify()
        readings.append(reader.read())
    return DriveSamples(
        device=reader.device,
        warning_C=reader.warning_C,
        critical_C=reader.critical_C,
        before=readings[0],
        after=readings[-1],
        stage=(0,) * len(readings),
        at_ns=tuple(second * SECOND_NS - SECOND_NS // 100 for second in range(len(readings))),
        took_us=(90,) * len(readings),
        columns=columns(readings),
    )


def _reads(taken: Histogram) -> Tally:
    return builders.tally(dict(zip(taken.values.tolist(), taken.counts.tolist(), strict=True)))


def _writes(blocks: int) -> Tally:
    return Tally(ios=blocks, bytes=blocks * BLOCK_BYTES)
