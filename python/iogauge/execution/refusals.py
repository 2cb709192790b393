"""Refuses jobs before anything is opened: those that change a target (fio's ``--readonly``), those with commands."""

from __future__ import annotations

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile
from iogauge.text.option import option

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


def refuse_commands(jobs: JobFile) -> None:
    """Raise IogaugeError for a command that nobody has allowed."""
    for job in jobs.jobs:
        for name, when in _WHEN.items():
            if getattr(job, f"exec_{name}"):
                raise IogaugeError(
                    f"{job.name}: exec_{name} runs a command {when} the job, which nobody has allowed",
                    hint=f"read the command, then add {option('allow_exec', True)}",
                )
