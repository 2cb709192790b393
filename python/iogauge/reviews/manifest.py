"""Begins a review, and checks that one which goes on still means the same drive and machine.

Nothing is measured here, and facts about target and machine are given, not found.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.reviews.ordering import put
from iogauge.schema import (
    Ceiling,
    Direction,
    MachineFacts,
    Manifest,
    Pace,
    State,
    StepPlan,
    SuitePlan,
    TargetFacts,
    TargetState,
)
from iogauge.suites.precondition import Precondition
from iogauge.suites.suite import Suite, SuiteRequest
from iogauge.target.layers import Layer

_LIBRARIES = ("iogauge", "numpy", "pyarrow", "pydantic", "scipy")


def new_manifest(
    suites: Sequence[Suite],
    targets: Sequence[TargetFacts],
    *,
    seed: int,
    command: Sequence[str],
    machine: MachineFacts,
    ceiling: Ceiling | None,
    pace: Pace = "quick",
    state: State = "as-is",
    repeats: int = 1,
    until_supported: float | None = None,
    size_bytes: int | None = None,
    runtime_ns: int | None = None,
    found: Mapping[str, TargetState] | None = None,
    layers: Callable[[TargetFacts], tuple[Layer, ...]] = lambda _: (),
) -> Manifest:
    """Return the manifest of a review that begins now, planned as far as it can be before its searches.

    Args:
        suites: in the order in which they are conducted; what brings drives into ``state`` comes before them.
        targets: what each is conducted on; a suite that takes them together, on all at once.
        seed: every step's is derived from it. At least 0.
        until_supported: the quantile that steps are made longer for; None: they are as long as planned.
        size_bytes: how much of each target to use; None: each suite's own choice. Positive.
        runtime_ns: measured part of a step; None: each suite's own choice. Positive.
        found: in which state targets are, by their paths, where that is known.
        layers: finds what a suite that asks for it compares a target with.

    Raises IogaugeError where a planned job file is not one: with a size below a block, for instance.
    """
    plans: list[SuitePlan] = []
    for suite in [*([] if state == "as-is" else [Precondition()]), *suites]:
        groups = [tuple(targets)] if suite.TOGETHER else [(target,) for target in targets]
        for place, group in enumerate(groups):
            if len(group) < suite.FEWEST_TARGETS:
                raise IogaugeError(
                    f"{suite.NAME} takes {suite.FEWEST_TARGETS} targets at least, together",
                    hint="name them all in one command: iogauge review TARGET TARGET ...",
                )
            request = SuiteRequest(
                targets=group,
                pace=pace,
                state=state,
                size_bytes=size_bytes,
                runtime_ns=runtime_ns,
                layers=layers(group[0]) if suite.LAYERS else (),
            )
            key = f"{suite.NAME}.t{place + 1}" if len(groups) > 1 else suite.NAME
            plan = suite.plan(request)
            plans.append(plan.model_copy(update={"key": key, "suite": suite.origin or suite.NAME}))
            _check(plans[-1])
    plans = [put(plan, seed=seed, repeats=repeats if _repeated(plan, plans) else 1) for plan in plans]
    now = datetime.now(UTC)
    return Manifest(
        id=f"{suites[0].NAME if len(suites) == 1 else 'review'}-{now:%Y%m%dT%H%M%SZ}-{seed:x}",
        created_at=now.isoformat(timespec="seconds"),
        command=tuple(command),
        seed=seed,
        pace=pace,
        repeats=repeats,
        state=state,
        until_supported=until_supported,
        plans=tuple(plans),
        targets=tuple(targets),
        found=dict(found or {}),
        machine=machine,
        ceiling=ceiling,
        versions=versions(),
    )


def _repeated(plan: SuitePlan, plans: Sequence[SuitePlan]) -> bool:
    """Whether a plan is conducted in every repeat: what prepares targets is, where what comes after it writes.

    Suites whose steps are not known yet search with writes, and go on with them.
    """
    if not plan.prepares:
        return True
    others = [each for each in plans if not each.prepares and set(each.targets) & set(plan.targets)]
    return any(not each.steps or any(map(_writes, each.steps)) for each in others)


def _writes(step: StepPlan) -> bool:
    """Whether a step changes what its targets hold."""
    jobs = workload.jobs_of(step).jobs
    return step.purge or any({Direction.WRITE, Direction.TRIM} & set(job.rw.directions) for job in jobs)


def _check(plan: SuitePlan) -> None:
    """Refuse, before anything is made, a plan whose job files mean something else than what it is for."""
    for step in (*plan.steps, *([plan.search] if plan.search else [])):
        for job in workload.jobs_of(step).jobs:
            if strange := set(job.filenames) - {*plan.targets, *plan.beside}:
                raise IogaugeError(
                    f"{', '.join(plan.targets)}: a job file gives some of these characters another meaning, "
                    f"and would run on {', '.join(sorted(strange))}",
                    hint="name the target by a symbolic link of letters and digits",
                )


def check_same_target(manifest: Manifest, target: TargetFacts) -> None:
    """Refuse to go on with a review on another drive than the one it was begun on.

    Raises:
        IogaugeError: model, serial number or size are known to differ.
    """
    begun_on = manifest.target(target.path)
    for name, then, now in (
        ("model", begun_on.model, target.model),
        ("serial number", begun_on.serial, target.serial),
        ("kind", begun_on.kind, target.kind),
        ("size", begun_on.size_bytes, target.size_bytes),
        ("parameters", _parameters(begun_on), _parameters(target)),
    ):
        # A file may have been extended by another run; only what the steps use counts.
        used = most_used(manifest, target.path)
        enough = used is not None and target.size_bytes >= used
        if then is not None and now is not None and then != now and not (name == "size" and enough):
            raise IogaugeError(
                f"{target.path}: this review was begun on another target: {name} {then}, now {now}",
                hint="put the first one back, or begin a new review",
            )


def most_used(manifest: Manifest, path: str) -> int | None:
    """Return how much of a target a review's plans use at most, bytes; None: all of it."""
    sizes = [plan.size_bytes for plan in manifest.plans if path in plan.targets]
    return None if None in sizes else max((size for size in sizes if size), default=None)


def _parameters(target: TargetFacts) -> str | None:
    """What a drive model and the machine in front of it were made of; None for a real target."""
    return target.modelled.sha256[:16] if target.modelled else None


def differences(manifest: Manifest, machine: MachineFacts) -> Iterator[str]:
    """Yield what is not as it was when the review was begun, in words."""
    for name, then, now in (
        ("host", manifest.machine.hostname, machine.hostname),
        ("kernel", manifest.machine.kernel, machine.kernel),
        ("CPU", manifest.machine.cpu, machine.cpu),
        ("number of CPUs", manifest.machine.cpus_allowed, machine.cpus_allowed),
        ("iogauge", manifest.versions.get("iogauge"), versions().get("iogauge")),
    ):
        if then != now:
            yield f"{name} was {then} when this review was begun, and is {now} now: steps may not compare"


def versions() -> dict[str, str]:
    """Return the versions of iogauge and the libraries that results pass through, where they are installed."""
    found = {}
    for library in _LIBRARIES:
        try:
            found[library] = importlib.metadata.version(library)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
