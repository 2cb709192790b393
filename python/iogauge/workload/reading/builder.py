"""Builds a ``JobFile`` from sections: reads the option of each line, and applies [global] sections to later jobs.

``Builder`` takes the jobs of a command line and the sections of files, one after the other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from iogauge.errors import IogaugeError, UsageError
from iogauge.schema import EngineKind, Job, JobFile
from iogauge.text.option import call, either
from iogauge.workload.options import known
from iogauge.workload.options.option import Option
from iogauge.workload.options.partial_job import PartialJob
from iogauge.workload.options.table import BY_NAME, MOST_JOBS
from iogauge.workload.problem import BadValue, Place, shown
from iogauge.workload.reading.ini import Line, Section
from iogauge.workload.reading.resolve import resolve
from iogauge.workload.reading.substitute import substitute
from iogauge.workload.stages import stages
from iogauge.workload.suggest import closest


@dataclass(frozen=True, slots=True)
class ParsedOption:
    """A line split into the name and the value of an option. ``value`` is None for a bare flag."""

    name: str
    value: str | None
    text: str
    place: Place

    @property
    def definition(self) -> Option | None:
        """The supported option with this name; None if there is none."""
        return BY_NAME.get(self.name)


def split_option(line: Line) -> ParsedOption:
    """Split an option line at its first '='."""
    name, equals, value = line.text.partition("=")
    return ParsedOption(name.rstrip(), value if equals else None, line.text, line.place)


class Builder:
    """Collects jobs in order, and the defaults that [global] sections give to the jobs after them.

    ``only`` names the jobs to collect; empty: all. As in fio, other jobs are skipped unread.
    """

    def __init__(self, *, source: str, only: Collection[str] = ()) -> None:
        self._source = source
        self._only = frozenset(only)
        self._names: list[str] = []
        self._defaults = PartialJob()
        self._jobs: list[Job] = []
        self._clones = 0
        self._options: list[dict[str, str]] = []

    def forget_defaults(self) -> None:
        """Begin another file: forget the defaults of earlier [global] sections."""
        self._defaults = PartialJob()

    def add_file(
        self, sections: Iterable[Section], *, environ: Mapping[str, str], stonewall: bool = False
    ) -> None:
        """Add the sections of a file. ``stonewall`` makes its first job wait for all earlier jobs."""
        for section in sections:
            if not section.is_global and self._skips(section.name):
                continue
            options = [split_option(_with_variables(line, environ)) for line in section.lines]
            if section.is_global:
                self.add_defaults(options)
            else:
                self.add_job(section.name, options, section.place, stonewall=stonewall, from_file=True)
                stonewall = False

    def add_defaults(self, options: Iterable[ParsedOption]) -> None:
        """Apply the lines of a [global] section."""
        _apply(self._defaults, options)
        self._defaults.values.pop("name", None)

    def add_job(
        self,
        name: str,
        options: Iterable[ParsedOption],
        place: Place,
        *,
        stonewall: bool = False,
        from_file: bool = False,
    ) -> None:
        """Add a job. ``from_file``: ``name`` is that of a section, after which fio names the files of the job."""
        if self._skips(name):
            return
        partial = self._defaults.child()
        partial.options.pop("name", None)
        if stonewall:
            partial.values["stonewall"] = True
        _apply(partial, options)
        renamed = partial.values.get("name", name)
        if from_file and renamed != name and not partial.values.get("filenames"):
            name_place, text = partial.places["name"]
            raise name_place.error(
                text,
                f"does not rename the files: fio still names them after [{shown(name)}]",
                hint="rename the section, or add filename",
            )
        job = resolve(partial, name=name, place=place)
        self._jobs.append(job)
        self._options.append(_in_effect(partial))
        self._clones += job.numjobs
        if self._clones > MOST_JOBS:
            raise place.error("", f"there are more than {MOST_JOBS} jobs", hint="lower numjobs")

    def _skips(self, name: str) -> bool:
        """Record the name of a job, and return whether ``only`` excludes it."""
        self._names.append(name)
        return bool(self._only) and name not in self._only

    def finish(self) -> JobFile:
        """Return the job file. Raises ``IogaugeError`` if it has no jobs, or lacks a job that ``only`` names."""
        for name in sorted(self._only.difference(self._names)):
            jobs = ", ".join(f"'{shown(job)}'" for job in dict.fromkeys(self._names)) or "none"
            raise UsageError(f"{self._source}: there is no job '{shown(name)}'", hint=f"its jobs: {jobs}")
        if not self._jobs:
            raise IogaugeError(f"{self._source}: there is no job", hint="add a section such as [job]")
        if any(job.exitall for job in self._jobs):
            # In fio the exitall of one job holds for all jobs of the process.
            self._jobs = [job.model_copy(update={"exitall": True}) for job in self._jobs]
        stages(self._jobs, source=self._source)
        return JobFile(
            jobs=tuple(self._jobs),
            source=self._source,
            options=tuple(self._options),
            global_options=dict(self._defaults.options),
        )


def _in_effect(partial: PartialJob) -> dict[str, str]:
    """Return the options of a job, without those of engines that it does not use."""
    engine_values = partial.engine_values.get(partial.engine, {})
    return {
        name: value
        for name, value in partial.options.items()
        if name in engine_values or name not in BY_NAME or not BY_NAME[name].engines
    }


def _with_variables(line: Line, environ: Mapping[str, str]) -> Line:
    try:
        return Line(substitute(line.text, environ), line.place)
    except BadValue as problem:
        if split_option(line).name in known.ALL:
            return line  # The option is refused by name later; that error says more than the unset variable.
        raise line.place.error(line.text, str(problem), hint=problem.hint) from None


def _apply(partial: PartialJob, options: Iterable[ParsedOption]) -> None:
    """Apply options to a job in fio's order: units first, file names late, engine options last."""
    for option in sorted(options, key=lambda option: option.definition.order if option.definition else 0):
        try:
            _read(partial, option)
        except BadValue as problem:
            raise option.place.error(option.text, str(problem), hint=problem.hint) from None


