"""Runs the steps of a review, from wherever it stands, and saves each before the next begins.

A review is resumed by conducting it again: steps that are whole on disk are kept, and whatever was under way is run
again with the same seed. What has to be taken back before, so that a resumed review means what an uninterrupted one
means, is ``resume``'s.

A step that fails is noted and tried again when the review is conducted again; those that do not depend on it go on.

How a run is made is given as ``execute``; this module does no I/O of its own, prints nothing, and knows no suite.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Protocol

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.results.position import name_of
from iogauge.reviews.ahead import Ahead, expected_s
from iogauge.reviews.lengthen import kept, longer, shortfall
from iogauge.reviews.ordering import check_steps, order, placed, with_plan
from iogauge.reviews.resume import goes_on, look_again, restart_groups, under_way
from iogauge.schema import (
    Ceiling,
    Code,
    Interval,
    JobFile,
    RunPlan,
    RunRecord,
    StepPlan,
    SuitePlan,
    TargetFacts,
    Trace,
)
from iogauge.schema import Warning as Caution
from iogauge.store import Review
from iogauge.suites.suite import Suite, SuiteRequest


class Execute(Protocol):
    """``execution.execute``, as far as it is used here."""

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


class Purge(Protocol):
    """``execution.purge``, as far as it is used here."""

    def __call__(self, path: str, *, destroy: Collection[str], on_message: Callable[[str], None]) -> None:
        """Give back all that a target holds."""


class Watcher(Protocol):
    """Who is told how a review goes on."""

    def step(self, label: str, *, expected_s: float | None, ahead: int, ahead_s: float) -> None:
        """Hear that a step begins, and how many follow, which take ``ahead_s`` as far as they say."""

    def started(self, plan: RunPlan) -> None:
        """Hear that the workers of a step begin."""

    def interval(self, interval: Interval) -> None:
        """Hear what the step under way measured last."""

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:
        """Hear what the whole step measured, once it is saved."""

    def message(self, text: str) -> None:
        """Hear something worth a line."""


class Interrupted(Exception):  # noqa: N818 (what the user did, not a failure)
    """Ctrl-C ended a run. What it measured is kept under ``stopped/``; complete steps are as they were."""


@dataclass(frozen=True)
class Failed:
    """A step that did not get to its end, and why. The next conducting of the review tries it again."""

    step_id: str
    why: str


def conduct(
    review: Review,
    suites: Callable[[str], Suite],
    *,
    execute: Execute,
    watcher: Watcher,
    destroy: Collection[str] = (),
    purge: Purge | None = None,
    trace: Callable[[TargetFacts], Trace | None] = lambda _: None,
) -> tuple[Failed, ...]:
    """Run what is missing of a review, its searches first. The caller holds the review's lock.

    Args:
        review: a new review, or one that was interrupted.
        suites: gives a suite by its name.
        execute: runs a job file; its result says when it was stopped by Ctrl-C.
        watcher: told of steps, intervals and messages.
        destroy: serial numbers or paths whose content may be lost.
        purge: gives back all that a target holds; needed where a step asks for it.
        trace: says of a target what tells later whether anything wrote to it.

    Returns:
        The steps that failed; the others of their state group were left out, all others were run.

    Raises:
        Interrupted: Ctrl-C stopped a run.
        IogaugeError: a run cannot be saved. Steps that were complete stay so.
    """
    killed = under_way(review.manifest)  # before what follows from others is taken back
    restart_groups(review, suites, watcher.message)
    if remaining(review, suites):
        look_again(review, trace, watcher.message, killed)
    run = _Run(review, suites, execute, watcher, destroy, purge, trace, ahead=Ahead(_missing(review)))
    for plan in review.manifest.plans:
        if plan.prepares:
            run.plan(plan.key, 0)
    for plan in review.manifest.plans:
        run.search(plan)
    for repeat, plan in order(review.manifest):
        run.plan(plan.key, repeat)
    if not run.failed:
        review.save_manifest(review.manifest.model_copy(update={"warnings": _shared_warnings(review)}))
    return tuple(run.failed)


def remaining(review: Review, suites: Callable[[str], Suite]) -> int:
    """Return how many steps are known to be still to be run, searches and interrupted state groups included.

    A kill may come between a run and what is planned because of it: what then follows counts as one.
    """
    manifest = review.manifest
    broken = {step.state_group for step in manifest.steps if not review.has(step.id)}
    return (
        sum(1 for _ in _searches(review))
        + sum(step.state_group in broken for step in manifest.steps)
        + sum(goes_on(review, suites, plan, repeat) for repeat, plan in order(manifest))
        + sum(_too_short(review, plan, step) is not None for plan in manifest.plans for step in plan.steps)
    )


def _too_short(review: Review, plan: SuitePlan, step: StepPlan) -> StepPlan | None:
    """Return what is to be run in the place of a complete step that does not support what was asked for."""
    q = review.manifest.until_supported
    return None if q is None or not review.has(step.id) else longer(plan, step, review.record(step.id), q=q)


@dataclass
class _Run:
    """One conducting of a review: what it was given, and what failed so far."""

    review: Review
    suites: Callable[[str], Suite]
    execute: Execute
    watcher: Watcher
    destroy: Collection[str]
    purge: Purge | None
    trace: Callable[[TargetFacts], Trace | None]
    ahead: Ahead
    failed: list[Failed] = field(default_factory=list)
    failed_groups: set[str] = field(default_factory=set)
    """State groups of which a step failed: the drive is not in the state that their later steps need."""
    told: set[tuple[str, str | None]] = field(default_factory=set)
    """Plans, and why steps of them keep their length though they are too short."""

    def search(self, plan: SuitePlan) -> None:
        """Complete a plan whose steps depend on what its target takes; nothing to do where they stand."""
        if plan.search is None or plan.steps or self._unprepared(plan, 0):
            return
        if not self.review.has(plan.search.id):
            self._run(plan, plan.search, f"{plan.title}: search for what the target takes")
        if not self.review.has(plan.search.id):
            return
        manifest = self.review.manifest
        found = self.review.record(plan.search.id)
        refined = self.suites(plan.suite).refine(plan, found, SuiteRequest.of(manifest, plan))
        check_steps(plan, refined.steps)
        steps = placed(refined.steps, key=plan.key, seed=manifest.seed, repeats=range(manifest.repeats))
        self._replace(refined.model_copy(update={"steps": steps}))
        self.ahead.remove(plan.search)
        self.ahead.add(steps)

    def plan(self, key: str, repeat: int) -> None:
        """Run one repeat of a plan, and what follows from its steps, until nothing does."""
        while True:
            plan = self._plan(key)
            if self._unprepared(plan, repeat):
                return
            steps = [step for step in plan.steps if step.repeat == repeat]
            for step in steps:
                if not self.review.has(step.id) and step.state_group not in self.failed_groups:
                    self._run(plan, step, name_of(step, plan.axis, repeat=True))
                self._lengthen(key, step)
                self._note_short(key, step.id)
            if not steps or not all(self.review.has(step.id) for step in steps):
                return
            more = self.suites(plan.suite).more(plan, self.review, repeat=repeat)
            if not more:
                return
            new = placed(more, key=key, seed=self.review.manifest.seed, repeats=[repeat])
            follow = tuple(step.model_copy(update={"follows": True}) for step in new)
            check_steps(plan, follow)
            self._replace(plan.model_copy(update={"steps": (*plan.steps, *follow)}))
            self.ahead.add(follow)

    def _lengthen(self, key: str, step: StepPlan) -> None:
        """Run a step again for longer, where its sample does not support what was asked for."""
        plan = self._plan(key)
        stretched = _too_short(self.review, plan, step)
        if stretched is None:
            return
        # In this order: a kill in between leaves a step that is short and missing, and comes here again.
        self.review.discard(step.id)
        steps = tuple(stretched if each.id == step.id else each for each in plan.steps)
        self._replace(plan.model_copy(update={"steps": steps}))
        self._run(
            plan, stretched, f"{name_of(step, plan.axis, repeat=True)}, {stretched.longer} times as long"
        )

    def _note_short(self, key: str, step_id: str) -> None:
        """Keep in the plan why a step does not support what was asked for; say it, once of all kept by one reason."""
        q = self.review.manifest.until_supported
        if q is None or not self.review.has(step_id):
            return
        plan = self._plan(key)
        step = next(step for step in plan.steps if step.id == step_id)
        short = shortfall(plan, step, self.review.record(step_id), q=q) or ""
        if short == step.short:
            return
        noted = step.model_copy(update={"short": short})
        steps = tuple(noted if each.id == step_id else each for each in plan.steps)
        self._replace(plan.model_copy(update={"steps": steps}))
        reason = kept(step, plan.steps)
        if short and (key, reason) not in self.told:
            self.watcher.message(f"{plan.title}, {name_of(step, plan.axis, repeat=True)}: {short}")
            if reason:
                self.told.add((key, reason))

    def _unprepared(self, plan: SuitePlan, repeat: int) -> bool:
        """Whether what was to bring the plan's targets into their state before a repeat did not get to its end."""
        preparing = [
            each
            for each in self.review.manifest.plans
            if each.prepares and each.key != plan.key and set(each.targets) & set(plan.targets)
        ]
        return any(
            not self.review.has(step.id) for each in preparing for step in each.steps if step.repeat == repeat
        )

    def _plan(self, key: str) -> SuitePlan:
        return next(plan for plan in self.review.manifest.plans if plan.key == key)

    def _replace(self, plan: SuitePlan) -> None:
        self.review.save_manifest(with_plan(self.review.manifest, plan))

    def _run(self, plan: SuitePlan, step: StepPlan, label: str) -> None:
        """Run one step and save it, and how its targets are left."""
        manifest = self.review.manifest
        if any(self.trace(manifest.target(path)) for path in plan.targets):
            self.review.save_manifest(manifest.model_copy(update={"under_way": step.id}))
        try:
            self._attempt(plan, step, label)
        finally:
            self._leave(plan)

    def _leave(self, plan: SuitePlan) -> None:
        """Save how a plan's targets are left, so that what goes on later can tell whether they still are."""
        manifest = self.review.manifest
        traces = {path: trace for path in plan.targets if (trace := self.trace(manifest.target(path)))}
        if traces or manifest.under_way:
            # Where it cannot be saved, the targets count as written to when the review goes on.
            with contextlib.suppress(IogaugeError):
                left = {**manifest.left, **traces}
                self.review.save_manifest(manifest.model_copy(update={"left": left, "under_way": None}))

    def _attempt(self, plan: SuitePlan, step: StepPlan, label: str) -> None:
        job_file = workload.jobs_of(step)
        if len(self.review.manifest.plans) > 1:
            label = f"{plan.title}, {label}" if step != plan.search else label
        self.ahead.remove(step)
        self.watcher.step(
            label,
            expected_s=expected_s(step),
            ahead=self.ahead.count,
            ahead_s=self.ahead.seconds,
        )
        if step.purge:
            self._purge(plan)
        with self.review.begin(step.id) as writer:
            unsaved: list[IogaugeError] = []

            def heard(interval: Interval) -> None:
                try:
                    writer.interval(interval)
                except IogaugeError as error:
                    unsaved.append(error)
                    raise
                self.watcher.interval(interval)

            try:
                record = self.execute(
                    job_file,
                    destroy=self.destroy,
                    seed=step.seed,
                    interval_ns=max(job.log_avg_ns for job in job_file.jobs) or step.interval_ns,
                    on_interval=heard,
                    on_message=self.watcher.message,
                    on_start=lambda plan, _targets: self.watcher.started(plan),
                    ceiling=self.review.manifest.ceiling,
                )
            except IogaugeError as error:
                if unsaved:
                    raise
                self._fail(plan, step, str(error))
                return
            problem = _problem(record)
            if problem is None:
                writer.finish(record)
                self.watcher.ended(plan, record)
                return
            writer.finish_stopped(record)
        if record.result.stopped_by == "interrupt":
            raise Interrupted(step.id)
        self._fail(plan, step, f"ended early: {problem}")

    def _purge(self, plan: SuitePlan) -> None:
        if self.purge is None:
            raise RuntimeError(f"{plan.key} asks for a purge, and nothing was given to do it")
        for path in plan.targets:
            self.purge(path, destroy=self.destroy, on_message=self.watcher.message)

    def _fail(self, plan: SuitePlan, step: StepPlan, why: str) -> None:
        self.failed.append(Failed(step.id, why))
        self.ahead.add([step])
        if step != plan.search:
            self.failed_groups.add(step.state_group)
        self.watcher.message(f"failed: {step.id}: {why}")


def _searches(review: Review) -> Iterator[StepPlan]:
    """Yield the searches whose plans have no steps yet."""
    for plan in review.manifest.plans:
        if plan.search is not None and not plan.steps:
            yield plan.search


def _missing(review: Review) -> Iterator[StepPlan]:
    """Yield the steps that are still to be run, searches whose plans have no steps yet included."""
    yield from _searches(review)
    yield from (step for step in review.manifest.steps if not review.has(step.id))


def _shared_warnings(review: Review) -> tuple[Caution, ...]:
    """Return the review's own warnings, and those that every step gave in the same words, which are about it too."""
    first, *others = [review.record(step.id).warnings for step in review.manifest.steps]
    shared = (warning for warning in first if all(warning in each for each in others))
    meanwhile = (each for each in review.manifest.warnings if each.code is Code.WRITTEN_MEANWHILE)
    return (*meanwhile, *shared)


def _problem(record: RunRecord) -> str | None:
    """Return why a run did not get to its end; None: it did."""
    failed = {f"{worker.name}: {worker.error}" for worker in record.result.workers if worker.error}
    return record.result.error or "; ".join(sorted(failed)) or record.result.stopped_by
