"""What a suite is: a module that plans steps and judges what came of them.

A suite touches no drive, no file and no clock, so it can be planned and judged anywhere. ``conduct.py`` runs its
steps; the store holds what they measured, and judging reads the store alone, so an old review can be judged again
by newer code.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from iogauge.schema import RunRecord, SuitePlan, TargetFacts
from iogauge.store import Review
from iogauge.suites.judgement import Judgement

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


class Suite(Protocol):
    """One published procedure, in a module of its own."""

    NAME: str
    """As given to ``--suite``."""
    TITLE: str

    def file_bytes(self, pace: Pace) -> int:
        """Return how large a file to measure on, where the user does not say."""

    def plan(self, asked: Asked) -> SuitePlan:
        """Return the steps, or, where they depend on the target's abilities, only the search for these."""

    def refine(self, plan: SuitePlan, found: RunRecord, *, target: TargetFacts, seed: int) -> SuitePlan:
        """Return the plan with the steps that follow from what its search found."""

    def judge(self, review: Review) -> Judgement:
        """Return what the complete steps of a review show."""


def seed_of(seed: int, step_id: str) -> int:
    """Return the seed of one step: the same for the same review seed and step, unrelated between steps.

    >>> seed_of(1, "pressure-100") == seed_of(1, "pressure-100") != seed_of(1, "pressure-200")
    True
    """
    digest = hashlib.sha256(f"{seed}/{step_id}".encode()).digest()
    return int.from_bytes(digest[:8], "big") >> 1


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
