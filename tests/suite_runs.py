"""Every suite, run as the command runs it and cut down in time: shared by tests on models, files and devices."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import iogauge
from iogauge import workload
from iogauge.cli import main
from iogauge.reviews.ahead import expected_s
from iogauge.reviews.estimate import ReviewCost
from iogauge.schema import Direction, Interval, Job, RunPlan, RunRecord, StepPlan, SuitePlan, TargetFacts
from iogauge.store import Review
from iogauge.suites import (
    SUITES,
    Pace,
    SuiteRequest,
    ladder,
    mixed,
    queue_depth,
    reader_under_writers,
    tenants,
    transfer_size,
    write_pressure,
)
from tests import builders

MILLISECOND = 10**6
RUNTIME = "60ms"
"""Enough for a hundred requests of the slowest load."""
SEARCHING = (reader_under_writers, tenants, write_pressure)
"""Suites that search for what a target takes."""


class Quiet:
    """Hears how a review goes on, and shows nothing of it; ``said`` are its lines."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def step(
        self,
        label: str,
        *,
        expected_s: float | None,
        ahead: int,
        ahead_s: float,
        search: bool = False,
        more: bool = False,
    ) -> None:
        """A step begins."""

    def started(self, plan: RunPlan) -> None:
        """Workers begin."""

    def interval(self, interval: Interval) -> None:
        """An interval came."""

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:
        """A step is saved."""

    def message(self, text: str) -> None:
        """A line came."""
        self.said.append(text)


def cut_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let ramps and searches last for milliseconds, and sweeps have few places; what a step does is the same."""
    ramp = dict.fromkeys(("quick", "standard", "full"), 5 * MILLISECOND)
    for suite in SUITES.values():
        monkeypatch.setattr(type(suite), "RAMP_NS", ramp)
    for module in SEARCHING:
        monkeypatch.setattr(module, "SEARCH_RUNTIME_NS", 60 * MILLISECOND)
    monkeypatch.setattr(ladder, "SETTLE_NS", ramp)
    monkeypatch.setitem(queue_depth.DEPTHS, "quick", (1, 8))
    monkeypatch.setitem(transfer_size.SIZES, "quick", (512, 4096))
    monkeypatch.setattr(mixed, "SHARES", (100, 50, 0))
    monkeypatch.setitem(reader_under_writers.MOST_STEPS, "quick", 3)


def targets_of(suite: str, targets: Sequence[str]) -> list[str]:
    """As many of the targets as the suite takes at least."""
    return list(targets[: SUITES[suite].FEWEST_TARGETS])


def reviewed(
    suite: str, targets: Sequence[str], output: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> dict[str, Any]:
    """Conduct a review by one suite, and return what the one plan showed."""
    status, errors, plans = _review(suite, targets, output, capsys, *more)
    assert status == 0, errors
    (plan,) = plans
    return plan


def reviewed_whole(
    suite: str, targets: Sequence[str], folder: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> dict[str, Any]:
    """Review real targets and check what every suite must show; steps are longer where nothing completes in short ones.

    A busy machine may give a worker no turn in 60 ms, or its disk answer no request of 4 MiB.
    """
    with pytest.MonkeyPatch.context() as patched:
        for runtime, milliseconds in ((RUNTIME, 60), ("600ms", 600), ("6s", 6000)):
            for module in SEARCHING:
                patched.setattr(module, "SEARCH_RUNTIME_NS", milliseconds * MILLISECOND)
            status, errors, plans = _review(
                suite, targets, folder / runtime, capsys, f"--runtime={runtime}", *more
            )
            if "no write completed during the search" in errors:
                continue
            assert status == 0, errors
            (plan,) = plans
            if all(step["ios"] for step in plan["steps"]):
                break
    assert status == 0, errors
    assert_whole(plan)
    return plan


def _review(
    suite: str, targets: Sequence[str], output: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> tuple[int, str, list[dict[str, Any]]]:
    """Return the exit status of a review by one suite, what it said on stderr, and its plans."""
    capsys.readouterr()
    review = ["review", *targets_of(suite, targets), "--suite", suite, "--seed=1", f"--output={output}"]
    status = main([*review, "--json", "--runtime", RUNTIME, *more])
    out, errors = capsys.readouterr()
    return status, errors, json.loads(out)["plans"] if out else []


def assert_as_announced(review: Path) -> None:
    """Check that each repeat of a complete review has as many steps as were said to follow, and takes as long."""
    manifest = Review.open(review).manifest
    for plan in manifest.plans:
        first = [step for step in plan.steps if not step.repeat and not step.follows and not plan.search]
        new = plan.model_copy(update={"steps": tuple(first)})
        ahead = SUITES[plan.suite].ahead(new, SuiteRequest.of(manifest, plan))
        assert ahead is not None
        follow = [step for step in plan.steps if not step.repeat and step not in first]
        assert len(ahead.least) <= len(follow) <= len(ahead.most)
        took_s = sum(map(expected_s, follow))
        assert sum(map(expected_s, ahead.least)) <= took_s <= sum(map(expected_s, ahead.most))


@dataclass
class Announced:
    """What was announced of a review of drive models, and what it writes meanwhile, ramps included."""

    cost: ReviewCost
    wrote: int = 0

    def add(self, interval: Interval) -> None:
        """Count what an interval wrote."""
        tally = interval.tallies.get(Direction.WRITE)
        self.wrote += tally.bytes if tally else 0

    def assert_held(self, review: Path, *, time: float, writes: float) -> None:
        """Check that a complete review took and wrote what was likely, within these factors, and at most the most."""
        saved = Review.open(review)
        steps = [*saved.manifest.steps, *(plan.search for plan in saved.manifest.plans if plan.search)]
        took_s = sum(saved.record(step.id).result.elapsed_ns for step in steps) / 1e9
        said = f"took {took_s:g} s, announced {self.cost.likely_s:g} s, at most {self.cost.longest_s:g} s"
        assert took_s / time <= self.cost.likely_s <= took_s * time, said
        assert took_s <= self.cost.longest_s, said
        said = f"wrote {self.wrote}, announced {self.cost.likely_bytes}, at most {self.cost.written_bytes}"
        assert self.wrote / writes <= self.cost.likely_bytes <= self.wrote * writes, said
        assert self.wrote <= self.cost.written_bytes, said


def announced(
    suite: str, targets: Sequence[str], monkeypatch: pytest.MonkeyPatch, *, runtime: str = RUNTIME
) -> Announced:
    """Plan a review by one suite, and begin to count what is written."""
    plan = iogauge.plan(targets_of(suite, targets), suites=[suite], seed=1, runtime=runtime)
    made = Announced(plan.cost)
    monkeypatch.setattr("iogauge.execution.Written.add", lambda _, interval: made.add(interval))
    return made


def assert_whole(plan: dict[str, Any]) -> None:
    """Check what every suite must show wherever it is run."""
    assert plan["missing"] == []
    assert plan["steps"]
    for step in plan["steps"]:
        assert step["ios"] > 0, step["id"]
        assert step["mean_ns"]["value"] > 0
        assert step["errors"] == 0


BLOCK = builders.target("/dev/nvme0n1", kind="block", size_bytes=400 << 30)


def planned(suite: str, pace: Pace = "full", *targets: TargetFacts, **options: Any) -> SuitePlan:
    """Plan a suite, for a drive of 400 GiB unless targets are named."""
    return SUITES[suite].plan(SuiteRequest(targets=targets or (BLOCK,), pace=pace, **options))


def jobs_of(step: StepPlan) -> list[Job]:
    """Return the jobs of a step."""
    return list(workload.parse(step.job_file, source=step.id).jobs)
