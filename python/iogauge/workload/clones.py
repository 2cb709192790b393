"""Lists the clones of the jobs of a job file in order, with the stage, group and reported row of each.

Source: fio 3.33's stonewall, new_group, numjobs and group_reporting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from iogauge.schema import JobFile
from iogauge.workload.stages import stages


@dataclass(frozen=True)
class Clone:
    """One clone of a job, which becomes a worker."""

    job: int
    """Index of its job in the file."""
    number: int
    """Its number among the clones of its job, from 0."""
    stage: int
    group: int
    row: int
    """The reported row that it belongs to."""
    first: bool
    """Whether it is the first clone of its row; fio names the row's logs after the first."""


def clones(job_file: JobFile) -> Iterator[Clone]:
    """Yield every clone of every job, in the order of the file.

    >>> from iogauge.workload import parse
    >>> jobs = parse("[a]\\nnumjobs=2\\ngroup_reporting\\nsize=1m\\n[b]\\nstonewall\\nsize=1m\\n", source="example")
    >>> [(clone.stage, clone.row, clone.first) for clone in clones(jobs)]
    [(0, 0, True), (0, 0, False), (1, 1, True)]
    """
    rows: dict[object, int] = {}
    group = 0
    for index, (job, stage) in enumerate(zip(job_file.jobs, stages(job_file.jobs), strict=True)):
        if index and (job.stonewall or job.new_group):
            group += 1
        for number in range(job.numjobs):
            key = (stage, "group", group) if job.group_reporting else (index, number)
            first = key not in rows
            row = rows.setdefault(key, len(rows))
            yield Clone(job=index, number=number, stage=stage, group=group, row=row, first=first)