def _read(partial: PartialJob, option: ParsedOption) -> None:
    definition = option.definition
    if option.value is not None and option.value[:1].isspace():
        raise BadValue("has a blank after '=', which fio reads as part of the value", hint="remove the blank")
    if definition is None:
        _read_unsupported(partial, option)
        return
    if definition.name == "ioengine" and option.value is not None:
        _refuse_engine(option.value)
    if definition.engines and partial.engine not in definition.engines:
        engines = " or ".join(sorted(definition.engines))
        raise BadValue(
            f"is an option of ioengine={engines}, but this section has ioengine={partial.engine}",
            hint=f"set ioengine={engines} in the same section, or remove the option",
        )
    definition.store(partial, _value(definition, option, partial.kb_base))
    partial.note(definition.name, option.value or "", option.text, option.place)


def _value(definition: Option, option: ParsedOption, kb_base: int) -> Any:
    if option.value is not None:
        return definition.kind.read(option.value, kb_base)
    if definition.kind.bare is None:
        raise BadValue(
            "needs a value", hint=f"write {definition.name}={definition.kind.syntax.replace(chr(92), '')}"
        )
    return definition.kind.bare


def _read_unsupported(partial: PartialJob, option: ParsedOption) -> None:
    if option.name in known.AT_DEFAULT and option.value in known.AT_DEFAULT[option.name]:
        partial.note(option.name, option.value or "", option.text, option.place)
        return
    if option.name in known.ALL:
        accepted = known.AT_DEFAULT.get(option.name)
        support = f"supported only as {option.name}={min(accepted)}" if accepted else "not supported"
        raise BadValue(
            f"fio's {option.name} is {support}",
            hint=known.HINTS.get(option.name, "remove the option, or run the job with fio"),
        )
    if option.name in known.COMMANDS:
        raise BadValue(
            "is an option of fio's command line, not of a job",
            hint=either(
                command="see 'iogauge run --help'",
                library="leave it out, or use the argument of iogauge.run that does the same",
            ),
        )
    near = closest(option.name, [*BY_NAME, *known.ALL])
    raise BadValue(
        "is not an option",
        hint=f"did you mean '{near}'?" if near else f"supported options: {call('options')}",
    )


_ENGINES_HERE = f"engines: {', '.join(EngineKind)}"


def _refuse_engine(text: str) -> None:
    name = text.partition(":")[0]
    if name in known.ENGINES:
        raise BadValue(
            f"fio's engine {name} is not supported",
            hint=known.ENGINE_HINTS.get(name, _ENGINES_HERE),
        )
