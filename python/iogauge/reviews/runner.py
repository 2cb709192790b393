"""Runs the steps of a review that are missing, and saves every step before the next begins.

To resume a review is to run it again. Complete steps are kept; a step that was interrupted runs again with the same
seed. ``resume`` first discards what an interruption made invalid.

A failed step is reported, and runs again when the review is resumed. Steps that do not depend on it still run.

The caller passes ``execute``, which makes a run. This module does no I/O itself, prints nothing, and needs no suite.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.machine.audit.changes import changes
from iogauge.machine.power.meter import PowerMeter
from iogauge.results.position import name_of
from iogauge.reviews.ahead import Ahead, expected_s, missing, searches
from iogauge.reviews.explained import with_explained
from iogauge.reviews.lengthen import longer, shortfall, why_not_lengthened
from iogauge.reviews.ordering import check_steps, in_order, order, placed, with_plan
from iogauge.reviews.resume import check_targets, goes_on, restart_groups, running_step
from iogauge.schema import (
    Ceiling,
    Code,
    Interval,
    JobFile,
    Notice,
    Rung,
    RunPlan,
    RunRecord,
    StepPlan,
    SuitePlan,
    TargetFacts,
    WriteFingerprint,
)
from iogauge.store import Review
from iogauge.suites.suite import Suite, SuiteRequest

Options = Mapping[str, Any]
"""The arguments with which ``Execute`` runs a step, without its listeners."""


class Execute(Protocol):
    """Runs a job file; ``execution.execute`` is one."""

    def __call__(
        self,
        *,
        job_file: JobFile,
        destroy: Collection[str],
        seed: int,
        interval_ns: int,
        on_interval: Callable[[Interval], None],
        on_message: Callable[[str], None],
        on_start: Callable[[RunPlan, tuple[TargetFacts, ...]], None],
        ceiling: Ceiling | None,
        drive_samples: bool,
    ) -> RunRecord:
        """Run a job file once."""


class Purge(Protocol):
    """Purges a target; ``execution.purge`` is one."""

    def __call__(self, path: str, *, destroy: Collection[str], on_message: Callable[[str], None]) -> None:
        """Discard all content of a target."""


class Tune(Protocol):
    """Sets the machine as a rung wants it; ``library.tunings.rungs.tuned_as`` is one."""

    def __call__(
        self, rung: Rung, path: str, *, on_message: Callable[[str], None]
    ) -> AbstractContextManager[object]:
        """Return a context in which the settings of ``rung`` hold, for the target ``path``; its end undoes them.

        Raises IogaugeError if one of them cannot be set.
        """


class Watcher(Protocol):
    """Shows the progress of a review."""

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
        """Show that a step begins. ``ahead`` more steps follow; they take ``ahead_s``, as far as their jobs say.

        ``search``: it is a search, which is not counted. ``more``: further steps can follow from results.
        """

    def started(self, plan: RunPlan) -> None:
        """Show that the workers of a step begin."""

    def interval(self, interval: Interval) -> None:
        """Show the latest interval of the running step."""

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:
        """Show the result of a step that has been saved."""

    def message(self, text: str) -> None:
        """Show one line of text."""


class Interrupted(Exception):  # noqa: N818 (what the user did, not a failure)
    """Ctrl-C ended a run. Its results are kept in ``stopped/``; complete steps are unchanged."""


@dataclass(frozen=True)
class Failed:
    """A step that did not complete, and why. It runs again when the review is resumed."""

    step_id: str
    why: str


def run_review(
    review: Review,
    suites: Callable[[str], Suite],
    *,
    execute: Execute,
    begin_early: Callable[[Iterator[Options]], None] = lambda _: None,
    watcher: Watcher,
    destroy: Collection[str] = (),
    purge: Purge | None = None,
    tune: Tune | None = None,
    fingerprint: Callable[[TargetFacts], WriteFingerprint | None] = lambda _: None,
    power_meter: Callable[[SuitePlan, StepPlan], PowerMeter | None] = lambda _plan, _step: None,
    start_at: Callable[[StepPlan], int | None] | None = None,
) -> tuple[Failed, ...]:
    """Run the missing steps of a review, its searches first. The caller holds the review's lock.

    Args:
        review: a new review, or one that was interrupted.
        suites: returns a suite by its name.
        execute: runs a job file; its result says if Ctrl-C stopped it.
        begin_early: is called before every step with it and the steps known to follow it, and may begin some of them;
            ``execution.parallel.Parallel.begin`` is one.
        watcher: shows steps, intervals and messages.
        destroy: serial numbers or paths whose content may be lost.
        purge: discards all content of a target; needed if a step begins with a purge.
        tune: sets the machine while a step runs; needed if a step has settings of its own.
        fingerprint: returns what later shows whether anything wrote to a target; None if nothing can.
        power_meter: returns what measures the power of a step; None: nothing does.
        start_at: is called when a step is prepared, and returns when it starts, as that of ``execution.execute``.

    Returns:
        The steps that failed. The rest of their state groups did not run; all other steps did.

    Raises:
        Interrupted: Ctrl-C stopped a run.
        IogaugeError: a run cannot be saved. Complete steps stay complete.
    """
    killed = running_step(review.manifest)  # before steps that follow from others are discarded
    restart_groups(review, suites, watcher.message)
    if remaining(review, suites):
        check_targets(review, fingerprint, watcher.message, killed)
    run = _Run(
        review,
        suites,
        execute,
        begin_early,
        watcher,
        destroy,
        purge,
        tune,
        fingerprint,
        power_meter,
        start_at,
        ahead=Ahead(missing(review), searches=searches(review)),
        open={plan.key for plan in review.manifest.plans if plan.search or suites(plan.suite).adds_steps},
    )
    for plan in review.manifest.plans:
        if plan.prepares:
            run.plan(plan.key, 0)
    for plan in review.manifest.plans:
        run.search(plan)
    for repeat, plan in order(review.manifest):
        run.plan(plan.key, repeat)
        if repeat == review.manifest.repeats - 1:
            run.open.discard(plan.key)
    if not run.failed:
        review.save_manifest(review.manifest.model_copy(update={"warnings": _shared_warnings(review)}))
    return tuple(run.failed)


def remaining(review: Review, suites: Callable[[str], Suite]) -> int:
    """Return how many known steps are still to be run, with searches and interrupted state groups.

    A kill can come between a run and the planning of the steps that follow from it. Those steps count as one.
    """
    manifest = review.manifest
    broken = {step.state_group for step in manifest.steps if not review.has(step.id)}
    return (
        sum(1 for _ in searches(review))
        + sum(step.state_group in broken for step in manifest.steps)
        + sum(goes_on(review, suites, plan, repeat) for repeat, plan in order(manifest))
        + sum(_too_short(review, plan, step) is not None for plan in manifest.plans for step in plan.steps)
    )


def _too_short(review: Review, plan: SuitePlan, step: StepPlan) -> StepPlan | None:
    """Return the longer step that replaces a complete one whose sample does not support the requested quantile."""
    q = review.manifest.until_supported
    return None if q is None or not review.has(step.id) else longer(plan, step, review.record(step.id), q=q)


@dataclass
class _Run:
    """One pass over a review: its arguments, and the steps that failed so far."""

    review: Review
    suites: Callable[[str], Suite]
    execute: Execute
    begin_early: Callable[[Iterator[Options]], None]
    watcher: Watcher
    destroy: Collection[str]
    purge: Purge | None
    tune: Tune | None
    fingerprint: Callable[[TargetFacts], WriteFingerprint | None]
    power_meter: Callable[[SuitePlan, StepPlan], PowerMeter | None]
    start_at: Callable[[StepPlan], int | None] | None
    ahead: Ahead
    open: set[str]
    """The keys of plans to which steps can still be added."""
    failed: list[Failed] = field(default_factory=list)
    failed_groups: set[str] = field(default_factory=set)
    """State groups with a failed step: the drive is not in the state that their later steps need."""
    reported: set[tuple[str, str | None]] = field(default_factory=set)
    """Reasons why steps stay too short, already shown, each with the key of its plan."""

    def search(self, plan: SuitePlan) -> None:
        """Run a plan's search and plan the steps that follow from it, unless the plan has steps already."""
        if plan.search is None or plan.steps or self._unprepared(plan, 0):
            return
        if not self.review.has(plan.search.id):
            self._run(plan, plan.search, f"{plan.title}: search for what the target takes")
        if not self.review.has(plan.search.id):
            return
        manifest = self.review.manifest
        searched = self.review.record(plan.search.id)
        refined = self.suites(plan.suite).refine(plan, searched, SuiteRequest.of(manifest, plan))
        check_steps(plan, refined.steps)
        steps = placed(refined.steps, key=plan.key, seed=manifest.seed, repeats=range(manifest.repeats))
        refined = refined.model_copy(update={"steps": steps})
        self.review.save_manifest(with_explained(with_plan(self.review.manifest, refined), [plan.key]))
        self.ahead.remove(plan.search)
        self.ahead.add(steps)
        if not self.suites(plan.suite).adds_steps:
            self.open.discard(plan.key)

    def plan(self, key: str, repeat: int) -> None:
        """Run one repeat of a plan, then the steps that follow from it, until none follow."""
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
        """Run a step again for longer if its sample does not support the requested quantile."""
        plan = self._plan(key)
        stretched = _too_short(self.review, plan, step)
        if stretched is None:
            return
        # In this order: after a kill in between, the step is missing and still short, so it is lengthened again.
        self.review.discard(step.id)
        steps = tuple(stretched if other.id == step.id else other for other in plan.steps)
        self._replace(plan.model_copy(update={"steps": steps}))
        self._run(
            plan, stretched, f"{name_of(step, plan.axis, repeat=True)}, {stretched.longer} times as long"
        )

    def _note_short(self, key: str, step_id: str) -> None:
        """Save in the plan why a step does not support the requested quantile; show each reason once per plan."""
        q = self.review.manifest.until_supported
        if q is None or not self.review.has(step_id):
            return
        plan = self._plan(key)
        step = next(step for step in plan.steps if step.id == step_id)
        short = shortfall(plan, step, self.review.record(step_id), q=q) or ""
        if short == step.short:
            return
        noted = step.model_copy(update={"short": short})
        steps = tuple(noted if other.id == step_id else other for other in plan.steps)
        self._replace(plan.model_copy(update={"steps": steps}))
        reason = why_not_lengthened(step, plan.steps)
        if short and (key, reason) not in self.reported:
            self.watcher.message(f"{plan.title}, {name_of(step, plan.axis, repeat=True)}: {short}")
            if reason:
                self.reported.add((key, reason))

    def _unprepared(self, plan: SuitePlan, repeat: int) -> bool:
        """Return whether the preconditioning of a plan's targets for a repeat is incomplete."""
        preconditioning = [
            other
            for other in self.review.manifest.plans
            if other.prepares and other.key != plan.key and set(other.targets) & set(plan.targets)
        ]
        return any(
            not self.review.has(step.id)
            for other in preconditioning
            for step in other.steps
            if step.repeat == repeat
        )

    def _plan(self, key: str) -> SuitePlan:
        return next(plan for plan in self.review.manifest.plans if plan.key == key)

    def _replace(self, plan: SuitePlan) -> None:
        self.review.save_manifest(with_plan(self.review.manifest, plan))

    def _run(self, plan: SuitePlan, step: StepPlan, label: str) -> None:
        """Run one step, and save it with the fingerprints of its targets."""
        manifest = self.review.manifest
        if any(self.fingerprint(manifest.target(path)) for path in plan.targets):
            self.review.save_manifest(manifest.model_copy(update={"running_step": step.id}))
        try:
            self._attempt(plan, step, label)
        finally:
            self._leave(plan)

    def _leave(self, plan: SuitePlan) -> None:
        """Save the fingerprints of a plan's targets, so that a resumed review sees whether anything wrote to them."""
        manifest = self.review.manifest
        fingerprints = {
            path: fingerprint
            for path in plan.targets
            if (fingerprint := self.fingerprint(manifest.target(path)))
        }
        if fingerprints or manifest.running_step:
            # If they cannot be saved, a resumed review assumes that something wrote to the targets.
            with contextlib.suppress(IogaugeError):
                left = {**manifest.fingerprint_after, **fingerprints}
                self.review.save_manifest(
                    manifest.model_copy(update={"fingerprint_after": left, "running_step": None})
                )

    def _attempt(self, plan: SuitePlan, step: StepPlan, label: str) -> None:
        if len(self.review.manifest.plans) > 1:
            several = len({target.path for target in self.review.manifest.targets}) > 1
            of = f" of {', '.join(plan.targets)}" if several else ""
            label = f"{label}{of}" if step == plan.search else f"{plan.title}{of}, {label}"
        self.ahead.remove(step)
        self.watcher.step(
            label,
            expected_s=expected_s(step),
            ahead=self.ahead.count,
            ahead_s=self.ahead.seconds,
            search=step == plan.search,
            more=bool(self.open),
        )
        self.begin_early(self._upcoming())
        if step.purge:
            self._purge(plan)
        with self.review.begin(step.id) as writer:
            unsaved: list[IogaugeError] = []
            meter = self.power_meter(plan, step) if step.power_ns else None
            start_at: Options = {"start_at": partial(self.start_at, step)} if self.start_at else {}

            def on_start(run_plan: RunPlan, _targets: tuple[TargetFacts, ...]) -> None:
                if meter is not None:
                    meter.start()
                self.watcher.started(run_plan)

            def on_interval(interval: Interval) -> None:
                try:
                    writer.interval(interval)
                except IogaugeError as error:
                    unsaved.append(error)
                    raise
                self.watcher.interval(interval)

            try:
                with self._tuned(plan, step):
                    record = self.execute(
                        **self._options(plan, step),
                        on_interval=on_interval,
                        on_message=self.watcher.message,
                        on_start=on_start,
                        **start_at,
                    )
            except IogaugeError as error:
                if unsaved:
                    raise
                self._fail(plan, step, str(error))
                return
            finally:
                power = meter.finish() if meter is not None else None
            record = self._with_changes(step, record).model_copy(update={"power": power})
            problem = _problem(record)
            if problem is None:
                writer.finish(record)
                self.watcher.ended(plan, record)
                return
            writer.finish_stopped(record)
        if record.result.stopped_by == "interrupt":
            raise Interrupted(step.id)
        self._fail(plan, step, f"ended early: {problem}")

    def _options(self, plan: SuitePlan, step: StepPlan) -> Options:
        job_file = workload.jobs_of(step)
        return {
            "job_file": job_file,
            "destroy": self.destroy,
            "seed": step.seed,
            "interval_ns": max(job.log_avg_ns for job in job_file.jobs) or step.interval_ns,
            "ceiling": self.review.manifest.ceiling,
            "drive_samples": self.review.manifest.drive_samples and not plan.undisturbed,
            **({"explain": True} if step.explained else {}),
        }

    def _upcoming(self) -> Iterator[Options]:
        """Yield the arguments of the known steps that are still to be run, in the order in which they run."""
        failed = {step.step_id for step in self.failed}
        for plan, steps in in_order(self.review.manifest):
            for step in steps:
                skipped = step.id in failed or step.state_group in self.failed_groups
                if not skipped and not self.review.has(step.id):
                    yield self._options(plan, step)

    def _with_changes(self, step: StepPlan, record: RunRecord) -> RunRecord:
        """Return a record with the settings that changed since the review began, in the place of its audits.

        An audit of a drive that the review has not used before is saved with the review, unless the step's rung had
        set the machine: the review's audits show the machine as it is. What a rung sets is in the plan, and no change.
        """
        begun = self.review.audits()
        known = {audit.target for audit in begun}
        rung = step.rung.settings if step.rung else {}
        new = () if rung else tuple(audit for audit in record.audits if audit.target not in known)
        if new:
            self.review.save_audits((*begun, *new))
        changed = tuple(change for change in changes(begun, record.audits) if change.id not in rung)
        return record.model_copy(update={"audits": (), "audit_changes": changed})

    def _tuned(self, plan: SuitePlan, step: StepPlan) -> AbstractContextManager[object]:
        """Return the context in which a step runs: with the settings of its rung, if it has any."""
        if step.rung is None or not step.rung.settings:
            return contextlib.nullcontext()
        if self.tune is None:
            raise RuntimeError(f"{step.id} has settings of the machine: run_review() needs tune")
        return self.tune(step.rung, plan.targets[0], on_message=self.watcher.message)

    def _purge(self, plan: SuitePlan) -> None:
        if self.purge is None:
            raise RuntimeError(f"{plan.key} begins with a purge: run_review() needs purge")
        for path in plan.targets:
            self.purge(path, destroy=self.destroy, on_message=self.watcher.message)

    def _fail(self, plan: SuitePlan, step: StepPlan, why: str) -> None:
        self.failed.append(Failed(step.id, why))
        self.ahead.add([step])
        if step != plan.search:
            self.failed_groups.add(step.state_group)
        self.watcher.message(f"failed: {step.id}: {why}")


def _shared_warnings(review: Review) -> tuple[Notice, ...]:
    """Return the review's own warnings, and the warnings that all steps share: they concern the review too."""
    first, *others = [review.record(step.id).warnings for step in review.manifest.steps]
    shared = (warning for warning in first if all(warning in warnings for warnings in others))
    own = (warning for warning in review.manifest.warnings if warning.code is Code.WRITTEN_MEANWHILE)
    return (*own, *shared)


def _problem(record: RunRecord) -> str | None:
    """Return why a run ended early; None if it did not."""
    failed = {f"{worker.name}: {worker.error}" for worker in record.result.workers if worker.error}
    return record.result.error or "; ".join(sorted(failed)) or record.result.stopped_by
