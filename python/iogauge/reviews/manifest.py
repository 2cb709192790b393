"""Plans a new review, and checks that a resumed one still has the same drive and machine.

This module measures nothing. Its caller passes the facts of targets and machine.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from iogauge import workload
from iogauge.catalog.profiles import Profile
from iogauge.errors import IogaugeError
from iogauge.machine.audit.changes import changes
from iogauge.machine.idle_states import Declared
from iogauge.reviews.explained import with_explained
from iogauge.reviews.ordering import placed_plan
from iogauge.schema import (
    Audit,
    Ceiling,
    Direction,
    Goal,
    MachineFacts,
    Manifest,
    Pace,
    PurgeBy,
    State,
    StepPlan,
    SuitePlan,
    TargetFacts,
    TargetState,
)
from iogauge.suites.precondition import Precondition
from iogauge.suites.suite import LadderRequest, Suite, SuiteRequest
from iogauge.suites.uses import needed
from iogauge.target.layers import Layer
from iogauge.text import numbers
from iogauge.text.option import either

_NAMED = 5
"""Settings that a message names."""
_LIBRARIES = ("iogauge", "numpy", "pyarrow", "pydantic", "scipy")


def new_manifest(
    suites: Sequence[Suite],
    targets: Sequence[TargetFacts],
    *,
    seed: int,
    order_seed: int | None = None,
    command: Sequence[str],
    machine: MachineFacts,
    ceiling: Ceiling | None,
    pace: Pace = "quick",
    state: State = "as-is",
    purge_by: PurgeBy = "discard",
    drive_samples: bool = True,
    repeats: int = 1,
    until_supported: float | None = None,
    size_bytes: int | None = None,
    runtime_ns: int | None = None,
    states: Mapping[str, TargetState] | None = None,
    layers: Callable[[TargetFacts], tuple[Layer, ...]] = lambda _: (),
    idle_states: Callable[[TargetFacts], Declared | None] = lambda _: None,
    ladder: Callable[[TargetFacts], LadderRequest | None] = lambda _: None,
    meter: str | None = None,
    goal: Goal | None = None,
    reads_only: str = "",
    use: Sequence[Profile] = (),
) -> Manifest:
    """Plan a review that begins now, as far as it can be planned before its searches.

    Args:
        suites: in the order in which they run, after the preconditioning for ``state``.
        targets: a suite runs on one after the other, or on all at once if its class says so.
        seed: at least 0; the seed of every step derives from it.
        order_seed: of the order of the steps alone; None: that derives from ``seed``, too.
        purge_by: how targets are purged.
        drive_samples: whether drives are sampled while steps run.
        until_supported: lengthen steps to support this quantile; None: keep the planned lengths.
        size_bytes: how much of every target to use; None: the suite's default. Positive.
        runtime_ns: measured part of a step; None: the suite's default. Positive.
        states: the states of targets that are known, by path.
        layers: returns the block devices around a target, for a suite that compares them.
        idle_states: returns what a target declares of its idle states, for a suite that keeps it.
        ladder: returns the tunings of the machine for a target, for a suite that compares them.
        meter: a shell command that prints watts, for a suite that measures power.
        goal: what the suite ``find`` searches for; None: its usual goal.
        reads_only: why nothing may be written, for a suite that can leave its writes out; empty: it may.
        use: plan only the steps that these profiles need, as far as they are known; empty: all.

    Raises IogaugeError if a planned job file is invalid, for example with a size below a block.
    """
    plans: list[SuitePlan] = []
    for suite in [*([] if state == "as-is" else [Precondition()]), *suites]:
        groups = [tuple(targets)] if suite.TOGETHER else [(target,) for target in targets]
        for place, group in enumerate(groups):
            if len(group) < suite.FEWEST_TARGETS:
                raise IogaugeError(
                    f"{suite.NAME} needs at least {suite.FEWEST_TARGETS} targets at once",
                    hint=either(
                        command="name them all in one command: iogauge review TARGET TARGET ...",
                        library="name them all in one call: iogauge.review(['TARGET', 'TARGET', ...])",
                    ),
                )
            request = SuiteRequest(
                targets=group,
                pace=pace,
                state=state,
                purge_by=purge_by,
                size_bytes=size_bytes,
                runtime_ns=runtime_ns,
                layers=layers(group[0]) if suite.LAYERS else (),
                idle_states=idle_states(group[0]) if suite.IDLE_STATES else None,
                ladder=ladder(group[0]) if suite.TUNES else None,
                meter=meter,
                goal=goal,
                reads_only=reads_only,
            )
            key = f"{suite.NAME}.t{place + 1}" if len(groups) > 1 else suite.NAME
            plan = suite.plan(request)
            if use and not plan.prepares:
                plan = needed(plan, use)
            plans.append(plan.model_copy(update={"key": key, "suite": suite.origin or suite.NAME}))
            _check(plans[-1])
    plans = [
        placed_plan(
            plan,
            seed=seed,
            order_seed=order_seed,
            repeats=repeats if _repeated(plan, plans) else 1,
        )
        for plan in plans
    ]
    now = datetime.now(UTC)
    manifest = Manifest(
        id=f"{suites[0].NAME if len(suites) == 1 else 'review'}-{now:%Y%m%dT%H%M%SZ}-{seed:x}",
        created_at=now.isoformat(timespec="seconds"),
        command=tuple(command),
        seed=seed,
        order_seed=order_seed,
        pace=pace,
        repeats=repeats,
        state=state,
        purge_by=purge_by,
        drive_samples=drive_samples,
        until_supported=until_supported,
        use=tuple(profile.name for profile in use),
        plans=tuple(plans),
        targets=tuple(targets),
        state_before=dict(states or {}),
        machine=machine,
        ceiling=ceiling,
        versions=versions(),
    )
    return with_explained(manifest, [plan.key for plan in plans])


def _repeated(plan: SuitePlan, plans: Sequence[SuitePlan]) -> bool:
    """Return whether a plan runs in every repeat. Preconditioning does only if what comes after it writes.

    A suite whose steps are not known yet searches with writes, and its steps write too.
    """
    if not plan.prepares:
        return True
    others = [other for other in plans if not other.prepares and set(other.targets) & set(plan.targets)]
    return any(not other.steps or any(map(_writes, other.steps)) for other in others)


def only_reads(manifest: Manifest) -> bool:
    """Return whether it is known that no step of a review changes the content of its targets."""
    return all(_only_reads(plan) for plan in manifest.plans)


def _only_reads(plan: SuitePlan) -> bool:
    """Return whether no step of a plan writes. Steps that are planned later may, unless they share one load."""
    known = (*plan.steps, *([plan.search] if plan.search else []))
    grows = plan.search is not None or any(step.follows for step in plan.steps)
    return bool(known) and not any(map(_writes, known)) and (plan.one_load or not grows)


def _writes(step: StepPlan) -> bool:
    """Return whether a step changes the content of its targets."""
    jobs = workload.jobs_of(step).jobs
    return step.purge or any({Direction.WRITE, Direction.TRIM} & set(job.rw.directions) for job in jobs)


def _check(plan: SuitePlan) -> None:
    """Refuse a plan whose job files would run on other files than its targets, before anything is created."""
    for step in (*plan.steps, *([plan.search] if plan.search else [])):
        for job in workload.jobs_of(step).jobs:
            if strange := set(job.filenames) - {*plan.targets, *plan.compared_with}:
                raise IogaugeError(
                    f"{', '.join(plan.targets)}: some of these characters have another meaning in a job file, "
                    f"which would run on {', '.join(sorted(strange))}",
                    hint="name the target by a symbolic link whose name has only letters and digits",
                )


def check_same_target(manifest: Manifest, target: TargetFacts) -> None:
    """Refuse to resume a review on another drive than the one it began on.

    Raises:
        IogaugeError: model, serial number or size differ, as far as both are known.
    """
    begun_on = manifest.target(target.path)
    for name, then, now in (
        ("model", begun_on.model, target.model),
        ("serial number", begun_on.serial, target.serial),
        ("kind", begun_on.kind, target.kind),
        ("size", begun_on.size_bytes, target.size_bytes),
        ("parameters", _parameters(begun_on), _parameters(target)),
    ):
        # Another run may have extended a file; only the part that the steps use counts.
        used = most_used(manifest, target.path)
        enough = used is not None and target.size_bytes >= used
        if then is not None and now is not None and then != now and not (name == "size" and enough):
            raise IogaugeError(
                f"{target.path}: this review began on another target: {name} {then}, now {now}",
                hint="restore the first target, or begin a new review",
            )


def most_used(manifest: Manifest, path: str) -> int | None:
    """Return the most bytes of a target that the plans of a review use; None: all of it."""
    sizes = [plan.size_bytes for plan in manifest.plans if path in plan.targets]
    return None if None in sizes else max((size for size in sizes if size), default=None)


def _parameters(target: TargetFacts) -> str | None:
    """Return the checksum of the parameters of a drive model and its machine; None for a real target."""
    return target.modelled.sha256[:16] if target.modelled else None


def differences(manifest: Manifest, machine: MachineFacts) -> Iterator[str]:
    """Yield a sentence for each change of the machine since the review began."""
    for name, then, now in (
        ("host", manifest.machine.hostname, machine.hostname),
        ("kernel", manifest.machine.kernel, machine.kernel),
        ("CPU", manifest.machine.cpu, machine.cpu),
        ("number of CPUs", manifest.machine.cpus_allowed, machine.cpus_allowed),
        ("iogauge", manifest.versions.get("iogauge"), versions().get("iogauge")),
    ):
        if then != now:
            yield f"{name} was {then} when this review began, and is {now} now: its steps may not be comparable"


def settings_changed(begun: Sequence[Audit], now: Sequence[Audit]) -> Iterator[str]:
    """Yield a sentence if settings changed since the review began, those that change latency most first."""
    titles = {fact.id: fact.title for audit in begun for fact in audit.facts}
    changed = [f"{titles[change.id]} was {change.old}, and is {change.new}" for change in changes(begun, now)]
    if changed:
        count = numbers.counted(len(changed), "setting")
        more = f"; and {len(changed) - _NAMED} more" if len(changed) > _NAMED else ""
        yield (
            f"{count} changed since this review began, so its steps may not be comparable: "
            f"{'; '.join(changed[:_NAMED])}{more}"
        )


def versions() -> dict[str, str]:
    """Return the versions of iogauge and of the libraries that results pass through, if installed."""
    installed = {}
    for library in _LIBRARIES:
        try:
            installed[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed
