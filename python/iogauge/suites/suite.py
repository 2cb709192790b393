"""What a suite is: it plans steps and judges what came of them.

A suite touches no drive, no file and no clock, so it can be planned and judged anywhere. ``reviews.runner`` runs its
steps; the store holds what they measured, and judging reads the store alone, so an old review can be judged again
by newer code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from iogauge.catalog.published import Point
from iogauge.catalog.state import MEANING
from iogauge.errors import IogaugeError
from iogauge.results.conclusions import Conclusions
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import (
    Axis,
    BegunAs,
    Direction,
    Kind,
    Manifest,
    Pace,
    RunRecord,
    State,
    StepPlan,
    SuitePlan,
    TargetFacts,
)
from iogauge.store import Review
from iogauge.target.layers import Layer
from iogauge.target.media import media_of
from iogauge.workload.numbers import SECOND, size_text
from iogauge.workload.patterns import file_text

__all__ = ["Ahead", "Axis", "Pace", "StepTemplate", "Suite", "SuiteRequest"]


@dataclass(frozen=True, kw_only=True)
class SuiteRequest:
    """What a user wants of one suite."""

    targets: tuple[TargetFacts, ...]
    """One, unless the suite takes several together."""
    pace: Pace
    state: State = "as-is"
    size_bytes: int | None = None
    """How much of each target to use; None: the suite's own choice. Positive."""
    runtime_ns: int | None = None
    """Measured part of a step; None: the suite's own choice. Positive."""
    layers: tuple[Layer, ...] = ()
    """Block devices to compare the first target with, for a suite that asks for them."""

    @classmethod
    def of(cls, manifest: Manifest, plan: SuitePlan) -> SuiteRequest:
        """Return the request that a saved review was planned from."""
        return cls(
            targets=tuple(manifest.target(path) for path in plan.targets),
            pace=manifest.pace,
            state=manifest.state,
            size_bytes=plan.size_bytes,
            runtime_ns=plan.runtime_ns,
        )

    @property
    def target(self) -> TargetFacts:
        """The first of the targets."""
        return self.targets[0]


@dataclass(frozen=True)
class Ahead:
    """Steps that are planned only once others were measured: they bound what a review takes, and are not run.

    Their jobs are as hard as they can become, since how hard that is may follow from what is measured.
    """

    least: tuple[StepPlan, ...] = ()
    """Those that follow in any case."""
    most: tuple[StepPlan, ...] = ()
    """These, and all that may."""


