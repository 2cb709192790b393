"""Names the files that the clones of a job use.

If a job names no file, fio names them after the job, the clone and the number of the file, or as filename_format says.
A job that has the name of a block device uses that device instead.

Source: fio init.c (add_job, make_filename).
"""

from __future__ import annotations

import stat
from pathlib import Path

from iogauge.schema import EngineKind, Job, JobFile
from iogauge.workload.options.kinds import FILE_KEYWORDS


def paths(job: Job, clone: int) -> tuple[str, ...]:
    """Return the paths that clone number ``clone`` of a job uses, in order.

    >>> paths(Job(name="reader", directory=("/a", "/b")), 3)
    ('/b/reader.3.0',)
    >>> paths(Job(name="reader", nrfiles=2, filename_format="data.$filenum"), 2)
    ('data.0', 'data.1')
    """
    if job.filenames:
        return job.filenames
    prefix = f"{job.directory[clone % len(job.directory)]}/" if job.directory else ""
    if job.nrfiles == 1 and _is_device(job.name):
        return (prefix + job.name,)
    return tuple(prefix + _file_name(job, clone, number) for number in range(job.nrfiles))


def _file_name(job: Job, clone: int, number: int) -> str:
    values = {"jobname": job.name, "jobnum": str(clone), "filenum": str(number)}
    return FILE_KEYWORDS.sub(
        lambda keyword: values[keyword[1].lower()], job.filename_format or "$jobname.$jobnum.$filenum"
    )


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
