"""Writes jobs as a job file or as a command line.

Reports show the job file, suites store it, and fio can run it. It has only the options that differ from fio's defaults,
and always rw, bs and ioengine, which every reader looks for. Parsing the text gives the same jobs. A job with a value
that cannot be written (a fraction of a percent; in a job file, a file name with ``;``) is an error.
"""

from __future__ import annotations

from collections.abc import Callable

from iogauge.errors import IogaugeError
from iogauge.schema import Job, JobFile
from iogauge.workload.options.kinds import one_line, plain
from iogauge.workload.options.table import OPTIONS
from iogauge.workload.problem import BadValue, shown
from iogauge.workload.reading.ini import LONGEST_NAME


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


def to_command(jobs: JobFile) -> list[str]:
    """Return the jobs as options of a command line, for iogauge or fio. Raises ``IogaugeError``.

    >>> to_command(JobFile(jobs=(Job(name="a;b", rw="randread"),), source="x", options=({},)))
    ['--name=a;b', '--rw=randread', '--bs=4k', '--ioengine=psync']
    """
    return [
        argument
        for job in jobs.jobs
        for argument in (f"--name={_name(job.name)}", *(f"--{line}" for line in lines(job)))
    ]


def lines(job: Job) -> list[str]:
    """Return the options of a job, each as ``name=value`` or as a bare name. Raises ``IogaugeError``."""
    written = []
    for option in OPTIONS:
        try:
            value = option.text(job)
        except BadValue as problem:
            raise IogaugeError(f"[{shown(job.name)}] {option.name}: {problem}", hint=problem.hint) from None
        if value is not None:
            written.append(f"{option.name}={value}" if value else option.name)
    return written


def _section(job: Job) -> str:
    written = [f"[{_section_name(job.name)}]"]
    for line in lines(job):
        try:
            written.append(plain(line))
        except BadValue as problem:
            option = line.partition("=")[0]
            raise IogaugeError(f"[{shown(job.name)}] {option}: {problem}", hint=problem.hint) from None
    return "\n".join(written) + "\n"


def _section_name(name: str) -> str:
    if len(name) > LONGEST_NAME:
        raise IogaugeError(
            f"the job name '{shown(name)}' is longer than {LONGEST_NAME} characters", hint="shorten the name"
        )
    return _name(name, allowed=plain)


def _name(name: str, *, allowed: Callable[[str], str] = one_line) -> str:
    try:
        allowed(name)
    except BadValue as problem:
        raise IogaugeError(f"the job name '{shown(name)}': {problem}", hint=problem.hint) from None
    if not name or name.startswith("global"):
        raise IogaugeError(f"'{shown(name)}' cannot name a job", hint="choose another name")
    return name
