"""Discards what an interruption made invalid, so that a resumed review measures the same as an uninterrupted one.

Steps whose drive state depends on earlier steps form a state group. An interrupted group starts again from its first
step, preconditioning included. A target keeps the state that a review brought it into only while nothing else writes
to it. If something did between two runs of the review, the target is preconditioned again before the rest of the
block; if the review has no preconditioning, a warning says so.

A killed step wrote too. The message names it, since the step, another program or both may have done the writing.
This module runs nothing and looks at no target: its caller passes ``fingerprint``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from iogauge.errors import IogaugeError
from iogauge.machine.warnings import warning
from iogauge.reviews.ordering import order, placed, with_plan
from iogauge.schema import Code, Manifest, SuitePlan, TargetFacts, WriteFingerprint
from iogauge.store import Review
from iogauge.suites.suite import Suite
from iogauge.text import numbers


def goes_on(review: Review, suites: Callable[[str], Suite], plan: SuitePlan, repeat: int) -> bool:
    """Return whether more steps follow from a repeat whose steps are all complete."""
    steps = [step for step in plan.steps if step.repeat == repeat]
    if not steps or not all(review.has(step.id) for step in steps):
        return False
    try:
        return bool(suites(plan.suite).more(plan, review, repeat=repeat))
    except IogaugeError:
        return False  # the file of the user's own suite is gone: its complete steps can still be shown


def restart_groups(review: Review, suites: Callable[[str], Suite], say: Callable[[str], None]) -> None:
    """Discard the complete steps of every incomplete state group, and the steps that followed from them."""
    for plan in review.manifest.plans:
        in_order = sorted(plan.steps, key=lambda step: step.state_group)
        # The groups with more steps to come, by repeat. Discarding a step makes them outdated.
        following: dict[int, set[str]] = {}
        for group, members in groupby(in_order, key=lambda step: step.state_group):
            steps = list(members)
            if len(steps) == 1:
                continue
            complete = [step.id for step in steps if review.has(step.id)]
            if len(complete) == len(steps):
                # A group is complete only once no more of its steps follow.
                repeat = steps[0].repeat
                if repeat not in following:
                    following[repeat] = _following(review, plan, suites, repeat=repeat)
                if group not in following[repeat]:
                    continue
            if complete:
                say(f"{group}: was interrupted and starts again from its first step")
            # From the last to the first: after a kill in between, the group still counts as interrupted.
            for step_id in reversed(complete):
                review.discard(step_id)
            following.clear()
            _forget_following(review, plan.key, group)


def _forget_following(review: Review, key: str, group: str) -> None:
    """Remove from the plan the steps of a group that followed from measured ones: other steps may follow now."""
    manifest = review.manifest
    plan = next(plan for plan in manifest.plans if plan.key == key)
    steps = tuple(step for step in plan.steps if not (step.follows and step.state_group == group))
    if steps != plan.steps:
        review.save_manifest(with_plan(manifest, plan.model_copy(update={"steps": steps})))


def _following(review: Review, plan: SuitePlan, suites: Callable[[str], Suite], *, repeat: int) -> set[str]:
    """Return the state groups of the steps that follow from the complete ones."""
    if not all(review.has(step.id) for step in plan.steps if step.repeat == repeat):
        return set()  # steps follow from all of them together
    more = suites(plan.suite).more(plan, review, repeat=repeat)
    new = placed(more, key=plan.key, seed=review.manifest.seed, repeats=[repeat])
    return {step.state_group for step in new}


def check_targets(
    review: Review,
    fingerprint: Callable[[TargetFacts], WriteFingerprint | None],
    say: Callable[[str], None],
    killed: RunningStep | None = None,
) -> None:
    """Discard the preconditioning of every target that was written to since the review left it, or warn of the write.

    ``fingerprint`` returns what later shows whether anything wrote to a target; None if nothing can. ``killed`` is the
    step that was running when the review was killed.
    """
    for path, then in review.manifest.fingerprint_after.items():
        now = fingerprint(review.manifest.target(path))
        what = now and written_between(then, now)
        if not what:
            continue
        if now and killed and path in killed.targets and _unentered(then, now):
            what = f"{what} ({killed.step}, which was running when this review was killed, may have done it)"
        if prepared := _prepared(review, path):
            say(f"{path}: since the review was last saved, {what}: it is preconditioned again")
            _discard_preconditioning(review, prepared)
        else:
            notice = warning(Code.WRITTEN_MEANWHILE, path=path, what=what)
            manifest = review.manifest
            warnings = dict.fromkeys((*manifest.warnings, notice))
            # The new fingerprint keeps this write from being reported again after another kill.
            left = {**manifest.fingerprint_after, path: now}
            review.save_manifest(
                manifest.model_copy(update={"warnings": tuple(warnings), "fingerprint_after": left})
            )
            say(notice.message)


@dataclass(frozen=True)
class RunningStep:
    """A step that was running when its review was killed, and the targets that it may have written to."""

    step: str
    targets: tuple[str, ...]


def running_step(manifest: Manifest) -> RunningStep | None:
    """Return the step that was running when a review was killed; None if none was."""
    for plan in manifest.plans:
        searched = (plan.search,) if plan.search else ()
        if any(step.id == manifest.running_step for step in (*plan.steps, *searched)):
            return RunningStep(str(manifest.running_step), plan.targets)
    return None


def _unentered(then: WriteFingerprint, now: WriteFingerprint) -> bool:
    """Return whether something wrote to the target without an entry in the ledger, as a killed step does."""
    return now.entries == then.entries and (now.boot == then.boot or now.modified_ns != then.modified_ns)


def written_between(then: WriteFingerprint, now: WriteFingerprint) -> str | None:
    """Describe what was written to a target between two fingerprints; None if they show no write.

    Counters restart with the machine, so two boots cannot be compared; the text then says so.

    >>> then = WriteFingerprint(boot="a", written_bytes=4096, trims=0, entries=1, entered_bytes=4096)
    >>> written_between(then, then)
    >>> written_between(then, then.model_copy(update={"written_bytes": 1004096}))
    '1.000 MB were written to it'
    >>> written_between(then, then.model_copy(update={"boot": "b", "written_bytes": 0}))
    'the machine was restarted, and earlier writes to it are not known'
    """
    if now.entries > then.entries:
        runs = numbers.counted(now.entries - then.entries, "run")
        return f"{runs} of iogauge wrote {numbers.size(now.entered_bytes - then.entered_bytes)} to it"
    if then.modified_ns != now.modified_ns:
        return "the file was written to"
    if then.boot != now.boot:
        return "the machine was restarted, and earlier writes to it are not known"
    if then.written_bytes is None or now.written_bytes is None:
        return None
    if (written := now.written_bytes - then.written_bytes) != 0:
        return f"{numbers.size(abs(written))} were written to it"
    return "some of its content was discarded (trims)" if now.trims != then.trims else None


def _prepared(review: Review, path: str) -> tuple[SuitePlan, int] | None:
    """Return the plan that preconditioned a target for its next step, and the repeat in which it did.

    None if no plan did, or if it will run anyway.
    """
    plans = [plan for plan in review.manifest.plans if path in plan.targets]
    for repeat, plan in order(review.manifest):
        steps = [step for step in plan.steps if step.repeat == repeat]
        if plan.prepares or plan not in plans or (steps and all(review.has(step.id) for step in steps)):
            continue
        for candidate in plans:
            before = {step.repeat for step in candidate.steps if candidate.prepares and step.repeat <= repeat}
            if before:
                return candidate, max(before)
        return None
    return None


def _discard_preconditioning(review: Review, prepared: tuple[SuitePlan, int]) -> None:
    """Discard one preconditioning, as if it had been interrupted."""
    plan, repeat = prepared
    steps = [step for step in plan.steps if step.repeat == repeat]
    for step in reversed(steps):
        if review.has(step.id):
            review.discard(step.id)
    for group in dict.fromkeys(step.state_group for step in steps):
        _forget_following(review, plan.key, group)
