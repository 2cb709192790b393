"""Plans the verification of data, and refuses jobs that would find damage where there is none.

A block that two workers of a stage write holds what the last of them wrote, and no worker knows which. A block that one
worker reads back while another writes it has half of each. fio warns of the first case only, and then reports damage.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.schema import (
    ContinueOnError,
    Direction,
    EngineKind,
    FilePlan,
    Job,
    JobFile,
    VerifyPlan,
    VerifyTrims,
    WorkerPlan,
)
from iogauge.store import verify_state
from iogauge.target import is_model
from iogauge.workload.verification import interval_bytes

_THREADS = 2**16
"""Headers have 16 bits for the job's number."""


def verify_plan(job: Job, *, number: int) -> VerifyPlan | None:
    """Return how the ``number``-th worker of the run verifies data; None: not at all.

    Raises IogaugeError if the state that it should load cannot be read.
    """
    if job.verify is None or job.stamps:
        return None
    return VerifyPlan(
        checksum=job.verify,
        interval_bytes=interval_bytes(job),
        offset_bytes=job.verify_offset,
        pattern=tuple(bytes.fromhex(job.verify_pattern)),
        pattern_offsets=job.verify_pattern_offsets,
        pattern_interval_bytes=job.verify_pattern_interval,
        thread=number % _THREADS,
        reads_back=job.reads_back,
        dry=job.verify_only and Direction.WRITE in job.rw.directions,
        numbers=job.verify_write_sequence and not job.verify_only,
        backlog=job.verify_backlog,
        backlog_batch=job.verify_backlog_batch,
        trims=_trims(job),
        saves_state=job.saves_state,
        state=verify_state.load(job.name, number - 1) if job.verify_state_load else None,
        fatal=job.verify_fatal,
        dump=job.verify_dump,
        continues=job.continue_on_error in (ContinueOnError.VERIFY, ContinueOnError.ALL),
        threads=verify_threads(job),
    )


def verify_threads(job: Job) -> int:
    """Return how many threads check what each clone of a job reads; 0: it checks nothing, or does so itself."""
    reads = job.reads_back or (job.verify is not None and not job.rw.writes)
    return min(job.verify_async, job.iodepth) if reads and job.ioengine is not EngineKind.NULL else 0


def _trims(job: Job) -> VerifyTrims | None:
    if not job.trims_written:
        return None
    return VerifyTrims(
        percentage=job.trim_percentage,
        backlog=job.trim_backlog,
        batch=job.trim_backlog_batch or job.trim_backlog,
        reads_zeroes=job.trim_verify_zero,
    )


def say_what_is_unchecked(job_file: JobFile, paths: Collection[str], *, say: Callable[[str], None]) -> None:
    """Say which jobs read back data that cannot be checked: a drive model and the null engine hold none, as in fio."""
    modelled = any(is_model(path) for path in paths)
    for job in job_file.jobs:
        if job.verify is not None and (modelled or job.ioengine is EngineKind.NULL):
            what = "a drive model" if modelled else "the null engine"
            say(f"{job.name}: {what} holds no data: verify reads it back, and every block counts as verified")


def require_written(path: str, *, size_bytes: int) -> None:
    """Raise IogaugeError if a file that is only verified is missing or too short: filling it would look like damage."""
    if is_model(path):
        return
    try:
        state = Path(path).stat()
    except FileNotFoundError:
        why = "there is no such file"
    except OSError:
        return  # Opening it says why.
    else:
        if not stat.S_ISREG(state.st_mode) or state.st_size >= size_bytes:
            return
        why = f"the file has {state.st_size:,} of {size_bytes:,} bytes"
    raise IogaugeError(
        f"{path}: there is nothing to verify: {why}",
        hint="first run the job that writes it: the same options with rw=write or rw=randwrite, without verify_only",
    )


def refuse_shared(workers: Sequence[WorkerPlan]) -> None:
    """Raise IogaugeError if a worker verifies a region that another worker of the stage changes at the same time."""
    for number, reader in enumerate(workers):
        if not _verifies(reader):
            continue
        for other, writer in enumerate(workers):
            apart = other in reader.waits_for or number in writer.waits_for
            if writer is reader or apart or not _changes(writer):
                continue
            if shared := _shared(reader.files, writer.files):
                who = "its clones write" if writer.job == reader.job else f"{writer.name} writes"
                raise IogaugeError(
                    f"{reader.name}: {who} to the same part of {shared} that it verifies, at the same time, so that "
                    "its blocks would differ from what it wrote",
                    hint="give each its own region (offset, offset_increment, size) or file, raise iodepth instead of "
                    "numjobs, or use stonewall",
                )


def _verifies(worker: WorkerPlan) -> bool:
    """Whether it reads blocks and checks them."""
    if worker.verify is None:
        return False
    return worker.verify.reads_back or worker.pattern.rw.directions == {Direction.READ}


def _changes(worker: WorkerPlan) -> bool:
    return worker.pattern.rw.writes and not (worker.verify and worker.verify.dry)


def _shared(one: Sequence[FilePlan], other: Sequence[FilePlan]) -> str | None:
    """Return the path of a file that both use at the same place; None: there is none."""
    for first in one:
        for second in other:
            same = first.fd == second.fd and first.fd >= 0
            if same and _start(first) < _end(second) and _start(second) < _end(first):
                return first.path
    return None


def _start(file: FilePlan) -> int:
    return file.region_offset_bytes


def _end(file: FilePlan) -> int:
    return file.region_offset_bytes + file.region_bytes
