"""Plans the stamp logs: one for each target, shared by the jobs that write to it.

A log judges its target only if it has every write to it.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile, StampLogPlan, WorkerPlan
from iogauge.target import is_model
from iogauge.text.option import call
from iogauge.workload import paths
from iogauge.workload.verification import SECTOR_BYTES, stamped_block_bytes

MOST_BLOCK_BYTES = 64 << 10
"""The largest block of a log. It is a power of two, so that every block is one, as atomic units are."""


@dataclass
class _TargetLog:
    """What the workers of a log have in common."""

    fd: int
    target: str
    block_bytes: int = 0
    regions: list[tuple[int, int]] = field(default_factory=list)


def stamp_logs(
    job_file: JobFile, stages: Sequence[Sequence[WorkerPlan]], logs: Mapping[str, int]
) -> tuple[tuple[StampLogPlan, ...], list[list[WorkerPlan]]]:
    """Return the stamp logs, and the workers of all stages with theirs.

    ``logs`` has a descriptor for each ``stamp_log``. Raises IogaugeError if a target has two logs or a log two targets,
    or something else writes to the target that the log does not have.
    """
    by_path: dict[str, _TargetLog] = {}
    stamped = [_stamped(workers, job_file, logs, by_path) for workers in stages]
    _refuse_unlogged(stamped, by_path)
    plans = tuple(
        StampLogPlan(
            path=path,
            fd=logs[path],
            run=secrets.randbits(64) or 1,
            block_bytes=log.block_bytes,
            start_bytes=min(start for start, _ in log.regions),
            end_bytes=max(end for _, end in log.regions),
        )
        for path, log in by_path.items()
    )
    return plans, stamped


def _stamped(
    workers: Sequence[WorkerPlan], job_file: JobFile, logs: Mapping[str, int], by_path: dict[str, _TargetLog]
) -> list[WorkerPlan]:
    planned = []
    for worker in workers:
        job = job_file.jobs[worker.job]
        if not job.stamps:
            planned.append(worker)
            continue
        path = job.stamp_log
        if path not in logs:
            raise IogaugeError(
                f"{job.name}: verify=stamp works only in a run, which keeps the stamp log",
                hint=f"use {call('run')}, or remove verify=stamp and stamp_log",
            )
        if len(worker.files) != 1:
            raise IogaugeError(
                f"{job.name}: verify=stamp takes one target, and this job has {len(worker.files)}",
                hint="write a job for each target, by filename and with its own stamp_log",
            )
        (file,) = worker.files
        log = by_path.setdefault(path, _TargetLog(file.fd, file.path))
        if log.fd != file.fd:
            raise IogaugeError(
                f"{job.name}: {path} is the log of {log.target}, and cannot be that of {file.path}",
                hint="give each target its own stamp_log",
            )
        start, end = file.region_offset_bytes, file.region_offset_bytes + file.region_bytes
        log.block_bytes = gcd(log.block_bytes, stamped_block_bytes(job), start, MOST_BLOCK_BYTES)
        if log.block_bytes % SECTOR_BYTES:
            raise IogaugeError(
                f"{job.name}: its writes are not whole sectors of {SECTOR_BYTES} bytes",
                hint=f"use offsets that are multiples of {SECTOR_BYTES}",
            )
        log.regions.append((start, end))
        planned.append(worker.model_copy(update={"stamp_log": list(by_path).index(path)}))
    return planned


def _refuse_unlogged(stages: Sequence[Sequence[WorkerPlan]], by_path: Mapping[str, _TargetLog]) -> None:
    """Raise IogaugeError if a target has two logs, or a worker writes to it without a log, at that time or later."""
    log_of: dict[int, str] = {}
    for path, log in by_path.items():
        first = log_of.setdefault(log.fd, path)
        if first != path:
            raise IogaugeError(
                f"{log.target}: has two stamp logs, {first} and {path}",
                hint="give its jobs one stamp_log, so that it has all writes",
            )
    stamped: set[int] = set()
    for workers in stages:
        stamped |= {worker.files[0].fd for worker in workers if worker.stamp_log is not None}
        for worker in workers:
            dry = worker.verify is not None and worker.verify.dry
            if worker.stamp_log is not None or not worker.pattern.rw.writes or dry:
                continue
            for file in worker.files:
                if file.fd in stamped:
                    raise IogaugeError(
                        f"{worker.name}: writes to {file.path} without stamps, which {log_of[file.fd]} would miss",
                        hint="add verify=stamp and the same stamp_log, or use another target",
                    )


def refuse_models(job_file: JobFile) -> None:
    """Raise IogaugeError if a job would stamp what it writes to a drive model, which holds no data."""
    for job in job_file.jobs:
        if job.stamps and any(is_model(path) for path in paths(job, 0)):
            raise IogaugeError(
                f"{job.name}: a drive model holds no data, and so no stamps",
                hint=f"serve the model as a drive: {call('serve_model')}",
            )