class Suite(ABC):
    """One published procedure, in a module of its own. It has no state: its methods take all that they need."""

    NAME: ClassVar[str]
    """The name for ``--suite``: lower-case words joined by hyphens."""
    TITLE: ClassVar[str]
    SOURCE: ClassVar[str]
    """Where the procedure was published."""
    AXIS: ClassVar[Axis]
    """What its steps vary."""
    MEASURED_JOB: ClassVar[str]
    """Name of the job whose latency is judged."""
    JUDGED: ClassVar[str] = "read"
    """What one of that job's requests is called."""
    LOAD_JOBS: ClassVar[str | None] = None
    """Name of the jobs that press on it."""
    OWN_STATE: ClassVar[bool] = False
    """Whether its own steps bring the drive into the state in which it is measured."""
    TOGETHER: ClassVar[bool] = False
    """Whether it takes all targets of a review at once, instead of one after the other."""
    FEWEST_TARGETS: ClassVar[int] = 1
    """How many it needs, where it takes several together."""
    LAYERS: ClassVar[bool] = False
    """Whether it compares its target with the layers around it."""
    KIND: ClassVar[Kind] = Kind.LAT
    """Which latency is judged."""
    QUANTILES: ClassVar[tuple[float, ...]] = (0.5, 0.99, 0.999, 0.9999, 0.99999)
    """Quantiles that are judged besides the mean."""
    FILE_BYTES: ClassVar[Mapping[Pace, int]] = {"quick": 1 << 30, "standard": 4 << 30, "full": 16 << 30}
    """How large a file to measure on, where the user does not say. A block device is used whole."""
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 3 * SECOND,
        "standard": 20 * SECOND,
        "full": 60 * SECOND,
    }
    """Measured part of a step."""
    MODELLED_NS: ClassVar[int] = 5 * SECOND
    """The most that a step takes of a drive model, which begins in steady state and has no warm-up."""
    RAMP_NS: ClassVar[Mapping[Pace, int]] = {"quick": SECOND // 2, "standard": SECOND // 2, "full": 0}
    """What comes before it, no longer than it. At full pace only what the source has."""

    targets: tuple[str, ...] = ()
    """Targets that it measures where the command names none."""
    origin: str | None = None
    """Absolute path of the file that it was loaded from; None: iogauge brings it."""

    @abstractmethod
    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Return the steps of one repeat, or, where they depend on the target's abilities, only the search for these.

        Ids of steps are unique in the suite, and seeds 0: ``reviews.ordering`` makes them the review's.
        """

    def refine(self, plan: SuitePlan, search: RunRecord, request: SuiteRequest) -> SuitePlan:
        """Return the plan with the steps of one repeat that follow from its search."""
        raise NotImplementedError(f"{self.NAME} plans no search")

    def more(self, _plan: SuitePlan, _review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """Return the steps that follow from those of a repeat, all of them complete; none: the repeat is complete."""
        del repeat
        return ()

    def ahead(self, plan: SuitePlan, _request: SuiteRequest, /) -> Ahead | None:
        """Return what follows from the search and the steps of one repeat of a new plan; None: that is not known."""
        return None if plan.search or type(self).more is not Suite.more else Ahead()

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Return what follows from the positions of a saved plan together."""
        wanted = result.manifest.until_supported
        quantiles = tuple(sorted({*self.QUANTILES, *([wanted] if wanted else [])}))
        return Conclusions(findings=self.findings(result), quantiles=quantiles)

    def findings(self, _result: SuiteResult, /) -> tuple[str, ...]:
        """Return the suite's own findings, one sentence per finding."""
        return ()

    def published(self, _step: StepPlan, /) -> tuple[Point, ...]:
        """Return the published points of a step, of any drive."""
        return ()

    def empty(self, request: SuiteRequest, *, notes: Iterable[str] = ()) -> SuitePlan:
        """Return a plan that has everything but its steps and its search."""
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
            runtime_ns=self.runtime_ns(request),
            ramp_ns=min(self.RAMP_NS[request.pace], self.runtime_ns(request)),
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
"""Of a step at least, as far as ``SHORTEST_INTERVAL_NS`` lets them."""
SHORTEST_INTERVAL_NS = 10_000_000
QUICK_PERCENTILES = "50:99:99.9:99.99"
"""Seconds do not support more; what is not asked for is not warned about."""
FULL_PERCENTILES = "50:99:99.9:99.99:99.999"


def time_text(time_ns: int) -> str:
    """Return a time as fio writes it, in the largest unit that divides it; fio has none below 1 us.

    >>> time_text(60 * 10**9), time_text(500_000_000), time_text(1_500)
    ('60', '500ms', '2us')
    """
    for unit_ns, suffix in ((10**9, ""), (10**6, "ms")):
        if time_ns % unit_ns == 0:
            return f"{time_ns // unit_ns}{suffix}"
    return f"{-(-time_ns // 1000)}us"


def nothing_written(*, bs: str) -> IogaugeError:
    """Return the error of a search in which no write completed."""
    return IogaugeError(
        "no write completed during the search for what the target takes",
        hint=f"try the target with a plain job first: iogauge run --name=w --rw=randwrite --bs={bs} --direct=1 ...",
    )


def begins(state: BegunAs) -> str:
    """Return in which state every run of a flash drive's model begins, in words.

    >>> begins("fresh")
    'Every run of the model begins fresh: nothing was written to it'
    """
    return f"Every run of the model begins {state}: {MEANING[state]}"


def caveats(request: SuiteRequest, *, own_state: bool) -> Iterator[str]:
    """Yield the notes that every suite has on its targets."""
    kinds = {target.kind for target in request.targets}
    if "block" in kinds and request.state == "as-is" and not own_state:
        yield "The drive is measured in the state it is in: the procedure has no preconditioning."
    if "file" in kinds:
        yield "The target is a file: the file system's part is measured with the drive's."
    for target in request.targets:
        if target.kind == "block" and media_of(target) == "3D XPoint":
            yield "3D XPoint should be powered for three hours before a test; for how long it was is unknown."
        if made_of := target.modelled:
            yield f"A drive model in virtual time, not a drive: {made_of.drive} behind {made_of.machine_title}."
            if made_of.begun_as and not own_state:
                yield f"{begins(made_of.begun_as)}."


@dataclass(frozen=True, kw_only=True)
class StepTemplate:
    """What all steps of a suite on one target have in common, beside what each issues."""

    path: str
    size_bytes: int | None
    runtime_ns: int
    ramp_ns: int
    grouped: bool = True
    """Whether jobs of a group are reported as one; in your own suite only where it says so."""

    @classmethod
    def of(cls, plan: SuitePlan) -> StepTemplate:
        """Return what a plan's steps share: its first target, its times."""
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
        **more: object,
    ) -> StepPlan:
        """Return one step. ``jobs`` are its sections; ``more`` is for all of them, and replaces what is common."""
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
            # So many that what changes within a step, and how its latencies cluster, can be seen.
            interval_ns=max(min(SECOND, self.runtime_ns // INTERVALS), SHORTEST_INTERVAL_NS),
            is_round=is_round,
            judged=judged,
            direction=direction,
        )


def job_text(**sections: Mapping[str, object]) -> str:
    """Return a fio job file. Options that are None are left out.

    Underscores behind a section's name are not part of it: ``global_`` is [global], and sections can share a name.

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
