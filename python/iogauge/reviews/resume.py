"""What is taken back before a review goes on, so that it means what one means that was never interrupted.

Steps whose drive state depends on earlier ones form a state group; one that was interrupted starts again from its first
step, preconditioning included. The state that a review brought its targets into is only theirs as long as nobody else
writes to them: where somebody did while it stood still, they are prepared again before what is left of the block. Where
nothing prepares them, a warning says so.

A run that was killed outright wrote too: it is named beside what was written, which can be its own, others' or both.
Runs nothing, and compares only what it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from iogauge.errors import IogaugeError
from iogauge.machine.warnings import warning
from iogauge.reviews.ordering import order, placed, with_plan
from iogauge.schema import Code, Manifest, SuitePlan, TargetFacts, Trace
from iogauge.store import Review
from iogauge.suites.suite import Suite
from iogauge.text import numbers


def goes_on(review: Review, suites: Callable[[str], Suite], plan: SuitePlan, repeat: int) -> bool:
    """Whether steps follow from those of a repeat, all of which are complete."""
    steps = [step for step in plan.steps if step.repeat == repeat]
    if not steps or not all(review.has(step.id) for step in steps):
        return False
    try:
        return bool(suites(plan.suite).more(plan, review, repeat=repeat))
    except IogaugeError:
        return False  # of a suite of somebody's own whose file is gone: what there is can be looked at


def restart_groups(review: Review, suites: Callable[[str], Suite], say: Callable[[str], None]) -> None:
    """Take back the complete steps of every state group that is not complete, and what followed from them."""
    for plan in review.manifest.plans:
        in_order = sorted(plan.steps, key=lambda step: step.state_group)
        following: dict[
            int, set[str]
        ] = {}  # state groups that go on, by repeat; forgotten once a step is taken back
        for group, members in groupby(in_order, key=lambda step: step.state_group):
            steps = list(members)
            if len(steps) == 1:
                continue
            complete = [step.id for step in steps if review.has(step.id)]
            if len(complete) == len(steps):
                # A group is complete only once no more of its own follows from its steps.
                repeat = steps[0].repeat
                if repeat not in following:
                    following[repeat] = _following(review, plan, suites, repeat=repeat)
                if group not in following[repeat]:
                    continue
            if complete:
                say(f"{group}: was interrupted, and starts again from its first step")
            # From the last to the first: a kill in between leaves a group that is still seen as interrupted.
            for step_id in reversed(complete):
                review.discard(step_id)
            following.clear()
            _forget_following(review, plan.key, group)


def _forget_following(review: Review, key: str, group: str) -> None:
    """Plan no steps of a state group that followed from measured ones: they may follow again, or others may."""
    manifest = review.manifest
    plan = next(plan for plan in manifest.plans if plan.key == key)
    steps = tuple(step for step in plan.steps if not (step.follows and step.state_group == group))
    if steps != plan.steps:
        review.save_manifest(with_plan(manifest, plan.model_copy(update={"steps": steps})))


def _following(review: Review, plan: SuitePlan, suites: Callable[[str], Suite], *, repeat: int) -> set[str]:
    """Return the state groups of the steps that follow from what is complete."""
    if not all(review.has(step.id) for step in plan.steps if step.repeat == repeat):
        return set()  # what follows is asked of all of them
    more = suites(plan.suite).more(plan, review, repeat=repeat)
    new = placed(more, key=plan.key, seed=review.manifest.seed, repeats=[repeat])
    return {step.state_group for step in new}


def look_again(
    review: Review,
    trace: Callable[[TargetFacts], Trace | None],
    say: Callable[[str], None],
    killed: UnderWay | None = None,
) -> None:
    """Take back the preparation of each target that was written to since the review left it, or warn of it.

    ``trace`` says of a target what tells whether anything wrote to it; None: nothing would. ``killed`` is the step that
    was running when the review was.
    """
    for path, then in review.manifest.left.items():
        now = trace(review.manifest.target(path))
        what = now and written_between(then, now)
        if not what:
            continue
        if now and killed and path in killed.targets and _unentered(then, now):
            what = f"{what} ({killed.step}, which was running when this review was killed, may have done it)"
        if prepared := _prepared(review, path):
            say(f"{path}: since the review was last saved {what}: its state is prepared again")
            _take_back(review, prepared)
        else:
            found = warning(Code.WRITTEN_MEANWHILE, path=path, what=what)
            manifest = review.manifest
            warnings = dict.fromkeys((*manifest.warnings, found))
            # From here on counted anew: another kill would have what this one left told twice.
            left = {**manifest.left, path: now}
            review.save_manifest(manifest.model_copy(update={"warnings": tuple(warnings), "left": left}))
            say(found.message)


@dataclass(frozen=True)
class UnderWay:
    """A step that was running when its review was killed, and the targets that it may have written to."""

    step: str
    targets: tuple[str, ...]


def under_way(manifest: Manifest) -> UnderWay | None:
    """Return the step that was running when a review was killed; ``None``: it was not killed in one."""
    for plan in manifest.plans:
        searched = (plan.search,) if plan.search else ()
        if any(step.id == manifest.under_way for step in (*plan.steps, *searched)):
            return UnderWay(str(manifest.under_way), plan.targets)
    return None


def _unentered(then: Trace, now: Trace) -> bool:
    """Whether writes are known that are in no ledger, as those of a killed step are."""
    return now.entries == then.entries and (now.boot == then.boot or now.modified_ns != then.modified_ns)


def written_between(then: Trace, now: Trace) -> str | None:
    """Return what happened to a target between two traces of it, in words; None: nothing that they could show.

    Counters of two boots say nothing of what happened between: that is said too.

    >>> then = Trace(boot="a", written_bytes=4096, trims=0, entries=1, entered_bytes=4096)
    >>> written_between(then, then)
    >>> written_between(then, then.model_copy(update={"written_bytes": 1004096}))
    '1.000 MB were written to it'
    >>> written_between(then, then.model_copy(update={"boot": "b", "written_bytes": 0}))
    'the machine was started anew, and what was written to it before is not known'
    """
    if now.entries > then.entries:
        runs = numbers.counted(now.entries - then.entries, "run")
        return f"{runs} of iogauge wrote {numbers.size(now.entered_bytes - then.entered_bytes)} to it"
    if then.modified_ns != now.modified_ns:
        return "the file was written to"
    if then.boot != now.boot:
        return "the machine was started anew, and what was written to it before is not known"
    if then.written_bytes is None or now.written_bytes is None:
        return None
    if (written := now.written_bytes - then.written_bytes) != 0:
        return f"{numbers.size(abs(written))} were written to it"
    return "content of it was given back (trims)" if now.trims != then.trims else None


def _prepared(review: Review, path: str) -> tuple[SuitePlan, int] | None:
    """Return what brought a target into the state from which its next step begins, and before which repeat.

    None: nothing did, or it will be run anyway.
    """
    plans = [plan for plan in review.manifest.plans if path in plan.targets]
    for repeat, plan in order(review.manifest):
        steps = [step for step in plan.steps if step.repeat == repeat]
        if plan.prepares or plan not in plans or (steps and all(review.has(step.id) for step in steps)):
            continue
        for each in plans:
            before = {step.repeat for step in each.steps if each.prepares and step.repeat <= repeat}
            if before:
                return each, max(before)
        return None
    return None


def _take_back(review: Review, prepared: tuple[SuitePlan, int]) -> None:
    """Take back one preparation, as if it had been interrupted."""
    plan, repeat = prepared
    steps = [step for step in plan.steps if step.repeat == repeat]
    for step in reversed(steps):
        if review.has(step.id):
            review.discard(step.id)
    for group in dict.fromkeys(step.state_group for step in steps):
        _forget_following(review, plan.key, group)
