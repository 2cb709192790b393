"""Refuses jobs that write or trim before anything is opened: fio's ``--readonly``."""

from __future__ import annotations

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile
from iogauge.text.option import option


def refuse_writes(job_file: JobFile) -> None:
    """Raise IogaugeError if a job writes or trims, whatever its target."""
    for job in job_file.jobs:
        if job.rw.writes:
            raise IogaugeError(
                f"{job.name}: rw={job.rw} writes or trims, which {option('readonly', True)} refuses",
                hint=f"leave out {option('readonly', True)}, or run only the jobs that read: "
                f"{option('section', 'NAME')}",
            )
