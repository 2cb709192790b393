"""Your own suite in a TOML file: a list of steps, and the job whose latency is judged.

A step is a few of fio's options or a job file. Steps cannot depend on earlier measurements; that takes a suite in
Python (``python_file.py``). Every step runs on the review's target, so one plan serves any target. A job file keeps its
own times and sizes; the review refuses one that names another target when it starts.

    name = "shallow-and-deep"
    measured_job = "load"
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

This module does not know fio's options: it makes job files, which are parsed like any others. Source: TOML 1.0; fio's
job files.
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
"""fio's options: numbers, strings, or true and false for 1 and 0."""


class TomlStep(Model):
    """One step: the ``options`` of one job, several ``jobs`` by name, or a job file."""

    at: FiniteFloat
    label: str = ""
    series: str = ""
    options: Options = Field(default_factory=dict)
    """Of all jobs of the step."""
    jobs: dict[Word, Options] = Field(default_factory=dict)
    """Sections by name; empty: one section, named after the measured job."""
    job_file: Path | None = None
    """Relative to the plan's directory."""
    state_group: str = ""
    purge: bool = False
    judged: bool = True

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if self.job_file is not None and (self.options or self.jobs):
            raise ValueError("a step with job_file cannot have options or jobs: write them into the job file")
        return self


class TomlPlan(Model):
    """The keys at the head of the file."""

    name: str
    title: str = ""
    source: str = ""
    axis: Axis = Axis(name="step", unit="step")
    measured_job: Word = "load"
    judged: str = "I/O"
    load_jobs: str | None = None
    targets: tuple[str, ...] = ()
    """Targets of a review whose command names none."""
    options: Options = Field(default_factory=dict)
    """Of every step without a job file."""
    step: Annotated[tuple[TomlStep, ...], Field(min_length=1)]


_KEYS = {
    "": tuple(TomlPlan.model_fields),
    "step": tuple(TomlStep.model_fields),
    "axis": tuple(Axis.model_fields),
}
"""The allowed keys of each table; the table "" is the head of the file."""


class TomlSuite(Suite):
    """The suite of one file; ``load`` makes a subclass for each file."""

    toml: TomlPlan
    folder: Path
    texts: Mapping[Path, str]
    """The job files' texts, as they were when the plan was loaded."""

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan the file's steps on the target.

        Raises IogaugeError: a step's job file is not valid, lacks the measured job, or names another target.
        """
        empty = self.empty(request)
        load = StepTemplate.of(empty)
        return empty.model_copy(
            update={
                "steps": tuple(
                    self._step(load, number, step) for number, step in enumerate(self.toml.step, 1)
                )
            }
        )

    def _step(self, load: StepTemplate, number: int, step: TomlStep) -> StepPlan:
        sections = step.jobs or {self.toml.measured_job: {}}
        jobs = {
            name: {
                option: int(value) if isinstance(value, bool) else value
                for option, value in {**self.toml.options, **step.options, **options}.items()
            }
            for name, options in sections.items()
        }
        planned = load.step(
            f"step-{number}",
            step.at,
            jobs,
            series=step.series,
            label=step.label,
            state_group=step.state_group,
            purge=step.purge,
            judged=step.judged,
        )
        if step.job_file:
            planned = planned.model_copy(update={"job_file": self._on_target(load, step.job_file)})
        parsed = workload.parse(planned.job_file, source=f"{self.origin}: step {number}")
        if self.toml.measured_job not in {job.name for job in parsed.jobs}:
            raise IogaugeError(
                f"{self.origin}: step {number} has no job {self.toml.measured_job!r}, whose latency is judged",
                hint="name the measured job at the head of the plan: measured_job = ...",
            )
        return planned

    def _on_target(self, load: StepTemplate, path: Path) -> str:
        """Return a job file's text for the review's target; a job without a size gets the review's size."""
        job_file = workload.parse(
            self.texts[path],
            source=str(self.folder / path),
            base=(self.folder / path).parent,
            environ={**os.environ, "TARGET": load.path},
        )
        if others := {name for job in job_file.jobs for name in job.filenames} - {load.path}:
            raise IogaugeError(
                f"{self.folder / path}: names {', '.join(sorted(others))}, but steps run on the review's target",
                hint="leave filename out, or write filename=${TARGET}",
            )
        size = Amount(size_bytes=load.size_bytes) if load.size_bytes else None
        jobs = tuple(
            job.model_copy(update={"filenames": (load.path,), "directory": (), "size": job.size or size})
            for job in job_file.jobs
        )
        return workload.to_fio(job_file.model_copy(update={"jobs": jobs}))


def load(path: Path, *, taken: Collection[str]) -> TomlSuite:
    """Read a plan and the job files that it names. ``taken``: names of other suites.

    Raises IogaugeError: there is no such file, or it is not a plan.
    """
    path = path.absolute()
    toml = _toml_plan(path)
    texts = {step.job_file: _text(path.parent / step.job_file) for step in toml.step if step.job_file}
    suite_class = type(
        "TomlSuite",
        (TomlSuite,),
        {
            "NAME": checked_name(toml.name, path, taken=taken),
            "TITLE": toml.title or toml.name,
            "SOURCE": toml.source or f"the plan {path.name}",
            "AXIS": toml.axis,
            "MEASURED_JOB": toml.measured_job,
            "JUDGED": toml.judged,
            "LOAD_JOBS": toml.load_jobs,
            "__doc__": TomlSuite.__doc__,
        },
    )
    suite: TomlSuite = suite_class()
    suite.origin, suite.targets = str(path), toml.targets
    suite.toml, suite.folder, suite.texts = toml, path.parent, texts
    return suite


def _toml_plan(path: Path) -> TomlPlan:
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
