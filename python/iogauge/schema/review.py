"""Reviews: their plans, targets and state."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, FiniteFloat

from iogauge.schema.base import SCHEMA_VERSION, Direction, Model, NonNegative, Positive, Quantile
from iogauge.schema.facts import (
    Ceiling,
    IdleState,
    MachineFacts,
    Notice,
    PurgeBy,
    State,
    TargetFacts,
    TargetState,
    WriteFingerprint,
)
from iogauge.schema.results import Kind
from iogauge.text.option import call


class Axis(Model):
    """The quantity that a suite's steps vary."""

    name: str
    unit: str


TABLE_ROWS = Axis(name="row of the table", unit="row")
"""The axis of a suite whose steps are the rows of a published table: their order has no meaning."""


class Rung(Model):
    """The settings of the machine with which a step runs."""

    name: str
    settings: dict[str, str | int] = Field(default_factory=dict)
    """Wanted values, by the id of the setting; empty: the machine as it is."""
    against: str = ""
    """Name of the rung with which it is compared; empty: it is compared with none."""
    published: str = ""
    """The host of the published figures of this rung; empty: there are none."""


class StepPlan(Model):
    """One run at one position on a suite's axis."""

    id: str
    """Unique in the review, usable as a file name."""
    series: str = ""
    """Name of the steps along the axis that belong together; empty: all do."""
    label: str = ""
    """Name of the step, if its position on the axis is not enough; empty: it is."""
    at: FiniteFloat
    job_file: str
    """The step as a fio job file, complete: what runs and what the report shows."""
    seed: NonNegative
    state_group: str
    """Steps whose drive state depends on earlier steps share a group; other steps have their own."""
    repeat: NonNegative = 0
    """The review's repeat to which it belongs, from 0."""
    purge: bool = False
    """Whether all content of its targets is discarded before it."""
    interval_ns: Positive = 10**9
    """Length of its run's intervals, if its jobs have no log_avg_msec."""
    longer: Positive = 1
    """Its length as a multiple of the planned one: it is lengthened to support the requested quantile."""
    short: str = ""
    """Why it does not support that quantile, known after it ran; empty: it does, or none was requested."""
    follows: bool = False
    """Whether it was planned from the results of other steps."""
    is_round: bool = False
    """Whether it is one of the rounds that repeat until they are steady."""
    judged: bool = True
    """False: it only brings the drive into a state, and its figures are not judged."""
    direction: Direction | None = None
    """The direction of the measured job that is judged; None: all that its pattern issues."""
    kind: Kind | None = None
    """The latency that is judged; None: the plan's."""
    rung: Rung | None = None
    """How the machine is set while it runs; None: the machine is left as it is."""
    power_ns: tuple[NonNegative, NonNegative] | None = None
    """The part of its run in which power is measured, from the run's start; None: power is not measured."""
    explained: bool = False
    """Whether its run says where the time of its requests went; only on drive models."""


class LatencyLimit(Model):
    """An upper limit of the measured job's latency."""

    text: str
    """As it was written: ``read.p99 < 1ms``."""
    direction: Direction | None = None
    """None: the requests of all directions."""
    quantile: Quantile | None = None
    """None: the mean."""
    at_most_ns: FiniteFloat

    @property
    def figure(self) -> str:
        """What it limits, as it was written: ``read.p99``."""
        return self.text.partition("<")[0].strip()


Over = Literal["rate", "depth", "jobs"]
"""What a search for the most load varies: requests a second, the depth of a job, or the number of jobs."""


class Goal(Model):
    """The most of what a search looks for, and the limits that it keeps."""

    quantity: Literal["iops", "bandwidth"] = "iops"
    over: Over = "rate"
    limits: tuple[LatencyLimit, ...]
    load: dict[str, str | int]
    """The options of the job, such as ``rw`` and ``bs``, with the ``numjobs`` and ``iodepth`` that stay the same."""
    precision: FiniteFloat
    """How close the loads around the limit have to be, as a share."""


