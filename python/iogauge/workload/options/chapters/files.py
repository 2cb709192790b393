"""Defines the options of a job's files: how many, their names and sizes, and which one an I/O goes to.

Source: fio 3.33's options.c, init.c (make_filename), filesetup.c (setup_files), io_u.c (get_next_file).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from iogauge.schema import Job, UniformDistribution
from iogauge.workload import numbers
from iogauge.workload.numbers import LARGEST
from iogauge.workload.options.entries import entry
from iogauge.workload.options.kinds import SWITCH, Kind, count, one_line
from iogauge.workload.options.option import Category, Option
from iogauge.workload.options.partial_job import MOST_FILES, PartialJob
from iogauge.workload.options.patterns import SKEWED, Skewed, distribution_text
from iogauge.workload.problem import BadValue

_ORDERS = ("roundrobin", "random", "sequential")

_Sizes = tuple[int, int | None]
"""The size of each file, or the ends of a range."""


class _Service(NamedTuple):
    """Which file is next."""

    order: str
    run: int = 1
    """I/Os in a row to it."""
    distribution: UniformDistribution | Skewed = UniformDistribution()


def _read_format(text: str, _: int) -> str:
    if not text:
        raise BadValue("needs a value", hint="write one after '=', or remove the option")
    if "$clientuid" in text.lower():
        raise BadValue(
            "has $clientuid, but iogauge has no clients", hint="use $jobname, $jobnum and $filenum"
        )
    return text


def _read_service(text: str, _: int) -> _Service:
    word, colon, rest = text.partition(":")
    word = "normal" if word == "gauss" else word
    if word in SKEWED:
        return _Service("random", distribution=SKEWED[word](rest if colon else None))
    if word not in _ORDERS:
        raise BadValue("is not an order of files", hint=f"one of: {', '.join((*_ORDERS, *SKEWED))}")
    if word == "sequential" or not colon:
        return _Service(word)
    return _Service(word, numbers.integer(rest, minimum=1, maximum=2**31 - 1))


def _write_service(value: _Service) -> str:
    if value.order == "random" and isinstance(value.distribution, Skewed):
        return distribution_text(value.distribution)
    return value.order if value.run == 1 else f"{value.order}:{value.run}"


def _store_service(partial: PartialJob, value: _Service) -> None:
    partial.values["file_service_type"], partial.values["file_service_run"] = value.order, value.run
    partial.values["file_service_distribution"] = value.distribution


def _service_text(job: Job) -> str | None:
    if (job.file_service_type, job.file_service_run) == ("roundrobin", 1):
        return None
    return _write_service(
        _Service(job.file_service_type, job.file_service_run, job.file_service_distribution)
    )


def _read_sizes(text: str, kb_base: int) -> _Sizes:
    one = count(1, LARGEST, unit="bytes")
    low, dash, high = text.partition("-") if not text.startswith("(") else (text, "", "")
    ends = one.read(low, kb_base), one.read(high, kb_base) if dash else None
    if ends[1] is not None and ends[1] < ends[0]:
        raise BadValue("is a range with the larger size first", hint="write the smaller size first")
    return ends[0], None if ends[1] == ends[0] else ends[1]


def _write_sizes(value: _Sizes) -> str:
    return "-".join(numbers.size_text(size) for size in value if size is not None)


def _store_sizes(partial: PartialJob, value: _Sizes) -> None:
    partial.values["filesize"], partial.values["filesize_most"] = value


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
    Option(
        name="filesize",
        category=Category.TARGET,
        kind=Kind(syntax="number[-number] (bytes)", read=_read_sizes, write=_write_sizes),
        default="size / files",
        help="Size of each file. size is then the number of bytes after which the job ends. With a range, each "
        "file's size is drawn from it, the same in every run.",
        store=_store_sizes,
        text=lambda job: _write_sizes((job.filesize, job.filesize_most)) if job.filesize else None,
    ),
    Option(
        name="file_service_type",
        category=Category.TARGET,
        kind=Kind(
            syntax="roundrobin[:n]|random[:n]|sequential|zipf[:theta]|pareto[:h]|normal[:deviation]",
            read=_read_service,
            write=_write_service,
        ),
        default="roundrobin",
        help="Which file an I/O goes to: each in turn, one at random, or one until it is finished. `:n` is the number "
        "of I/Os in a row to one file. zipf, pareto and normal pick some files more often than others; a file that is "
        "finished begins again. normal has a standard deviation of 8.3 % of the files; a value adds a uniform share of "
        "that many percent. `:center`, 0 to 1, may follow: where among the files the likeliest is.",
        store=_store_service,
        text=_service_text,
    ),
    entry(
        "create_only",
        Category.TARGET,
        SWITCH,
        "0",
        "Lay the files out, and issue nothing.",
    ),
    entry(
        "unlink",
        Category.TARGET,
        SWITCH,
        "0",
        "Remove the job's files when the run is over (in fio, when the job is). Only files that iogauge made, or that "
        "--destroy names, can be removed.",
    ),
    entry(
        "unlink_each_loop",
        Category.TARGET,
        SWITCH,
        "0",
        "Like unlink; an error in a job with loops.",
    ),
    entry(
        "openfiles",
        Category.TARGET,
        count(0, 2**32 - 1),
        "0 (all)",
        "Number of files that get I/Os at the same time: the next file begins when one of them is finished. Unlike "
        "fio, iogauge keeps all files open.",
    ),
)
"""All options of files, in the order of the reference."""
