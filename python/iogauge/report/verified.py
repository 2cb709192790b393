"""What the verification of a run's data found, and what the logs of its stamped writes hold, as sentences and JSON.

A drive model and the null engine check nothing, and have no sentence about what was found.
"""

from __future__ import annotations

from typing import Any

from iogauge.report.run.rows import rows
from iogauge.schema import Mismatch, RunRecord, StampLogResult, WorkerResult
from iogauge.text import numbers
from iogauge.text.option import call

CHECKSUM = "checksum of the data"
"""The field whose two values are both computed from the block: the checksum that it stores, and its data's."""


def checked(record: RunRecord) -> list[str]:
    """Return a line for each row that verified data: how many reads were checked, and how many were bad.

    Then a line for each stamp log: what it has, and the command that judges its target.
    """
    lines = []
    for row in rows(record):
        results = [worker.verify for worker in row.workers if worker.verify]
        requests, bad = sum(v.requests for v in results), sum(v.failed for v in results)
        if requests:
            lines.append(
                f"{row.name}: verified {numbers.counted(requests, 'read')}, {f'{bad:,}' if bad else 'none'} bad"
            )
    logs = enumerate(record.result.stamp_logs)
    return lines + [_logged(record, index, log) for index, log in logs if log.writes]


def _logged(record: RunRecord, index: int, log: StampLogResult) -> str:
    writes = numbers.counted(log.writes, "write")
    flushes = "1 flush" if log.flushes == 1 else f"{log.flushes:,} flushes"
    logged = f"{log.path} (incomplete)" if log.failure else log.path
    # A drive that fails requests may have lost its power.
    failed = record.result.error or any(worker.error for worker in record.result.workers)
    kept = {"after_crash": log.path} if failed else {"after_run": log.path}
    judging = call("verify", _stamped_target(record, index), **kept)
    return f"{logged} has {writes} and {flushes}; judge the target with {judging}"


def unread(record: RunRecord) -> list[str]:
    """Return a line for each worker that ended before it had read back all its writes."""
    return [
        f"{worker.name}: {numbers.counted(worker.verify.unread, 'write')} "
        f"{'was' if worker.verify.unread == 1 else 'were'} not read back: {_end(record, worker)}"
        for worker in record.result.workers
        if worker.verify and worker.verify.unread
    ]


def described(mismatch: Mismatch) -> str:
    """Return where a block is that does not hold what was written, and what is wrong with it."""
    if mismatch.field == CHECKSUM:
        what = f"the block stores {mismatch.expected}, its data has {mismatch.actual}"
    else:
        what = f"{mismatch.field} is {mismatch.actual}, expected {mismatch.expected}"
    return (
        f"{mismatch.path} does not hold what was written at offset {mismatch.offset_bytes}, "
        f"length {mismatch.length_bytes}: {what}"
    )


def mismatches(record: RunRecord) -> list[str]:
    """Return a line for each bad block that is described, and one for each worker that had more bad reads."""
    lines = []
    for worker in record.result.workers:
        if not worker.verify:
            continue
        lines += [f"{worker.name}: {described(mismatch)}" for mismatch in worker.verify.mismatches]
        reads = {(m.path, m.request_offset_bytes) for m in worker.verify.mismatches}
        if worker.verify.failed > len(reads):
            lines.append(
                f"{worker.name}: {worker.verify.failed:,} reads were bad; only the first "
                f"{numbers.counted(len(worker.verify.mismatches), 'bad block')} are described"
            )
    return lines


def hint(record: RunRecord) -> str:
    """Return why the first bad block may differ although nothing is damaged; empty if no such cause is known."""
    every = [m for worker in record.result.workers if worker.verify for m in worker.verify.mismatches]
    return _CAUSES.get(every[0].field, "") if every else ""


_CAUSES = {
    "length in the header": "the blocks were written with another verify_interval",
    "kind of checksum": "the blocks were written with another verify",
    "magic of the header": "the blocks were not written with verify, or by a newer fio",
    "trimmed block": "not every drive returns zeroes from trimmed blocks; trim_verify_zero=0 does not read them",
}


def as_json(record: RunRecord) -> list[dict[str, Any]]:
    """Return what each worker's verification found, without the content of blocks."""
    return [
        {
            "jobname": worker.name,
            **worker.verify.model_dump(mode="json", exclude={"mismatches", "state"}),
            "mismatches": [
                mismatch.model_dump(mode="json", exclude={"received", "written"})
                for mismatch in worker.verify.mismatches
            ],
        }
        for worker in record.result.workers
        if worker.verify
    ]


def logs_as_json(record: RunRecord) -> list[dict[str, Any]]:
    """Return what each stamp log has, and of which target."""
    return [
        {
            "target": _stamped_target(record, index),
            **log.model_dump(mode="json", exclude={"run"}),
            "run": f"{log.run:016x}",
        }
        for index, log in enumerate(record.result.stamp_logs)
    ]


def _stamped_target(record: RunRecord, index: int) -> str:
    workers = (worker for stage in record.plan.stages for worker in stage.workers)
    return next(worker.files[0].path for worker in workers if worker.stamp_log == index)


def _end(record: RunRecord, worker: WorkerResult) -> str:
    if worker.error:
        return "the job failed"
    if record.result.stopped_by:
        return f"the run was stopped ({record.result.stopped_by})"
    return "the job ended first"
