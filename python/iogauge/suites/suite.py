"""What a suite is: it plans steps and judges what came of them.

A suite touches no drive, no file and no clock, so it can be planned and judged anywhere. ``conduct.py`` runs its
steps; the store holds what they measured, and judging reads the store alone, so an old review can be judged again
by newer code.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from iogauge.errors import IogaugeError
from iogauge.schema import RunRecord, StepPlan, SuitePlan, TargetFacts
from iogauge.store import Review
from iogauge.suites.judgement import Judgement, judge_steps
from iogauge.workload.numbers import size_text
from iogauge.workload.patterns import file_text

Pace = Literal["quick", "full"]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a user wants of a review."""

    target: TargetFacts
    pace: Pace
    seed: int
    """Every step's seed is derived from it. At least 0."""
    size_bytes: int | None = None
    """How much of the target to use; None: the suite's own choice. Positive."""
    runtime_ns: int | None = None
    """Measured part of a step; None: the suite's own choice. Positive."""


class Suite(ABC):
    """One published procedure, in a module of its own. It keeps nothing: all that it knows is given."""

    NAME: ClassVar[str]
    """As given to ``--suite``."""
    TITLE: ClassVar[str]
    QUANTILES: ClassVar[tuple[float, ...]] = (0.5, 0.99, 0.999, 0.9999, 0.99999)
    """What is judged besides the mean."""
    FILE_BYTES: ClassVar[Mapping[Pace, int]] = {"quick": 1 << 30, "full": 16 << 30}
    """How large a file to measure on, where the user does not say. A block device is used whole."""

    @abstractmethod
    def plan(self, asked: Asked) -> SuitePlan:
        """Return the steps, or, where they depend on the target's abilities, only the search for these."""

    def refine(self, plan: SuitePlan, found: RunRecord, *, target: TargetFacts, seed: int) -> SuitePlan:
        """Return the plan with the steps that follow from what its search found."""
        raise NotImplementedError(f"{self.NAME} plans no search")

    def judge(self, review: Review) -> Judgement:
        """Return what the complete steps of a review show."""
        return judge_steps(review, quantiles=self.QUANTILES)

    def findings(self, _judgement: Judgement, /) -> tuple[str, ...]:
        """Return what is worth saying beside how the reader fares under pressure, a sentence each."""
        return ()

    def size_bytes(self, asked: Asked) -> int | None:
        """Return how much of the target to use; None: all of it."""
        return asked.size_bytes or (self.FILE_BYTES[asked.pace] if asked.target.kind == "file" else None)


QUICK_RUNTIME_NS = 3 * 10**9
QUICK_RAMP_NS = 500_000_000
QUICK_PERCENTILES = "50:99:99.9:99.99"
"""Seconds do not support more; what is not asked for is not warned about."""
FULL_PERCENTILES = "50:99:99.9:99.99:99.999"


def seed_of(seed: int, step_id: str) -> int:
    """Return the seed of one step: the same for the same review seed and step, unrelated between steps.

    >>> seed_of(1, "pressure-100") == seed_of(1, "pressure-100") != seed_of(1, "pressure-200")
    True
    """
    digest = hashlib.sha256(f"{seed}/{step_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def time_text(time_ns: int) -> str:
    """Return a time as fio writes it, in the largest unit that keeps it whole; fio knows none below 1 us.

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


def caveats(target: TargetFacts) -> Iterator[str]:
    """Yield what every suite has to say of a target that it did not prepare."""
    if target.kind == "block":
        yield "The drive is measured as it was found: the procedure has no preconditioning."
    if target.kind == "file":
        yield "The target is a file: the file system's part is measured with the drive's."
    if target.modelled:
        made_of = target.modelled
        yield f"A drive model in virtual time, not a drive: {made_of.drive} behind {made_of.machine_title}."


@dataclass(frozen=True, kw_only=True)
class Common:
    """What all steps of a suite's review have in common, beside what each issues."""

    path: str
    size_bytes: int | None
    runtime_ns: int
    ramp_ns: int
    seed: int

    @classmethod
    def of(cls, plan: SuitePlan, target: TargetFacts, *, seed: int) -> Common:
        """Return what a plan's steps share."""
        return cls(
            path=target.path,
            size_bytes=plan.size_bytes,
            runtime_ns=plan.runtime_ns,
            ramp_ns=plan.ramp_ns,
            seed=seed,
        )

    def step(
        self,
        step_id: str,
        at: float,
        jobs: Mapping[str, Mapping[str, object]],
        *,
        series: str = "",
        **more: object,
    ) -> StepPlan:
        """Return one step. ``jobs`` are its sections; ``more`` is for all of them."""
        shared = {
            "filename": file_text(self.path),
            "size": size_text(self.size_bytes) if self.size_bytes else None,
            "ioengine": "libaio",
            "thread": 1,
            "direct": 1,
            "group_reporting": 1,
            "norandommap": 1,
            "randrepeat": 0,
            "refill_buffers": 1,
            "time_based": 1,
            "runtime": time_text(self.runtime_ns),
            "ramp_time": time_text(self.ramp_ns) if self.ramp_ns else None,
            "log_avg_msec": 500 if self.runtime_ns <= QUICK_RUNTIME_NS else 1000,
            "percentile_list": QUICK_PERCENTILES if self.runtime_ns <= QUICK_RUNTIME_NS else FULL_PERCENTILES,
        }
        return StepPlan(
            id=step_id,
            series=series,
            at=at,
            job_file=job_text(global_=shared | more, **jobs),
            seed=seed_of(self.seed, step_id),
            state_group=step_id,
        )


def job_text(**sections: Mapping[str, object]) -> str:
    """Return a fio job file. ``global_`` stands for [global]; options that are None are left out.

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
