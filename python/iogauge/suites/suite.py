"""The base class of suites: a suite plans steps and draws conclusions from their results.

A suite touches no drive, no file and no clock, so it can plan and judge on any machine. ``reviews.runner`` runs its
steps and the store holds their results. Judging reads the store alone, so newer code can judge an old review again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from iogauge.catalog.ladders import Ladder
from iogauge.catalog.published import Point
from iogauge.catalog.state import MEANING
from iogauge.errors import IogaugeError
from iogauge.machine.idle_states import Declared
from iogauge.results.conclusions import Conclusions
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import (
    Axis,
    BegunAs,
    Direction,
    Goal,
    Kind,
    Manifest,
    Pace,
    PurgeBy,
    Rung,
    RunRecord,
    State,
    StepPlan,
    SuitePlan,
    TargetFacts,
)
from iogauge.store import Review
from iogauge.target.layers import Layer
from iogauge.target.media import media_of
from iogauge.text.option import call
from iogauge.workload.numbers import SECOND, size_text
from iogauge.workload.options.patterns import file_text

__all__ = ["Ahead", "Axis", "LadderRequest", "Pace", "StepTemplate", "Suite", "SuiteRequest"]


@dataclass(frozen=True, kw_only=True)
class LadderRequest:
    """Which tunings of the machine a suite with ``TUNES`` compares."""

    ladder: Ladder
    one_at_a_time: bool = False
    """Whether each rung has its own settings alone, instead of those of the rungs below it too."""
    reads_only: bool = False
    """Whether nothing is written to the target."""
    missing: Mapping[str, str] = field(default_factory=dict)
    """Why this machine cannot do a rung, by its name."""


@dataclass(frozen=True, kw_only=True)
class SuiteRequest:
    """What a user requests of one suite."""

    targets: tuple[TargetFacts, ...]
    """One target, unless the suite runs on several at once."""
    pace: Pace
    state: State = "as-is"
    purge_by: PurgeBy = "discard"
    size_bytes: int | None = None
    """How much of each target to use; None: the suite chooses. Positive."""
    runtime_ns: int | None = None
    """Measured part of a step; None: the suite chooses. Positive."""
    layers: tuple[Layer, ...] = ()
    """Block devices to compare the first target with, for a suite with ``LAYERS``."""
    idle_states: Declared | None = None
    """What the first target declares, for a suite with ``IDLE_STATES``; None: nothing was looked at."""
    ladder: LadderRequest | None = None
    """The tunings of the machine, for a suite with ``TUNES``; None: those that it usually compares."""
    meter: str | None = None
    """A shell command that prints watts, for a suite with ``METERED``; None: there is none."""
    goal: Goal | None = None
    """What the suite ``find`` searches for; None: its usual goal."""
    reads_only: str = ""
    """Why nothing may be written to the targets, for a suite whose reading part makes sense alone; empty: it may."""

    @classmethod
    def of(cls, manifest: Manifest, plan: SuitePlan) -> SuiteRequest:
        """Return the request that a saved review was planned from."""
        return cls(
            targets=tuple(manifest.target(path) for path in plan.targets),
            pace=manifest.pace,
            state=manifest.state,
            purge_by=manifest.purge_by,
            size_bytes=plan.size_bytes,
            runtime_ns=plan.runtime_ns,
            goal=plan.goal,
        )

    @property
    def target(self) -> TargetFacts:
        """The first of the targets."""
        return self.targets[0]


@dataclass(frozen=True)
class Ahead:
    """Estimates of the steps that a suite will plan after it has measured others; they are never run.

    They bound a review's time and writes. Their jobs are the heaviest possible, since the real load may depend on
    measurements.
    """

    least: tuple[StepPlan, ...] = ()
    """The steps that follow in any case."""
    most: tuple[StepPlan, ...] = ()
    """All steps that may follow, ``least`` included."""
    likely: tuple[StepPlan, ...] = ()
    """The steps that usually follow; if empty, ``least``."""
    load: float = 1.0
    """The usual mean load of the ``likely`` steps, as a share of the load that they have here."""


class Suite(ABC):
    """One published procedure, in its own module. It is stateless: its methods take everything they need."""

    NAME: ClassVar[str]
    """The name for ``--suite``: lower-case words joined by hyphens."""
    TITLE: ClassVar[str]
    SOURCE: ClassVar[str]
    """Where the procedure was published."""
    AXIS: ClassVar[Axis]
    """The quantity that varies from step to step."""
    MEASURED_JOB: ClassVar[str]
    """Name of the job whose latency is judged."""
    JUDGED: ClassVar[str] = "read"
    """The noun for one of that job's requests."""
    LOAD_JOBS: ClassVar[str | None] = None
    """Name of the jobs that load the drive meanwhile."""
    OWN_STATE: ClassVar[bool] = False
    """Whether its own steps bring the drive into the state that they measure."""
    TOGETHER: ClassVar[bool] = False
    """Whether it runs on all targets of a review at once, instead of one after the other."""
    FEWEST_TARGETS: ClassVar[int] = 1
    """The fewest targets of a suite with ``TOGETHER``."""
    LAYERS: ClassVar[bool] = False
    """Whether it compares its target with the layers above and below it."""
    IDLE_STATES: ClassVar[bool] = False
    """Whether its plan keeps the idle states that its target declares."""
    TUNES: ClassVar[bool] = False
    """Whether its steps run with other settings of the machine."""
    SHUFFLED: ClassVar[bool] = False
    """Whether the steps of each series run in another random order in every repeat."""
    OVERLOADS: ClassVar[bool] = False
    """Whether some of its loads are more than a target serves, on purpose."""
    UNDISTURBED: ClassVar[bool] = False
    """Whether nothing but its own requests may reach its targets while it runs."""
    METERED: ClassVar[bool] = False
    """Whether it measures power."""
    KIND: ClassVar[Kind] = Kind.LAT
    """Which latency is judged."""
    QUANTILES: ClassVar[tuple[float, ...]] = (0.5, 0.99, 0.999, 0.9999, 0.99999)
    """Quantiles that are judged besides the mean."""
    FILE_BYTES: ClassVar[Mapping[Pace, int]] = {"quick": 1 << 30, "standard": 4 << 30, "full": 16 << 30}
    """Size of a target file, unless the user gives one. A suite uses all of a block device."""
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 3 * SECOND,
        "standard": 20 * SECOND,
        "full": 60 * SECOND,
    }
    """Measured part of a step."""
    MODELLED_NS: ClassVar[int] = 5 * SECOND
    """The most virtual time of a step on a drive model, which needs no warm-up: its runs start in steady state."""
    RAMP_NS: ClassVar[Mapping[Pace, int]] = {"quick": SECOND // 2, "standard": SECOND // 2, "full": 0}
    """Ramp before the measured part, and never longer than it; at full pace as in the source."""

    targets: tuple[str, ...] = ()
    """Targets of a review whose command names none."""
    origin: str | None = None
    """Absolute path of the file that defines it; None: it is built in."""

    @abstractmethod
    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan the steps of one repeat, or only a search if the steps depend on what the target can do.

        Step ids are unique within the suite, and seeds are 0; ``reviews.ordering`` assigns the review's ids and seeds.
        """

    def refine(self, plan: SuitePlan, search: RunRecord, request: SuiteRequest) -> SuitePlan:
        """Return the plan with the steps of one repeat that follow from its search."""
        raise NotImplementedError(f"{self.NAME} plans no search")

    def more(self, _plan: SuitePlan, _review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """Return further steps that follow from the complete steps of a repeat; none: the repeat is complete."""
        del repeat
        return ()

    @property
    def adds_steps(self) -> bool:
        """Whether ``more`` can plan further steps."""
        return type(self).more is not Suite.more

    def ahead(self, plan: SuitePlan, _request: SuiteRequest, /) -> Ahead | None:
        """Estimate the steps of one repeat that ``refine`` and ``more`` will add to a new plan; None: unknown."""
        return None if plan.search or self.adds_steps else Ahead()

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Return what follows from all positions of a saved plan."""
        wanted = result.manifest.until_supported
        quantiles = tuple(sorted({*self.QUANTILES, *([wanted] if wanted else [])}))
        return Conclusions(findings=self.findings(result), quantiles=quantiles)

    def findings(self, _result: SuiteResult, /) -> tuple[str, ...]:
        """Return the suite's findings, one sentence each."""
        return ()

    def published(self, _step: StepPlan, /) -> tuple[Point, ...]:
        """Return the published points for a step, of any drive."""
        return ()

    def empty(self, request: SuiteRequest, *, notes: Iterable[str] = ()) -> SuitePlan:
        """Return a plan without steps and search."""
        return SuitePlan(
            key=self.NAME,
            suite=self.origin or self.NAME,
            title=self.TITLE,
            source=self.SOURCE,
            targets=tuple(target.path for target in request.targets),
            axis=self.AXIS,
            measured_job=self.MEASURED_JOB,
            judged=self.JUDGED,
            kind=self.KIND,
            load_jobs=self.LOAD_JOBS,
            steps=(),
            size_bytes=self.size_bytes(request),
            shuffled=self.SHUFFLED,
            runtime_ns=self.runtime_ns(request),
            ramp_ns=min(self.RAMP_NS[request.pace], self.runtime_ns(request)),
            undisturbed=self.UNDISTURBED,
            overloads=self.OVERLOADS,
            meter=request.meter if self.METERED else None,
            notes=(*notes, *caveats(request, own_state=self.OWN_STATE)),
        )

    def runtime_ns(self, request: SuiteRequest) -> int:
        """Return the measured part of a step."""
        usual = self.RUNTIME_NS[request.pace]
        virtual = all(target.modelled for target in request.targets)
        return request.runtime_ns or (min(usual, self.MODELLED_NS) if virtual else usual)

    def size_bytes(self, request: SuiteRequest) -> int | None:
        """Return how much of the target to use; None: all of it."""
        return request.size_bytes or (
            self.FILE_BYTES[request.pace] if request.target.kind == "file" else None
        )


QUICK_RUNTIME_NS = 3 * SECOND
INTERVALS = 20
"""Fewest intervals of a step, unless they would be shorter than ``SHORTEST_INTERVAL_NS``."""
SHORTEST_INTERVAL_NS = 10_000_000
QUICK_PERCENTILES = "50:99:99.9:99.99"
"""A run of seconds supports no higher percentiles; requesting them would only cause warnings."""
FULL_PERCENTILES = "50:99:99.9:99.99:99.999"


def time_text(time_ns: int) -> str:
    """Return a time in fio's notation: in the largest unit that divides it, rounded up to fio's smallest unit, 1 us.

    >>> time_text(60 * 10**9), time_text(500_000_000), time_text(1_500)
    ('60', '500ms', '2us')
    """
    for unit_ns, suffix in ((10**9, ""), (10**6, "ms")):
        if time_ns % unit_ns == 0:
            return f"{time_ns // unit_ns}{suffix}"
    return f"{-(-time_ns // 1000)}us"


def nothing_written(*, bs: str) -> IogaugeError:
    """Return the error for a search in which no write completed."""
    return IogaugeError(
        "no write completed during the search for the target's write rate",
        hint=f"first run a job with rw=randwrite, bs={bs} and direct=1 on the target alone: {call('run', 'JOBS')}",
    )


def begins(state: BegunAs) -> str:
    """Return a sentence about the state in which every run of a flash drive's model starts.

    >>> begins("fresh")
    'Every run of the model starts fresh: nothing was written to it'
    """
    return f"Every run of the model starts {state}: {MEANING[state]}"


def caveats(request: SuiteRequest, *, own_state: bool) -> Iterator[str]:
    """Yield the notes on targets that every suite shares."""
    kinds = {target.kind for target in request.targets}
    if "block" in kinds and request.state == "as-is" and not own_state:
        yield "The suite measures the drive in its current state: the procedure has no preconditioning."
    if "file" in kinds:
        yield "The target is a file: latencies include the file system's."
    for target in request.targets:
        if target.kind == "block" and media_of(target) == "3D XPoint":
            yield "Power a 3D XPoint drive for three hours before a test; iogauge cannot tell how long this one was."
        if made_of := target.modelled:
            yield f"A drive model in virtual time, not a drive: {made_of.drive} behind {made_of.machine_title}."
            if made_of.begun_as and not own_state:
                yield f"{begins(made_of.begun_as)}."


@dataclass(frozen=True, kw_only=True)
class StepTemplate:
    """What all steps of a suite on one target share: path, size and times."""

    path: str
    size_bytes: int | None
    runtime_ns: int
    ramp_ns: int
    grouped: bool = True
    """Whether the jobs of a group share one row. Your own suite decides this by group_reporting."""

    @classmethod
    def of(cls, plan: SuitePlan) -> StepTemplate:
        """Return the template of a plan's steps, on its first target."""
        return cls(
            path=plan.targets[0],
            size_bytes=plan.size_bytes,
            runtime_ns=plan.runtime_ns,
            ramp_ns=plan.ramp_ns,
            grouped=not Path(plan.suite).is_absolute(),
        )

    def step(
        self,
        step_id: str,
        at: float,
        jobs: Mapping[str, Mapping[str, object]],
        *,
        series: str = "",
        label: str = "",
        state_group: str = "",
        purge: bool = False,
        is_round: bool = False,
        judged: bool = True,
        direction: Direction | None = None,
        kind: Kind | None = None,
        rung: Rung | None = None,
        **more: object,
    ) -> StepPlan:
        """Return one step with ``jobs`` as its sections; ``more`` are global options, and override the template's."""
        quick = self.runtime_ns <= QUICK_RUNTIME_NS
        target = {
            "filename": file_text(self.path),
            "size": size_text(self.size_bytes) if self.size_bytes else None,
            "ioengine": "libaio",
            "thread": 1,
            "direct": 1,
        }
        rest = {
            "group_reporting": 1 if self.grouped else None,
            "norandommap": 1,
            "randrepeat": 0,
            "refill_buffers": 1,
            "time_based": 1,
            "runtime": time_text(self.runtime_ns),
            "ramp_time": time_text(self.ramp_ns) if self.ramp_ns else None,
            "percentile_list": QUICK_PERCENTILES if quick else FULL_PERCENTILES,
        }
        return StepPlan(
            id=step_id,
            series=series,
            label=label,
            at=at,
            job_file=job_text(
                global_={**target, **more, **{name: more.get(name, rest[name]) for name in rest}},
                **jobs,
            ),
            seed=0,
            state_group=state_group or step_id,
            purge=purge,
            # Enough intervals to show how rates change within a step, and how latencies cluster.
            interval_ns=max(min(SECOND, self.runtime_ns // INTERVALS), SHORTEST_INTERVAL_NS),
            is_round=is_round,
            judged=judged,
            direction=direction,
            kind=kind,
            rung=rung,
        )


def job_text(**sections: Mapping[str, object]) -> str:
    """Return a fio job file, without the options that are None.

    Trailing underscores are cut from a section's name: ``global_`` is [global], and two sections can share a name.

    >>> print(job_text(global_={"direct": 1, "size": None}, reader={"rw": "randread"}), end="")
    [global]
    direct=1
    <BLANKLINE>
    [reader]
    rw=randread
    """
    return "\n".join(
        f"[{name.rstrip('_')}]\n"
        + "".join(f"{option}={value}\n" for option, value in options.items() if value is not None)
        for name, options in sections.items()
    )
