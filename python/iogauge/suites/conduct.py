"""Runs the steps of a review, from wherever it stands, and saves each before the next begins.

A review is resumed by conducting it again: steps that are whole on disk are kept, and whatever was under way is run
again with the same seed. Steps whose drive state depends on earlier ones form a state group; one that was
interrupted starts again from its first step, preconditioning included, so that a resumed review means what an
uninterrupted one means.

How a run is made is given as ``execute``; this module does no I/O of its own, prints nothing, and knows no suite.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from itertools import groupby
from typing import Protocol

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.schema import Ceiling, Interval, JobFile, RunPlan, RunRecord, StepPlan, TargetFacts
from iogauge.schema import Warning as Caution
from iogauge.store import Review
from iogauge.suites.suite import Suite

INTERVAL_NS = 10**9
"""Where a step's jobs set no log_avg_msec."""


class Execute(Protocol):
    """``run.execute``, as far as it is used here."""

    def __call__(
        self,
        job_file: JobFile,
        *,
        destroy: Collection[str],
        seed: int,
        interval_ns: int,
        on_interval: Callable[[Interval], None],
        on_message: Callable[[str], None],
        on_start: Callable[[RunPlan, tuple[TargetFacts, ...]], None],
        ceiling: Ceiling | None,
    ) -> RunRecord:
        """Run a job file once."""


class Watcher(Protocol):
    """Who is told how a review goes on."""

    def step(self, label: str, *, expected_s: float | None) -> None:
        """Hear that a step begins."""

    def started(self, plan: RunPlan) -> None:
        """Hear that the workers of a step begin."""

    def interval(self, interval: Interval) -> None:
        """Hear what the step under way measured last."""

    def message(self, text: str) -> None:
        """Hear something worth a line."""


class Interrupted(Exception):  # noqa: N818 (what the user did, not a failure)
    """Ctrl-C ended a run. What it measured is kept under ``stopped/``; complete steps are as they were."""


def search(
    review: Review, suite: Suite, *, execute: Execute, watcher: Watcher, destroy: Collection[str] = ()
) -> None:
    """Complete the plan of a review whose steps depend on what the target takes; nothing to do where they stand.

    The caller holds the review's lock. Raises what ``conduct`` raises.
    """
    manifest = review.manifest
    plan = manifest.plan
    if plan.search is None or plan.steps:
        return
    if not review.has(plan.search.id):
        watcher.step("search for what the target takes", expected_s=_expected_s(plan.search))
        _run(review, plan.search, execute=execute, watcher=watcher, destroy=destroy)
    found = review.record(plan.search.id)
    refined = suite.refine(plan, found, target=manifest.target, seed=manifest.seed)
    review.save_manifest(manifest.model_copy(update={"plan": refined}))


def conduct(review: Review, *, execute: Execute, watcher: Watcher, destroy: Collection[str] = ()) -> None:
    """Run the steps that are missing of a review. The caller holds the review's lock.

    Args:
        review: a new review, or one that was interrupted; planned to the end by ``search``.
        execute: runs a job file; its result says when it was stopped by Ctrl-C.
        watcher: told of steps, intervals and messages.
        destroy: serial numbers or paths whose content may be lost.

    Raises:
        Interrupted: Ctrl-C stopped a run.
        IogaugeError: a run failed, or cannot be saved. Steps that were complete stay so.
    """
    _restart_groups(review, watcher)
    plan = review.manifest.plan
    for step in plan.steps:
        if not review.has(step.id):
            place = f"{step.at:g} {plan.axis.unit}"
            watcher.step(f"{step.series}, {place}" if step.series else place, expected_s=_expected_s(step))
            _run(review, step, execute=execute, watcher=watcher, destroy=destroy)
    review.save_manifest(review.manifest.model_copy(update={"warnings": _shared_warnings(review)}))


def remaining(review: Review) -> int:
    """Return how many steps are still to be run, those of interrupted state groups included."""
    plan = review.manifest.plan
    broken = {step.state_group for step in plan.steps if not review.has(step.id)}
    return sum(step.state_group in broken for step in plan.steps)


def _shared_warnings(review: Review) -> tuple[Caution, ...]:
    """Return the warnings that every step gave in the same words: they are about the review."""
    first, *others = [review.record(step.id).warnings for step in review.manifest.plan.steps]
    return tuple(warning for warning in first if all(warning in each for each in others))


def _restart_groups(review: Review, watcher: Watcher) -> None:
    """Take back the complete steps of every state group that is not complete."""
    in_order = sorted(review.manifest.plan.steps, key=lambda step: step.state_group)
    for group, members in groupby(in_order, key=lambda step: step.state_group):
        steps = list(members)
        whole = [step.id for step in steps if review.has(step.id)]
        if whole and len(whole) < len(steps):
            watcher.message(f"{group}: was interrupted, and starts again from its first step")
            # From the last to the first: a kill in between leaves a group that is still seen as interrupted.
            for step_id in reversed(whole):
                review.discard(step_id)


def _run(
    review: Review, step: StepPlan, *, execute: Execute, watcher: Watcher, destroy: Collection[str]
) -> None:
    """Run one step and save it."""
    job_file = workload.parse(step.job_file, source=step.id)
    with review.begin(step.id) as writer:

        def heard(interval: Interval) -> None:
            writer.interval(interval)
            watcher.interval(interval)

        record = execute(
            job_file,
            destroy=destroy,
            seed=step.seed,
            interval_ns=max(job.log_avg_ns for job in job_file.jobs) or INTERVAL_NS,
            on_interval=heard,
            on_message=watcher.message,
            on_start=lambda plan, _targets: watcher.started(plan),
            ceiling=review.manifest.ceiling,
        )
        problem = _problem(record)
        if problem is None:
            writer.finish(record)
            return
        writer.finish_stopped(record)
    if record.result.stopped_by == "interrupt":
        raise Interrupted(step.id)
    raise IogaugeError(
        f"{review.path}: step {step.id} ended early: {problem}",
        hint=f"mend the cause, then go on with the other steps kept: iogauge review --resume {review.path}",
    )


def _problem(record: RunRecord) -> str | None:
    """Return why a run did not get to its end; None: it did."""
    failed = {f"{worker.name}: {worker.error}" for worker in record.result.workers if worker.error}
    return record.result.error or "; ".join(sorted(failed)) or record.result.stopped_by


def _expected_s(step: StepPlan) -> float:
    """Return how long a step takes, as far as its jobs say; on a drive model, of virtual time."""
    jobs = workload.parse(step.job_file, source=step.id).jobs
    return max(job.runtime_ns + job.ramp_time_ns for job in jobs) / 1e9
