"""Saved reviews as charts and tables want them: a name for each drive, and each step with its figures.

Reads the store alone and judges nothing. An incomplete review is loaded as far as it got: a step that is missing
has neither record nor figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.schema import Code, Manifest, RunRecord, StepPlan, SuitePlan, TargetFacts
from iogauge.schema import Warning as Caution
from iogauge.stats.figures import StepFigures, step_figures
from iogauge.store import Review


@dataclass(frozen=True)
class Step:
    """One planned step; ``record`` and ``figures`` are ``None`` where it is not complete."""

    plan: StepPlan
    record: RunRecord | None
    figures: StepFigures | None


@dataclass(frozen=True)
class Warned:
    """One remedy, and the messages that call for it, each with the steps it was given for; none: the whole review."""

    remedy: str
    messages: tuple[tuple[str, tuple[StepPlan, ...]], ...]


@dataclass(frozen=True)
class Drive:
    """One review: what was tested, under a name that no other review of the report has."""

    label: str
    path: Path
    manifest: Manifest
    steps: tuple[Step, ...]

    @property
    def plan(self) -> SuitePlan:
        """The suite's plan."""
        return self.manifest.plan

    @property
    def missing(self) -> tuple[Step, ...]:
        """The steps that were planned and are not complete."""
        return tuple(step for step in self.steps if step.figures is None)

    @property
    def taken_as_independent(self) -> bool:
        """Whether any step was too short to see how its latencies cluster: its intervals are then too narrow."""
        return any(figures.mean and not figures.mean.dependence for _, figures, _ in self.measured())

    @property
    def device_timed(self) -> bool:
        """Whether the kernel counted how long the device took: of a drive model it counts nothing."""
        return any(figures.device_mean_ns is not None for _, figures, _ in self.measured())

    def measured(self) -> Iterator[tuple[Step, StepFigures, RunRecord]]:
        """Yield the complete steps, in the order of the axis."""
        for step in self.steps:
            if step.figures is not None and step.record is not None:
                yield step, step.figures, step.record

    def warnings(self) -> tuple[Warned, ...]:
        """Return the warnings of the review and of its steps, those with one remedy together, the review's first."""
        given: list[tuple[Caution, StepPlan | None]] = [(warning, None) for warning in self.manifest.warnings]
        given += [
            (warning, step.plan)
            for step, _, record in self.measured()
            for warning in record.warnings
            if warning not in self.manifest.warnings
        ]
        groups: dict[tuple[Code, str], dict[str, list[StepPlan]]] = {}
        for warning, step in given:
            steps = groups.setdefault((warning.code, warning.hint), {}).setdefault(warning.message, [])
            steps.extend([step] if step else [])
        return tuple(
            Warned(hint, tuple((message, tuple(steps)) for message, steps in messages.items()))
            for (_, hint), messages in groups.items()
        )


def load(directories: Sequence[Path]) -> tuple[Drive, ...]:
    """Return the reviews in ``directories``, one drive each.

    Raises IogaugeError where one is not a review, is damaged or newer, or where their suites or units differ.
    """
    reviews = [Review.open(directory) for directory in directories]
    first = reviews[0].manifest.plan
    for review in reviews[1:]:
        if (review.manifest.plan.suite, review.manifest.plan.axis) != (first.suite, first.axis):
            raise IogaugeError(
                f"{review.path} is a review by suite {review.manifest.plan.suite!r}, "
                f"{reviews[0].path} by {first.suite!r}: they have no axis in common",
                hint="make one report for each suite",
            )
    labels = _labels([review.manifest.target for review in reviews], [review.path for review in reviews])
    return tuple(_drive(review, label) for review, label in zip(reviews, labels, strict=True))


def _drive(review: Review, label: str) -> Drive:
    plan = review.manifest.plan
    steps = []
    # Series, and places on the axis, in the order in which they were planned.
    series = list(dict.fromkeys(step.series for step in plan.steps))
    places = list(dict.fromkeys(step.at for step in plan.steps))
    for step in sorted(plan.steps, key=lambda s: (series.index(s.series), places.index(s.at), s.repeat)):
        if not review.has(step.id):
            steps.append(Step(step, None, None))
            continue
        record = review.record(step.id)
        figures = step_figures(record, review.intervals(step.id), reader=plan.reader, pressure=plan.pressure)
        steps.append(Step(step, record, figures))
    return Drive(label, review.path, review.manifest, tuple(steps))


def _name(target: TargetFacts, *, machine: bool = False) -> str:
    """Return what to call a target: the drive, and for a file the file on it. ``machine``: a model's machine too."""
    drive = target.model or target.device
    if target.kind == "block" and drive:
        return drive
    if target.modelled:
        return f"{drive} (model{f' behind {target.modelled.machine}' if machine else ''})"
    name = Path(target.path).name or target.path
    return f"{name} on {drive}" if drive else name


def _labels(targets: Sequence[TargetFacts], paths: Sequence[Path]) -> list[str]:
    """Name each drive; by a model's machine and the review's directory too, where its name alone is not enough."""
    names = [_name(target) for target in targets]
    machines = {
        name: {target.modelled and target.modelled.machine for target in targets if _name(target) == name}
        for name in names
    }
    names = [_name(target, machine=len(machines[_name(target)]) > 1) for target in targets]
    shared = Counter(names)
    labels = [
        f"{name} ({path.resolve().name})" if shared[name] > 1 else name
        for name, path in zip(names, paths, strict=True)
    ]
    seen: Counter[str] = Counter()
    for place, label in enumerate(labels):
        seen[label] += 1
        if seen[label] > 1:
            labels[place] = f"{label} [{seen[label]}]"
    return labels
