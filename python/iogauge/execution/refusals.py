"""Refuses jobs before anything is opened: those that change a target (fio's ``--readonly``), and those with commands.

All commands before the run (exec_prerun) come before its first stage, all commands after it (exec_postrun) come after
its last one. So a job of a later stage cannot have the one, nor a job of an earlier stage the other.
"""

from __future__ import annotations

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile
from iogauge.text.option import option
from iogauge.workload.stages import stages

_WHEN = {"prerun": "before", "postrun": "after"}


def refuse_writes(job_file: JobFile) -> None:
    """Raise IogaugeError if a job writes, trims or removes its files, whatever its target."""
    for job in job_file.jobs:
        if job.changes_targets:
            raise IogaugeError(
                f"{job.name}: rw={job.rw} writes or trims, which {option('readonly', True)} refuses",
                hint=f"leave out {option('readonly', True)}, or run only the jobs that read: "
                f"{option('section', 'NAME')}",
            )
        if job.unlink or job.unlink_each_loop:
            raise IogaugeError(
                f"{job.name}: unlink removes the job's files, which {option('readonly', True)} refuses",
                hint=f"remove unlink, or leave out {option('readonly', True)}",
            )


def refuse_commands(jobs: JobFile, *, allowed: bool) -> None:
    """Raise IogaugeError for a command that may not be run, or cannot be run at its time."""
    of_jobs = stages(jobs.jobs)
    for job, stage in zip(jobs.jobs, of_jobs, strict=True):
        for name, when in _WHEN.items():
            if not getattr(job, f"exec_{name}"):
                continue
            if not allowed:
                raise IogaugeError(
                    f"{job.name}: exec_{name} runs a command {when} the job, which nobody has allowed",
                    hint=f"read the command, then add {option('allow_exec', True)}",
                )
            if stage != (of_jobs[0] if name == "prerun" else of_jobs[-1]):
                raise IogaugeError(
                    f"{job.name}: exec_{name} is supported only for jobs that {_edge(name)}",
                    hint="run the job by itself, or remove it",
                )


def _edge(name: str) -> str:
    return "begin with the run" if name == "prerun" else "run until its end"
