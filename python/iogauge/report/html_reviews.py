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
    """One suite of a review on what it tested, under a name that nothing else tested in the report has."""

    label: str
    path: Path
    manifest: Manifest
    plan: SuitePlan
    target: TargetFacts
    """The first, where the suite takes several together."""
    steps: tuple[Step, ...]

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
    """Return what the reviews in ``directories`` tested, suite by suite, in the order in which they have them.

    Raises IogaugeError where one is not a review, is damaged or newer, or where the units of a suite differ.
    """
    reviews = [Review.open(directory) for directory in directories]
    tested = [(review, plan) for review in reviews for plan in review.manifest.plans]
    first: dict[str, tuple[Review, SuitePlan]] = {}
    for review, plan in tested:
        before, theirs = first.setdefault(plan.suite, (review, plan))
        if theirs.axis != plan.axis:
            raise IogaugeError(
                f"{review.path} has {plan.suite} along {plan.axis.name}, {plan.axis.unit}, and {before.path} along "
                f"{theirs.axis.name}, {theirs.axis.unit}: they have no axis in common",
                hint="make one report for each",
            )
    labels = _labels(reviews)
    return tuple(
        _drive(review, plan, " + ".join(labels[review.path, path] for path in plan.targets))
        for suite in first
        for review, plan in tested
        if plan.suite == suite
    )


def _drive(review: Review, plan: SuitePlan, label: str) -> Drive:
    steps = []
    # Series, and places on the axis, in the order in which they were planned.
    series = list(dict.fromkeys(step.series for step in plan.steps))
    places = list(dict.fromkeys(step.at for step in plan.steps))
    for step in sorted(plan.steps, key=lambda s: (series.index(s.series), places.index(s.at), s.repeat)):
        if not step.judged:
            continue
        if not review.has(step.id):
            steps.append(Step(step, None, None))
            continue
        record = review.record(step.id)
        figures = step_figures(
            record,
            review.intervals(step.id),
            reader=plan.reader,
            pressure=plan.pressure,
            kind=plan.kind,
            direction=step.direction,
        )
        steps.append(Step(step, record, figures))
    target = review.manifest.target(plan.targets[0])
    return Drive(label, review.path, review.manifest, plan, target, tuple(steps))


def _name(target: TargetFacts, *, machine: bool = False) -> str:
    """Return what to call a target: the drive, and for a file the file on it. ``machine``: a model's machine too."""
    drive = target.model or target.device
    if target.kind == "block" and drive:
        return drive
    if target.modelled:
        return f"{drive} (model{f' behind {target.modelled.machine}' if machine else ''})"
    name = Path(target.path).name or target.path
    return f"{name} on {drive}" if drive else name


def _labels(reviews: Sequence[Review]) -> dict[tuple[Path, str], str]:
    """Name each target of each review, by a model's machine and the review's directory too, where it takes that."""
    tested = [(review.path, target) for review in reviews for target in review.manifest.targets]
    machines = {
        _name(target): {
            other.modelled and other.modelled.machine for _, other in tested if _name(other) == _name(target)
        }
        for _, target in tested
    }
    names = [_name(target, machine=len(machines[_name(target)]) > 1) for _, target in tested]
    shared = Counter(names)
    labels = [
        f"{name} ({path.resolve().name})" if shared[name] > 1 else name
        for name, (path, _) in zip(names, tested, strict=True)
    ]
    seen: Counter[str] = Counter()
    for place, label in enumerate(labels):
        seen[label] += 1
        if seen[label] > 1:
            labels[place] = f"{label} [{seen[label]}]"
    return {(path, target.path): label for (path, target), label in zip(tested, labels, strict=True)}
