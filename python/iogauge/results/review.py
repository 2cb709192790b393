"""Saved reviews as charts and tables want them: a name for each drive, and each step with its figures.

Steps that a review repeats are one ``Place``, whose figures are those of its runs together.
Reads the store alone; what a suite concludes comes from its caller, before anything else asks for a step's figures. An
incomplete review is loaded as far as it got: a step that is missing has neither record nor figures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.machine.warnings import of_step
from iogauge.results.conclusions import Shown
from iogauge.results.saved import saved_figures
from iogauge.schema import Code, Manifest, RunRecord, StepPlan, SuitePlan, TargetFacts
from iogauge.schema import Warning as Caution
from iogauge.stats.figures import StepFigures
from iogauge.stats.pooled import together
from iogauge.stats.steady import left_level
from iogauge.store import Reading, Review
from iogauge.text import numbers

FEW = 4
"""So many steps are named one by one."""


@dataclass(frozen=True)
class Step:
    """One planned step; ``record`` and ``figures`` are ``None`` where it is not complete."""

    plan: StepPlan
    record: RunRecord | None
    figures: StepFigures | None


@dataclass(frozen=True)
class Place:
    """One place on the axis of a series: its runs, one for each repeat, and their figures together."""

    runs: tuple[Step, ...]
    """At least one, in the order of the repeats."""

    @property
    def plan(self) -> StepPlan:
        """What the runs have in common, as planned for the first."""
        return self.runs[0].plan

    @cached_property
    def figures(self) -> StepFigures | None:
        """Of all complete runs; ``None`` where there is none."""
        found = [run.figures for run in self.runs if run.figures is not None]
        return together(found) if found else None

    @property
    def stopped_by(self) -> tuple[str, ...]:
        """What ended runs before their time, each once."""
        found = (run.record.result.stopped_by for run in self.runs if run.record is not None)
        return tuple(dict.fromkeys(why for why in found if why))


@dataclass(frozen=True)
class Warned:
    """One remedy, and the messages that call for it, each with the steps it was given for; empty: the whole review."""

    remedy: str
    messages: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Drive:
    """One suite of a review on what it tested, under a name that nothing else tested in the report has."""

    label: str
    slug: str
    """A name for links and files, which nothing else in the report has."""
    path: Path
    manifest: Manifest
    plan: SuitePlan
    target: TargetFacts
    """The first, where the suite takes several together."""
    steps: tuple[Step, ...]
    shown: Shown
    """What the suite concludes."""

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """The steps, repeats of one together, series by series in the order of the axis."""
        found: dict[tuple[str, str, float], list[Step]] = {}
        for step in self.steps:
            found.setdefault((step.plan.series, step.plan.label, step.plan.at), []).append(step)
        return tuple(Place(tuple(runs)) for runs in found.values())

    def anchor(self, step: StepPlan) -> str:
        """Return the name of a step's row, for links to it."""
        return f"{self.slug}-{step.id}"

    @property
    def along_pressure(self) -> bool:
        """Whether what presses grows along the axis, and nothing else changes."""
        return bool(self.plan.pressure) and len({place.plan.series for place in self.places}) <= 1

    @property
    def repeated(self) -> bool:
        """Whether any place was measured more than once."""
        return any(len(place.runs) > 1 for place in self.places)

    def called(self, step: StepPlan) -> str:
        """Return what a step is called in words: its own label, or its place on the axis with its unit."""
        return step.label or f"{at(step.at)} {numbers.unit_of(step.at, self.plan.axis.unit)}"

    @property
    def missing(self) -> tuple[Step, ...]:
        """The steps that were planned and are not complete."""
        return tuple(step for step in self.steps if step.figures is None)

    @property
    def taken_as_independent(self) -> bool:
        """Whether any step was too short to see how its latencies cluster: its intervals are then too narrow."""
        # Of several runs the interval is that of the runs, whatever clusters within them.
        return any(
            place.figures.mean and not place.figures.mean.dependence
            for place in self.places
            if place.figures is not None and not place.figures.told
        )

    @property
    def may_miss(self) -> str:
        """How rare a stall the shortest step can miss; empty where none is short."""
        return numbers.may_miss(figures.duration_s for _, figures, _ in self.measured())

    @property
    def told(self) -> bool:
        """Whether another program told of latencies without their samples: these have no intervals."""
        return any(place.figures is not None and place.figures.told for place in self.places)

    @property
    def device_timed(self) -> bool:
        """Whether the kernel counted how long the device took: of a drive model it counts nothing."""
        return any(figures.device_mean_ns is not None for _, figures, _ in self.measured())

    def measured(self) -> Iterator[tuple[Step, StepFigures, RunRecord]]:
        """Yield the complete steps, in the order of the axis."""
        for step in self.steps:
            if step.figures is not None and step.record is not None:
                yield step, step.figures, step.record


