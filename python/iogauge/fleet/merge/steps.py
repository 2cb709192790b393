"""The steps of a fleet's hosts: on which drive each ran, what of it is measured, and whether it is complete.

A thousand manifests do not fit into memory as they are, so what merging needs of them is kept, and no more.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from iogauge.schema import Direction, FleetHost, Kind, StepPlan, SuitePlan, TargetFacts
from iogauge.store import Review
from iogauge.store.fleet import FleetStore
from iogauge.store.names import MANIFEST


@dataclass(frozen=True, slots=True)
class HostStep:
    """A step of one host's review."""

    host: str
    id: str
    directory: Path
    """Where the step is saved, if it is complete."""
    complete: bool
    target: str
    """Path of the drive, file or model that it is about."""
    model: str
    firmware: str
    """Both as the drive says; empty: unknown."""
    measured_job: str
    direction: Direction | None
    """The only direction that is judged; None: all that the measured job issues."""
    kind: Kind
    """The latency that is judged."""


def steps_of(store: FleetStore, host: FleetHost) -> tuple[HostStep, ...]:
    """Return the judged steps of a host, as its review has planned them; none where nothing of it was saved.

    Raises IogaugeError if its manifest is damaged.
    """
    directory = store.host_directory(host.name)
    if not (directory / MANIFEST).is_file():
        return ()
    review = Review.open(directory)
    facts = {target.path: target for target in review.manifest.targets}
    return tuple(
        host_step(host, review, plan, step, facts.get(plan.targets[0]))
        for plan in review.manifest.plans
        for step in plan.steps
        if step.judged
    )


def host_step(
    host: FleetHost, review: Review, plan: SuitePlan, step: StepPlan, target: TargetFacts | None
) -> HostStep:
    """Return a step of a host's review; ``target`` is what is known of its first target."""
    return HostStep(
        host=host.name,
        id=step.id,
        directory=review.step_path(step.id),
        complete=review.has(step.id),
        target=", ".join(plan.targets),
        model=_model(target),
        firmware=_firmware(target),
        measured_job=plan.measured_job,
        direction=step.direction,
        kind=step.kind or plan.kind,
    )


def _model(target: TargetFacts | None) -> str:
    if target is None:
        return ""
    return target.modelled.drive if target.modelled else target.model or ""


def _firmware(target: TargetFacts | None) -> str:
    return (target.firmware or "") if target else ""
