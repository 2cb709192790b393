"""Defines the options of a job's files: how many, their names and sizes, and which one an I/O goes to.

Source: fio 3.33's options.c, init.c (make_filename), filesetup.c (setup_files), io_u.c (get_next_file).
"""

from __future__ import annotations

from dataclasses import replace

from iogauge.schema import Job
from iogauge.workload import numbers
from iogauge.workload.numbers import LARGEST
from iogauge.workload.options.entries import entry, never
from iogauge.workload.options.kinds import Kind, count, one_line
from iogauge.workload.options.option import Category, Option
from iogauge.workload.options.partial_job import MOST_FILES, PartialJob
from iogauge.workload.problem import BadValue

_ORDERS = ("roundrobin", "random", "sequential")
_SKEWED = ("zipf", "pareto", "normal", "gauss")

_Service = tuple[str, int]
"""Which file is next, and the I/Os in a row to it."""


def _read_format(text: str, _: int) -> str:
    if not text:
        raise BadValue("needs a value", hint="write one after '=', or remove the option")
    if "$clientuid" in text.lower():
        raise BadValue(
            "has $clientuid, but iogauge has no clients", hint="use $jobname, $jobnum and $filenum"
        )
    return text


def _read_service(text: str, _: int) -> _Service:
    word, colon, run = text.partition(":")
    if word in _SKEWED:
        raise BadValue(f"fio's '{word}' is not supported for files", hint=f"one of: {', '.join(_ORDERS)}")
    if word not in _ORDERS:
        raise BadValue("is not an order of files", hint=f"one of: {', '.join(_ORDERS)}")
    if word == "sequential":
        return word, 1
    return word, numbers.integer(run, minimum=1, maximum=2**31 - 1) if colon else 1


def _write_service(value: _Service) -> str:
    word, run = value
    return word if run == 1 else f"{word}:{run}"


def _store_service(partial: PartialJob, value: _Service) -> None:
    partial.values["file_service_type"], partial.values["file_service_run"] = value


def _service_text(job: Job) -> str | None:
    value = (job.file_service_type, job.file_service_run)
    return None if value == ("roundrobin", 1) else _write_service(value)


def _unless_named(option: Option) -> Option:
    """Return an option that is written only for jobs whose files have no names of their own."""
    return replace(option, text=lambda job: None if job.filenames else option.text(job))


FILES = (
    _unless_named(
        entry(
            "nrfiles",
            Category.TARGET,
            count(1, MOST_FILES),
            "1",
            "Number of files of each clone, unless filename names them. They share size equally.",
            aliases=("nr_files",),
        )
    ),
    _unless_named(
        entry(
            "filename_format",
            Category.TARGET,
            Kind(syntax="text", read=_read_format, write=one_line),
            "$jobname.$jobnum.$filenum",
            "Names of the files, unless filename names them. Without $jobnum, all clones use the same ones.",
        )
    ),
    entry(
        "filesize",
        Category.TARGET,
        count(1, LARGEST, unit="bytes"),
        "size / files",
        "Size of each file. size is then the number of bytes after which the job ends. fio's range of sizes is not "
        "supported.",
    ),
    Option(
        name="file_service_type",
        category=Category.TARGET,
        kind=Kind(syntax="roundrobin[:n]|random[:n]|sequential", read=_read_service, write=_write_service),
        default="roundrobin",
        help="Which file an I/O goes to: each in turn, one at random, or one until it is finished. `:n` is the number "
        "of I/Os in a row to one file.",
        store=_store_service,
        text=_service_text,
    ),
    Option(
        name="openfiles",
        category=Category.TARGET,
        kind=count(0, 2**32 - 1),
        default="0 (all)",
        help="Accepted if it is at least the number of files, or 0: all files stay open.",
        store=lambda partial, value: partial.values.update(openfiles=value),
        text=never,
    ),
)
"""All options of files, in the order of the reference."""