def warnings(drives: Sequence[Drive]) -> tuple[Warned, ...]:
    """Return the warnings of one thing's reviews and steps, those with one remedy together, the reviews' first."""
    given: list[tuple[Caution, Drive, StepPlan | None]] = [
        (warning, drive, None) for drive in drives for warning in drive.manifest.warnings
    ]
    given += [
        (warning, drive, step.plan)
        for drive in drives
        for step, figures, record in drive.measured()
        for warning in of_step(record.warnings, step.plan, left=left_level(figures.moments))
        if warning not in drive.manifest.warnings
    ]
    groups: dict[tuple[Code, str], dict[str, dict[str, list[str]]]] = {}
    for warning, drive, step in given:
        suites = groups.setdefault((warning.code, warning.hint), {}).setdefault(warning.message, {})
        if step:
            suites.setdefault(drive.plan.title, []).append(drive.called(step))
    return tuple(
        Warned(hint, tuple((message, _steps(suites)) for message, suites in messages.items()))
        for (_, hint), messages in groups.items()
    )


def _steps(suites: dict[str, list[str]]) -> str:
    """Return some steps of each suite in words: by name where they are few."""
    found = []
    for title, steps in suites.items():
        names = list(dict.fromkeys(steps))
        few = ", ".join(names) if len(names) <= FEW else numbers.counted(len(steps), "step")
        found.append(f"{title}: {few}")
    return "; ".join(found)


OnProgress = Callable[[int, int], None]
"""Takes how many parts of a long piece of work are done, and of how many."""


def no_progress(_done: int, _whole: int) -> None:
    """Show nothing."""


Conclude = Callable[[Review, SuitePlan], Shown]
"""Says what a plan's suite has to show of a review."""


def nothing(_review: Review, _plan: SuitePlan) -> Shown:
    """Conclude nothing: what is shown then are the steps alone."""
    return Shown()


def load(
    directories: Sequence[Path],
    *,
    suites: Sequence[str] = (),
    conclude: Conclude = nothing,
    on_progress: OnProgress = no_progress,
) -> tuple[Drive, ...]:
    """Return what the reviews in ``directories`` tested, suite by suite, in the order in which they have them.

    ``suites`` are the names of those to load; none: all. ``on_progress`` is told how many suites on drives are loaded.

    Raises IogaugeError where one is not a review, is damaged or newer, where none has one of the suites, or where the
    units of a suite differ.
    """
    reviews = [Reading.open(directory) for directory in directories]
    there = dict.fromkeys(plan.suite for review in reviews for plan in review.manifest.plans)
    if unknown := set(suites) - set(there):
        raise IogaugeError(
            f"none of these reviews has the suite {min(unknown)!r}", hint=f"they have: {', '.join(there)}"
        )
    tested = [
        (review, plan)
        for review in reviews
        for plan in review.manifest.plans
        if not suites or plan.suite in suites
    ]
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
    drives: list[Drive] = []
    for suite in first:
        for number, (review, plan) in enumerate((pair for pair in tested if pair[1].suite == suite), 1):
            label = " + ".join(labels[review.path, path] for path in plan.targets)
            drives.append(_drive(review, plan, label, f"{suite}-{number}", conclude))
            on_progress(len(drives), len(tested))
    return tuple(drives)


def _drive(review: Review, plan: SuitePlan, label: str, slug: str, conclude: Conclude) -> Drive:
    # First, since a suite asks for more quantiles of its steps than are drawn.
    shown = conclude(review, plan)
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
        figures = saved_figures(review, plan, step, record, direction=step.direction)
        steps.append(Step(step, record, figures))
    target = review.manifest.target(plan.targets[0])
    return Drive(label, slug, review.path, review.manifest, plan, target, tuple(steps), shown)


def at(place: float) -> str:
    """Return a place on the axis: whole as it was asked for, or with the digits that matter.

    >>> at(128), at(1250), at(0.5), at(113.33333)
    ('128', '1,250', '0.5', '113.333')
    """
    return f"{place:,.6g}" if place % 1 else f"{place:,.0f}"


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