class SuitePlan(Model):
    """A suite's steps on its targets, in the order in which they run, and what is judged from them."""

    key: str
    """Unique in the review; the ids of its steps begin with it."""
    suite: str
    title: str
    source: str
    targets: tuple[str, ...]
    """Paths of its targets, as the review names them."""
    compared_with: tuple[str, ...] = ()
    """Paths on which some steps run instead, for comparison with the targets."""
    axis: Axis
    measured_job: str
    """Name of the job whose latency is judged."""
    judged: str = "read"
    """What a request of that job is called."""
    kind: Kind = Kind.LAT
    """The latency that is judged."""
    load_jobs: str | None
    """Name of the jobs that load the drive beside it."""
    steps: tuple[StepPlan, ...]
    """Empty until ``search`` has run, if there is one."""
    search: StepPlan | None = None
    """A short run, saved beside the steps, whose result determines their positions on the axis."""
    size_bytes: NonNegative | None = None
    """How much of the target is used; None: all of it."""
    runtime_ns: NonNegative = 0
    """Measured part of a step."""
    ramp_ns: NonNegative = 0
    """Part of a step before it, not measured."""
    prepares: bool = False
    """Whether it preconditions its targets: it runs before the other plans."""
    idle_states: tuple[IdleState, ...] = ()
    """What its first target, the target's link and the CPUs declared when the review began, if the suite needs it."""
    shuffled: bool = False
    """Whether the steps of each series run in another random order in every repeat."""
    undisturbed: bool = False
    """Whether nothing but its own requests may reach its targets while it runs, not even a question for temperature."""
    overloads: bool = False
    """Whether some of its loads are more than a target serves, on purpose: their missed rates are no warnings."""
    meter: str | None = None
    """The shell command that prints watts; None: none was given."""
    goal: Goal | None = None
    """What its steps search for; None: they search for nothing."""
    one_load: bool = False
    """Whether all steps, with those that are planned later, issue the directions of the first."""
    notes: tuple[str, ...] = ()


Pace = Literal["quick", "standard", "full"]
"""Length of a suite's steps: seconds, half of the published procedure, or all of it."""


class Manifest(Model):
    """The manifest of a saved review."""

    schema_version: int = SCHEMA_VERSION
    """The version in which it was written; reading converts it to ``SCHEMA_VERSION``."""
    id: str
    created_at: str
    command: tuple[str, ...]
    seed: NonNegative
    """Of all random choices; the seed of each step follows from it."""
    order_seed: NonNegative | None = None
    """Of the order of the steps alone: what the hosts of a fleet have in common. None: it follows from ``seed``."""
    pace: Pace
    repeats: Positive = 1
    """How often every suite runs on its targets."""
    state: State = "as-is"
    purge_by: PurgeBy = "discard"
    drive_samples: bool = True
    """Whether the drives are sampled while steps run."""
    until_supported: Quantile | None = None
    """The quantile that steps are lengthened to support."""
    use: tuple[str, ...] = ()
    """The profiles that it was planned for, names or absolute paths of files; empty: its suites were named."""
    plans: tuple[SuitePlan, ...]
    """One for every suite and target, in the order in which the user named them."""
    targets: tuple[TargetFacts, ...]
    state_before: dict[str, TargetState] = Field(default_factory=dict)
    """State of every target when the review began, by its path; targets of unknown state are left out."""
    fingerprint_after: dict[str, WriteFingerprint] = Field(default_factory=dict)
    """State in which the review last left every target, by its path, if the target can show a change."""
    running_step: str | None = None
    """The step that runs now. In a saved review, it was killed in that step, and ``fingerprint_after`` is older."""
    machine: MachineFacts
    ceiling: Ceiling | None
    versions: dict[str, str]
    warnings: tuple[Notice, ...] = ()

    def target(self, path: str) -> TargetFacts:
        """Return the facts of one target. Raises KeyError if it is not one of the review."""
        return {target.path: target for target in self.targets}[path]

    @property
    def measured_by(self) -> str | None:
        """The other program that runs its steps; None: iogauge does."""
        return next((program for program in ("fio", "diskspd") if program in self.versions), None)

    def completed_by(self, path: str) -> str:
        """Return the command, or the call of the library, that resumes a review saved at ``path``."""
        return (
            call("import_results", "DIRECTORY", output=path)
            if self.measured_by
            else call("review", resume=path)
        )

    @property
    def steps(self) -> tuple[StepPlan, ...]:
        """The steps of all plans, plan by plan: not the order in which they run."""
        return tuple(step for plan in self.plans for step in plan.steps)
