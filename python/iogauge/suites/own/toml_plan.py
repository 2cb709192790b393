"""A suite from a TOML file: a list of steps, each a few of fio's options or a job file, and what is judged of them.

For whoever wants several loads in one resumable, reportable review and has nothing to compute: what depends on what
was measured before takes Python (``python_file.py``). Every step runs on the review's target, so that one plan serves
any. A job file keeps its own times and sizes; one that names another target is refused when the review is begun.

    name = "shallow-and-deep"
    reader = "load"
    axis = { name = "queue depth", unit = "in flight" }

    [options]                # of every step
    rw = "randread"
    bs = "4k"

    [[step]]
    at = 1
    options = { iodepth = 1 }

    [[step]]
    at = 32
    job_file = "deep.fio"    # beside the plan

Does not know fio's options: the job files that come of it are parsed as any other. Source: TOML 1.0; fio's job files.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, FiniteFloat, ValidationError, model_validator

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.schema import Amount, Axis, Model, StepPlan, SuitePlan
from iogauge.suites.own import toml_problems
from iogauge.suites.own.python_file import checked_name
from iogauge.suites.suite import StepTemplate, Suite, SuiteRequest
from iogauge.workload.toml import load_toml

Word = Annotated[str, Field(pattern=r"^[\w.-]*[A-Za-z0-9]$")]
"""The name of a job or an option."""
Options = dict[Word, bool | int | float | Annotated[str, Field(pattern=r"^[^\n\r]*$")]]
"""fio's, as numbers, words, or true and false for 1 and 0."""


class TomlStep(Model):
    """One step: ``options`` of its one job, ``jobs`` by their names, or the path of a job file."""

    at: FiniteFloat
    label: str = ""
    series: str = ""
    options: Options = Field(default_factory=dict)
    """Of all jobs of the step."""
    jobs: dict[Word, Options] = Field(default_factory=dict)
    """Sections by name; empty: one, named as the plan's reader."""
    job_file: Path | None = None
    """Relative to the plan's directory."""
    state_group: str = ""
    purge: bool = False
    judged: bool = True

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if self.job_file is not None and (self.options or self.jobs):
            raise ValueError("job_file has options and jobs of its own: write them there, or leave it out")
        return self


class TomlPlan(Model):
    """All that the file may say."""

    name: str
    title: str = ""
    source: str = ""
    axis: Axis = Axis(name="step", unit="step")
    reader: Word = "load"
    judged: str = "I/O"
    pressure: str | None = None
    targets: tuple[str, ...] = ()
    """What a review measures where its command names no target."""
    options: Options = Field(default_factory=dict)
    """Of every step that is no job file."""
    step: Annotated[tuple[TomlStep, ...], Field(min_length=1)]


_KEYS = {
    "": tuple(TomlPlan.model_fields),
    "step": tuple(TomlStep.model_fields),
    "axis": tuple(Axis.model_fields),
}
"""What may stand in which table; empty: at the head of the file."""


class TomlSuite(Suite):
    """The suite of one file; ``load`` makes a subclass for each."""

    read: TomlPlan
    folder: Path
    texts: Mapping[Path, str]
    """What the job files said when the plan was loaded."""

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Return the file's steps, on the target.

        Raises IogaugeError: a step is no job file, lacks the judged job, or is about another target.
        """
        empty = self.empty(request)
        load = StepTemplate.of(empty)
        return empty.model_copy(
            update={
                "steps": tuple(self._step(load, place, step) for place, step in enumerate(self.read.step, 1))
            }
        )

    def _step(self, load: StepTemplate, place: int, step: TomlStep) -> StepPlan:
        own = step.jobs or {self.read.reader: {}}
        jobs = {
            name: {
                option: int(value) if isinstance(value, bool) else value
                for option, value in {**self.read.options, **step.options, **options}.items()
            }
            for name, options in own.items()
        }
        planned = load.step(
            f"step-{place}",
            step.at,
            jobs,
            series=step.series,
            label=step.label,
            state_group=step.state_group,
            purge=step.purge,
            judged=step.judged,
        )
        if step.job_file:
            planned = planned.model_copy(update={"job_file": self._written(load, step.job_file)})
        parsed = workload.parse(planned.job_file, source=f"{self.origin}: step {place}")
        if self.read.reader not in {job.name for job in parsed.jobs}:
            raise IogaugeError(
                f"{self.origin}: step {place} has no job {self.read.reader!r}, whose latency is to be judged",
                hint="name the judged job by reader, at the head of the plan",
            )
        return planned

    def _written(self, load: StepTemplate, path: Path) -> str:
        """Return a job file's jobs on the target; what it leaves open of size is the review's."""
        job_file = workload.parse(
            self.texts[path],
            source=str(self.folder / path),
            base=(self.folder / path).parent,
            environ={**os.environ, "TARGET": load.path},
        )
        if strange := {name for job in job_file.jobs for name in job.filenames} - {load.path}:
            raise IogaugeError(
                f"{self.folder / path}: names {', '.join(sorted(strange))}, and steps run on the review's target",
                hint="leave filename out, or write filename=${TARGET}",
            )
        size = Amount(size_bytes=load.size_bytes) if load.size_bytes else None
        jobs = tuple(
            job.model_copy(update={"filenames": (load.path,), "directory": "", "size": job.size or size})
            for job in job_file.jobs
        )
        return workload.to_fio(job_file.model_copy(update={"jobs": jobs}))


def load(path: Path, *, taken: Collection[str]) -> TomlSuite:
    """Read a plan and the job files that it names. ``taken``: names of other suites.

    Raises IogaugeError: there is no such file, or it is not a plan.
    """
    path = path.absolute()
    read = _read(path)
    texts = {step.job_file: _text(path.parent / step.job_file) for step in read.step if step.job_file}
    made = type(
        "TomlSuite",
        (TomlSuite,),
        {
            "NAME": checked_name(read.name, path, taken=taken),
            "TITLE": read.title or read.name,
            "SOURCE": read.source or f"the plan {path.name}",
            "AXIS": read.axis,
            "READER": read.reader,
            "JUDGED": read.judged,
            "PRESSURE": read.pressure,
            "__doc__": TomlSuite.__doc__,
        },
    )
    suite: TomlSuite = made()
    suite.origin, suite.targets = str(path), read.targets
    suite.read, suite.folder, suite.texts = read, path.parent, texts
    return suite


def _read(path: Path) -> TomlPlan:
    try:
        return TomlPlan.model_validate(load_toml(path))
    except ValidationError as error:
        problem, hint = toml_problems.explained(error.errors(), _KEYS)
        raise IogaugeError(f"{path}: {problem}", hint=hint) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise IogaugeError(f"{path}: no such file", hint="check the path") from None
    except (OSError, UnicodeDecodeError) as error:
        raise IogaugeError(f"{path}: cannot be read: {error}", hint="check the file") from None
