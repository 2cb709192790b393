"""Reviews: what is planned, on what, and how far it has come."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, FiniteFloat

from iogauge.schema.base import SCHEMA_VERSION, Direction, Model, NonNegative, Positive, Quantile
from iogauge.schema.facts import Ceiling, MachineFacts, State, TargetFacts, TargetState, Trace, Warning  # noqa: A004
from iogauge.schema.results import Kind


class Axis(Model):
    """What a suite's steps vary."""

    name: str
    unit: str


class StepPlan(Model):
    """One run at one position on a suite's axis."""

    id: str
    """Unique in the review, usable as a file name."""
    series: str = ""
    """What this step has in common with others along the axis, in words; empty where all do."""
    label: str = ""
    """What this step is called where its place on the axis does not say it; empty: the place does."""
    at: FiniteFloat
    job_file: str
    """The step as a fio job file, complete: what runs and what the report shows."""
    seed: NonNegative
    state_group: str
    """Steps whose drive state depends on earlier ones share a group; each alone otherwise."""
    repeat: NonNegative = 0
    """Which of the review's repeats it belongs to, from 0."""
    purge: bool = False
    """Whether all that its targets hold is given back to them first."""
    interval_ns: Positive = 10**9
    """How long each of its run's intervals is, where its jobs' log_avg_msec do not say."""
    longer: Positive = 1
    """How many times as long as its suite planned it, so that its sample supports a quantile that was asked for."""
    short: str = ""
    """Why it does not support that quantile, known once it was run; empty: it does, or none was asked for."""
    follows: bool = False
    """Whether it was planned after others were measured, and because of what they showed."""
    is_round: bool = False
    """Whether it is one of the rounds that go on until they are steady."""
    judged: bool = True
    """False where it only brings the drive into a state: its figures are no finding."""
    direction: Direction | None = None
    """Of the judged job's requests, only these count; None: all that its pattern issues."""


class SuitePlan(Model):
    """A suite's steps on its targets in the order in which they run, and what is to be judged from them."""

    key: str
    """Unique in the review; the ids of its steps begin with it."""
    suite: str
    title: str
    source: str
    targets: tuple[str, ...]
    """Paths of what its steps run on, as the review has them."""
    beside: tuple[str, ...] = ()
    """Paths of what some steps run on instead, to compare the targets with."""
    axis: Axis
    reader: str
    """Name of the job whose latency is judged."""
    judged: str = "read"
    """What one of its requests is called."""
    kind: Kind = Kind.LAT
    """Which latency of it is judged."""
    pressure: str | None
    """Name of the jobs that press."""
    steps: tuple[StepPlan, ...]
    """Empty until ``search`` has been run, where there is one."""
    search: StepPlan | None = None
    """A short run, saved beside the steps, whose result their positions on the axis were chosen from."""
    size_bytes: NonNegative | None = None
    """How much of the target is used; None: all of it."""
    runtime_ns: NonNegative = 0
    """Measured part of each step."""
    ramp_ns: NonNegative = 0
    """What comes before it in each step, not measured."""
    prepares: bool = False
    """Whether it brings its targets into the state in which the others measure them: it runs before these."""
    notes: tuple[str, ...] = ()


Pace = Literal["quick", "standard", "full"]
"""How long the steps of a suite take: seconds, half of what was published, or as it was."""


class Manifest(Model):
    """What a saved review says of itself."""

    schema_version: int = SCHEMA_VERSION
    """The version that it was written in; it is read as ``SCHEMA_VERSION``."""
    id: str
    created_at: str
    command: tuple[str, ...]
    seed: NonNegative
    pace: Pace
    repeats: Positive = 1
    """How often every suite is conducted on its targets."""
    state: State = "as-is"
    until_supported: Quantile | None = None
    """The quantile that steps are made longer for."""
    plans: tuple[SuitePlan, ...]
    """One for each suite and target, in the order in which they were asked for."""
    targets: tuple[TargetFacts, ...]
    found: dict[str, TargetState] = Field(default_factory=dict)
    """State of each target when the review began, by its path; one of which nothing is known is left out."""
    left: dict[str, Trace] = Field(default_factory=dict)
    """How each target was left when the review last did something to it, by its path, where that can be known again."""
    under_way: str | None = None
    """The step that runs now on such targets: where a saved review has one it was killed, and ``left`` is older."""
    machine: MachineFacts
    ceiling: Ceiling | None
    versions: dict[str, str]
    warnings: tuple[Warning, ...] = ()

    def target(self, path: str) -> TargetFacts:
        """Return what is known of one of the targets. Raises KeyError: it is not of this review."""
        return {target.path: target for target in self.targets}[path]

    @property
    def measured_by(self) -> str | None:
        """The other program that runs its steps, or ran them; None: iogauge does."""
        return next((program for program in ("fio", "diskspd") if program in self.versions), None)

    def completed_by(self, path: str) -> str:
        """Return the command that goes on with a review which is saved at ``path``."""
        return (
            f"iogauge import DIRECTORY --output {path}"
            if self.measured_by
            else f"iogauge review --resume {path}"
        )

    @property
    def steps(self) -> tuple[StepPlan, ...]:
        """The steps of all plans, plan by plan: not the order in which they run."""
        return tuple(step for plan in self.plans for step in plan.steps)
