"""Defines the options of what ends a job and what it waits for: errors, other jobs.

Source: fio 3.33's options.c (str_ignore_error_cb), td_error.c, backend.c; libfio.c (fio_terminate_threads).
"""

from __future__ import annotations

import errno

from iogauge.schema import ContinueOnError, Job
from iogauge.workload import numbers
from iogauge.workload.options.entries import entry
from iogauge.workload.options.kinds import ONE_WAY_FLAG, TEXT, Kind, choice
from iogauge.workload.options.option import Category
from iogauge.workload.problem import BadValue

_Errors = tuple[tuple[int, ...], tuple[int, ...]]
"""Errors of reads, and of writes, trims and syncs."""

_LARGEST_ERRNO = 4_095
_VERIFY = 2
"""Index of the errors of fio's verify, which come after those of reads and of writes."""


def _read_errors(text: str, kb_base: int) -> _Errors:
    parts = text.split(",")
    if len(parts) > _VERIFY + 1:
        raise BadValue("has more than three lists", hint="give errors of reads, of writes and of verifying")
    if any(parts[_VERIFY:]):
        raise BadValue("has errors of verifying data, which are not supported", hint="give two lists")
    lists = [tuple(_error(name, kb_base) for name in part.split(":") if name) for part in parts]
    reads, writes = [*lists, ()][:2]
    if not reads and not writes:
        raise BadValue("names no error", hint="name one, such as EIO:ENOSPC")
    return reads, writes


def _error(name: str, kb_base: int) -> int:
    if name.startswith("E"):
        number = getattr(errno, name, None)
        if number is None:
            raise BadValue(f"'{name[:32]}' is not the name of an error", hint="errno(3) lists them")
        return int(number)
    return numbers.integer(name, minimum=1, maximum=_LARGEST_ERRNO, kb_base=kb_base)


def _write_errors(value: _Errors) -> str:
    def text(errors: tuple[int, ...]) -> str:
        return ":".join(errno.errorcode.get(number, str(number)) for number in errors)

    return ",".join(map(text, value if value[1] else value[:1]))


ENDINGS = (
    entry(
        "wait_for",
        Category.JOB,
        TEXT,
        "none",
        "Start after all clones of this earlier job have ended. startdelay counts from the start of the stage.",
    ),
    entry(
        "exec_prerun",
        Category.JOB,
        TEXT,
        "none",
        "Command that each clone runs before its stage begins; its output goes to JOB.prerun.txt. Needs --allow-exec.",
    ),
    entry(
        "exec_postrun",
        Category.JOB,
        TEXT,
        "none",
        "The same after the stage has ended; its output goes to JOB.postrun.txt.",
    ),
    entry(
        "exitall",
        Category.JOB,
        ONE_WAY_FLAG,
        "0",
        "End all jobs of the group when one ends. As in fio, the exitall of one job holds for all jobs.",
    ),
    entry(
        "exitall_on_error",
        Category.JOB,
        ONE_WAY_FLAG,
        "0",
        "The same if this job ends with an error.",
    ),
    entry(
        "exit_what",
        Category.JOB,
        choice({word: word for word in ("group", "stonewall", "all")}),
        "group",
        "Which jobs exitall and exitall_on_error end when this one ends: those of its group, all that run (and the "
        "next stonewall's begin), or all.",
    ),
    entry(
        "continue_on_error",
        Category.JOB,
        choice(
            {e.value: e for e in ContinueOnError} | {"0": ContinueOnError.NONE, "1": ContinueOnError.ALL},
        ),
        "none",
        "Failed I/Os that are counted and do not end the job.",
    ),
    entry(
        "ignore_error",
        Category.JOB,
        Kind(syntax="error[:error…][,…]", read=_read_errors, write=_write_errors),
        "EIO:EILSEQ of the directions that continue_on_error names",
        "Errors of reads, and after a comma of writes and trims, that are counted and do not end the job. Without a "
        "list for a direction, continue_on_error decides.",
    ),
)
"""All options of endings, in the order of the reference."""


def ignored(job: Job) -> tuple[bool, bool]:
    """Return whether errors of reads, and of writes, can be counted without ending the job."""
    forgiven = job.continue_on_error
    both = forgiven in (ContinueOnError.IO, ContinueOnError.ALL)
    reads, writes = job.ignore_error
    return (
        both or forgiven is ContinueOnError.READ or bool(reads),
        both or forgiven is ContinueOnError.WRITE or bool(writes),
    )
