"""``iogauge run --diskspd``: read the command line, and name the options that have no effect here."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from iogauge.cli.terminal import status, streams

if TYPE_CHECKING:
    from iogauge.schema import JobFile


def understood(
    text: str, jobs: Sequence[str], *, sections: Sequence[str], interval: str | None
) -> tuple[JobFile, str | None]:
    """Return the jobs of a DiskSpd command line, and the interval: ``interval``, or else that of its -D.

    Raises UsageError if there are jobs or ``sections`` too, IogaugeError if the command line cannot be run.
    """
    from iogauge.workload.diskspd import arguments
    from iogauge.workload.diskspd import jobs as diskspd_jobs

    if jobs:
        raise status.UsageError(
            f"--diskspd excludes other jobs: {jobs[0]}",
            hint="write targets and options of DiskSpd between the quotes: --diskspd '-b4k -r -d10 target.dat'",
        )
    if sections:
        raise status.UsageError(
            f"--section={sections[0]} needs a job file, and --diskspd has none",
            hint="leave --section out",
        )
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise status.UsageError(
            f"--diskspd: {str(error).lower()}", hint="close the quotes inside it"
        ) from None
    command = arguments.read(words)
    job_file = diskspd_jobs.job_file(command, source="diskspd")
    for note in diskspd_jobs.notes_of(command):
        streams.say(note)
    if interval is None and command.interval_ms:
        interval = f"{command.interval_ms}ms"
    return job_file, interval
