"""Names the files that the clones of a job use.

If a job names no file, fio names one after the job, the clone and the number of the file. A job that has the name of a
block device uses that device instead.

Source: fio init.c (add_job, make_filename).
"""

from __future__ import annotations

import stat
from pathlib import Path

from iogauge.schema import EngineKind, Job, JobFile


def paths(job: Job, clone: int) -> tuple[str, ...]:
    """Return the paths that clone number ``clone`` of a job uses, in order.

    >>> paths(Job(name="reader", directory="/mnt"), 2)
    ('/mnt/reader.2.0',)
    """
    if job.filenames:
        return job.filenames
    prefix = f"{job.directory}/" if job.directory else ""
    if _is_device(job.name):
        return (prefix + job.name,)
    return (f"{prefix}{job.name}.{clone}.0",)


def driven_paths(jobs: JobFile) -> list[str]:
    """Return every path that the jobs of a file drive, without duplicates. The null engine drives none."""
    driven = [job for job in jobs.jobs if job.ioengine is not EngineKind.NULL]
    return list(
        dict.fromkeys(path for job in driven for clone in range(job.numjobs) for path in paths(job, clone))
    )


def _is_device(name: str) -> bool:
    try:
        return stat.S_ISBLK(Path(name).stat().st_mode)
    except (OSError, ValueError):
        return False
