"""A DiskSpd command line as the job of a run."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

from iogauge.errors import IogaugeError, UsageError
from iogauge.schema import JobFile
from iogauge.text.option import either, option


def diskspd_jobs(
    text: str,
    *,
    jobs: Sequence[object],
    section: Sequence[str],
    interval: float | str | None,
    say: Callable[[str], None],
) -> tuple[JobFile, float | str | None]:
    """Return the jobs of a DiskSpd command line, and the interval: ``interval``, or else that of its ``-D``.

    ``jobs`` and ``section`` are what the user named beside it. ``say`` is called with what has no meaning here. Raises
    UsageError where something is named beside it, and IogaugeError where it cannot be run.
    """
    from iogauge.workload.diskspd import arguments
    from iogauge.workload.diskspd import jobs as diskspd

    if jobs:
        inside = either(
            command="--diskspd '-b4k -r -d10 target.dat'", library="diskspd='-b4k -r -d10 target.dat'"
        )
        raise UsageError(
            f"{option('diskspd')} excludes other jobs: {jobs[0]}",
            hint=f"write targets and options of DiskSpd between the quotes: {inside}",
        )
    if section:
        named = either(command=f"--section={section[0]}", library=option("section", section[0]))
        raise UsageError(
            f"{named} needs a job file, and {option('diskspd')} has none",
            hint=f"leave {option('section')} out",
        )
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(
            f"{option('diskspd')}: {str(error).lower()}", hint="close the quotes inside it"
        ) from None
    command = arguments.read(words)
    job_file = diskspd.job_file(command, source="diskspd")
    for note in diskspd.notes_of(command):
        say(note)
    if interval is None and command.interval_ms:
        interval = f"{command.interval_ms}ms"
    return job_file, interval


def require_files(jobs: JobFile) -> None:
    """Raise IogaugeError if a file is missing or empty, and no -c says how large to make it.

    The run itself checks devices and drive models.
    """
    from iogauge.target import is_model

    for name in (name for job in jobs.jobs if job.size is None for name in job.filenames):
        path = Path(name)
        if is_model(name) or name.startswith("/dev/") or (path.exists() and not path.is_file()):
            continue
        if not path.exists() or path.stat().st_size == 0:
            problem = "the file is empty" if path.exists() else "no such file"
            raise IogaugeError(
                f"{name}: {problem}, and no -c says how large to make it",
                hint="check the path, or add the size to create: -c1G",
            )
