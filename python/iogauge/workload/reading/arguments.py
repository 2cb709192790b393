"""Reads jobs from a command line, with fio's option names.

``--name=x`` begins a job. Options before the first job are defaults for all jobs and for the first job file; a
``--name`` that begins with ``global`` adds more defaults. The order of options does not matter. An option that needs a
value takes it after ``=`` or as the next argument. Every other argument is a job file; job files are read after the
jobs of the command line. The shell replaces variables. Unlike in fio, option names cannot be shortened.

Source: fio init.c (parse_cmd_line).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from iogauge.errors import UsageError
from iogauge.schema import JobFile
from iogauge.workload.problem import Place
from iogauge.workload.reading.builder import Builder, ParsedOption
from iogauge.workload.reading.ini import LARGEST_BYTES, Section, read_text, sections

_MOST = 10_000
"""The most arguments of a command line."""

SOURCE = "command line"
"""The name of a command line as the source of jobs."""


def job_file(arguments: Sequence[str], *, environ: Mapping[str, str], only: Collection[str] = ()) -> JobFile:
    """Return the jobs of a command line and of the job files that it names. ``only`` selects jobs by name.

    Raises ``IogaugeError``.
    """
    if len(arguments) > _MOST or sum(map(len, arguments)) > LARGEST_BYTES:
        raise UsageError(f"{SOURCE}: there are too many arguments", hint="write a job file")
    options, paths = _split_arguments(arguments)
    builder = Builder(source=SOURCE if options or len(paths) != 1 else paths[0], only=only)
    _add_jobs(builder, options)
    for index, name in enumerate(paths):
        if index:
            builder.forget_defaults()
        builder.add_file(_sections(name, only), environ=environ, stonewall=index > 0)
    if not paths and not any(option.name == "name" for option in options):
        raise UsageError(f"{SOURCE}: there is no job", hint="begin a job with --name=JOB, or name a job file")
    return builder.finish()


def job_files(arguments: Sequence[str]) -> list[str]:
    """Return the job files that a command line names. Raises ``IogaugeError``."""
    return _split_arguments(arguments)[1]


def _sections(name: str, only: Collection[str]) -> list[Section]:
    path = Path(name)
    return sections(read_text(path), source=name, base=path.parent, only=only)


def _split_arguments(arguments: Sequence[str]) -> tuple[list[ParsedOption], list[str]]:
    """Separate a command line into parsed options and job files."""
    options: list[ParsedOption] = []
    paths: list[str] = []
    at = 0
    while at < len(arguments):
        argument = arguments[at]
        at += 1
        if argument == "--":
            paths.extend(arguments[at:])
            break
        if not argument.startswith("-") or argument == "-":
            paths.append(argument)
            continue
        place = Place(f"argument {at}", is_argument=True)
        name, equals, value = argument.lstrip("-").partition("=")
        option = ParsedOption(name, value if equals else None, argument, place)
        if option.value is None and option.definition is not None and option.definition.kind.bare is None:
            if at == len(arguments):
                raise place.error(argument, "needs a value", hint=f"write {argument}=VALUE")
            option = ParsedOption(name, arguments[at], f"{argument} {arguments[at]}", place)
            at += 1
        if option.value is not None and ("\n" in option.value or "\0" in option.value):
            raise place.error(argument, "the value is not one line of text", hint="remove the line break")
        options.append(option)
    return options, paths


def _add_jobs(builder: Builder, options: Sequence[ParsedOption]) -> None:
    """Split the options at every ``--name``, and add each part as a job or as defaults."""
    starts = [index for index, option in enumerate(options) if option.name == "name"]
    ends = [*starts, len(options)]
    builder.add_defaults(options[: ends[0]])
    for start, end in pairwise(ends):
        first = options[start]
        name = first.value or ""
        if not name:
            raise first.place.error(first.text, "needs a value", hint="write --name=JOB")
        section = [
            ParsedOption(option.name, option.value, option.text, option.place.within(name))
            for option in options[start + 1 : end]
        ]
        if name.startswith("global"):
            builder.add_defaults(section)
        else:
            builder.add_job(name, section, first.place.within(name))
