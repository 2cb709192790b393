"""A job file's text from jobs: what the report shows, what suites store for a step, and what fio can run.

Only what differs from fio's defaults is written, apart from rw, bs and ioengine, which every reader looks for.
Reading the text gives the same jobs again. Where a job says what no job file can say (a fraction of a percent, a
file name with ``;``), an error says so.
"""

from __future__ import annotations

from iogauge.errors import IogaugeError
from iogauge.schema import Job, JobFile
from iogauge.workload.kinds import plain
from iogauge.workload.options import OPTIONS
from iogauge.workload.problem import BadValue, shown


def to_fio(jobs: JobFile | Job) -> str:
    """Return the text of a job file that fio reads with the same meaning.

    >>> print(to_fio(Job(name="reader", rw="randread")))
    [reader]
    rw=randread
    bs=4k
    ioengine=psync
    <BLANKLINE>
    """
    if isinstance(jobs, Job):
        return _section(jobs)
    return "\n".join(_section(job) for job in jobs.jobs)


def _section(job: Job) -> str:
    lines = [f"[{_name(job.name)}]"]
    for option in OPTIONS:
        try:
            value = option.text(job)
        except BadValue as problem:
            raise IogaugeError(f"[{shown(job.name)}] {option.name}: {problem}", hint=problem.hint) from None
        if value is not None:
            lines.append(f"{option.name}={value}" if value else option.name)
    return "\n".join(lines) + "\n"


def _name(name: str) -> str:
    try:
        plain(name)
    except BadValue as problem:
        raise IogaugeError(f"the job name '{shown(name)}': {problem}", hint=problem.hint) from None
    if not name or name.startswith("global") or len(name) > 255:
        raise IogaugeError(f"the job name '{shown(name)}' cannot name a section", hint="choose another name")
    return name
