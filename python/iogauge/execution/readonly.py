"""Refuses jobs that write or trim before anything is opened: fio's ``--readonly``."""

from __future__ import annotations

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile


def refuse_writes(job_file: JobFile) -> None:
    """Raise IogaugeError if a job writes or trims, whatever its target."""
    for job in job_file.jobs:
        if job.rw.writes:
            raise IogaugeError(
                f"{job.name}: rw={job.rw} writes or trims, which --readonly refuses",
                hint="leave out --readonly, or run only the jobs that read: --section=NAME",
            )
