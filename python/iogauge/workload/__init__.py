"""Reads fio job files and command lines into ``schema.JobFile``, and writes them back.

>>> job_file = parse("[reader]\\nrw=randread\\nbs=8k\\nsize=1g\\n", source="example")
>>> job_file.jobs[0].rw, job_file.jobs[0].bs.read.minimum_bytes
(<Rw.RANDREAD: 'randread'>, 8192)

Where fio's code and manual disagree about a meaning or a default, the code counts. An option that only fio supports is
refused by name; no option is ever ignored. Every problem is an ``IogaugeError`` with the place, the section, the option
and a hint.

One table, ``OPTIONS``, defines every option: its names, kind of value, default and help. This package opens no target
and runs nothing.

Source: fio 3.33's HOWTO and code.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from iogauge.schema import JobFile, StepPlan
from iogauge.workload.options.table import BY_NAME, OPTIONS
from iogauge.workload.paths import driven_paths, paths
from iogauge.workload.reading import arguments as _arguments
from iogauge.workload.reading import ini
from iogauge.workload.reading.arguments import job_files
from iogauge.workload.reading.builder import Builder
from iogauge.workload.write import to_command, to_fio

__all__ = [
    "BY_NAME",
    "OPTIONS",
    "driven_paths",
    "from_arguments",
    "job_files",
    "jobs_of",
    "load",
    "parse",
    "paths",
    "to_command",
    "to_fio",
]


def load(path: Path | str, *, environ: Mapping[str, str] = os.environ) -> JobFile:
    """Read a job file. Raises ``IogaugeError``."""
    path = Path(path)
    return parse(ini.read_text(path), source=str(path), base=path.parent, environ=environ)


def parse(
    text: str,
    *,
    source: str,
    base: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    only: Collection[str] = (),
) -> JobFile:
    """Read the text of a job file. ``source`` names it in errors; ``base`` is where ``include`` looks for files.

    ``only`` names the jobs to read; empty: all. Raises ``IogaugeError``.
    """
    builder = Builder(source=source, only=only)
    builder.add_file(ini.sections(text, source=source, base=base, only=only), environ=environ)
    return builder.finish()


def jobs_of(step: StepPlan) -> JobFile:
    """Parse the job file of a planned step; the result is cached. Raises ``IogaugeError``."""
    return _planned_jobs(step.job_file, step.id)


@functools.lru_cache(maxsize=4096)
def _planned_jobs(text: str, step_id: str) -> JobFile:
    return parse(text, source=step_id)


def from_arguments(
    arguments: Sequence[str], *, environ: Mapping[str, str] = os.environ, only: Collection[str] = ()
) -> JobFile:
    """Read a command line: jobs as ``--name=x --rw=randread …``, and job files. Raises ``IogaugeError``.

    ``only`` names the jobs to read, as fio's --section does; empty: all.

    >>> jobs = from_arguments(["--bs=8k", "--name=a", "--rw=write", "--name", "b", "--iodepth=4", "--ioengine=null"])
    >>> [(job.name, job.bs.read.minimum_bytes, job.iodepth) for job in jobs.jobs]
    [('a', 8192, 1), ('b', 8192, 4)]
    """
    return _arguments.job_file(arguments, environ=environ, only=only)
