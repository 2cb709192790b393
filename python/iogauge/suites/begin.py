"""Begins a review, and checks that one which goes on still means the same drive and machine.

Nothing is measured here, and facts about target and machine are given, not found.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.schema import Ceiling, MachineFacts, Manifest, TargetFacts
from iogauge.suites.suite import Asked, Suite

_LIBRARIES = ("iogauge", "numpy", "pyarrow", "pydantic", "scipy")


def new_manifest(
    suite: Suite,
    asked: Asked,
    *,
    command: Sequence[str],
    machine: MachineFacts,
    ceiling: Ceiling | None,
) -> Manifest:
    """Return the manifest of a review that begins now, planned as far as it can be before its search.

    Raises IogaugeError where a planned job file is not one: with a size below a block, for instance.
    """
    plan = suite.plan(asked)
    for step in (*plan.steps, *([plan.search] if plan.search else [])):
        jobs = workload.parse(step.job_file, source=f"{suite.NAME}, {step.id}").jobs
        if any(job.filenames != (asked.target.path,) for job in jobs):
            raise IogaugeError(
                f"{asked.target.path}: a job file gives some of these characters another meaning",
                hint="name the target by a symbolic link of letters and digits",
            )
    now = datetime.now(UTC)
    return Manifest(
        id=f"{suite.NAME}-{now:%Y%m%dT%H%M%SZ}-{asked.seed:x}",
        created_at=now.isoformat(timespec="seconds"),
        command=tuple(command),
        seed=asked.seed,
        pace=asked.pace,
        plan=plan,
        target=asked.target,
        machine=machine,
        ceiling=ceiling,
        versions=versions(),
    )


def check_same_target(manifest: Manifest, target: TargetFacts) -> None:
    """Refuse to go on with a review on another drive than the one it was begun on.

    Raises:
        IogaugeError: model, serial number or size are known to differ.
    """
    for name, then, now in (
        ("model", manifest.target.model, target.model),
        ("serial number", manifest.target.serial, target.serial),
        ("kind", manifest.target.kind, target.kind),
        ("size", manifest.target.size_bytes, target.size_bytes),
        ("parameters", _parameters(manifest.target), _parameters(target)),
    ):
        # A file may have been extended by another run; only what the steps use counts.
        used = manifest.plan.size_bytes
        enough = used is not None and target.size_bytes >= used
        if then is not None and now is not None and then != now and not (name == "size" and enough):
            raise IogaugeError(
                f"{target.path}: this review was begun on another target: {name} {then}, now {now}",
                hint="put the first one back, or begin a new review",
            )


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
