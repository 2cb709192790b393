"""Saves how far the writes of a run came, for a later run that verifies them: fio's verify_state_save."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile, RunRecord
from iogauge.store import verify_state
from iogauge.store.outputs import Claims, Existing, Output
from iogauge.workload.clones import clones


def claim(jobs: JobFile, claims: Claims) -> dict[int, Output]:
    """Claim the file of each worker that saves its state, by the worker's number in the run. Raises IogaugeError."""
    outputs = {}
    for index, clone in enumerate(clones(jobs)):
        job = jobs.jobs[clone.job]
        if job.saves_state:
            path = verify_state.path_of(job.name, index)
            outputs[index] = claims.file(path, existing=Existing.REPLACE)
    return outputs


def write(record: RunRecord, outputs: Mapping[int, Output], *, say: Callable[[str], None]) -> None:
    """Write the states. A file that fails is only reported."""
    planned = [worker for stage in record.plan.stages for worker in stage.workers]
    for index, (plan, result) in enumerate(zip(planned, record.result.workers, strict=False)):
        if index in outputs and result.verify and result.verify.state:
            content = verify_state.encoded(
                result.verify.state, job=plan.name, index=index, files=len(plan.files)
            )
            try:
                outputs[index].write(content)
            except IogaugeError as error:
                say(f"{plan.name}: the verify state is not saved: {error}")
