"""Saved reviews: what they tested, suite by suite, under labels that differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.results.conclusions import Conclusions
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import SuitePlan, TargetFacts
from iogauge.store import Review

OnProgress = Callable[[int, int], None]
"""Takes how many parts of a long piece of work are done, and of how many."""


def no_progress(_done: int, _whole: int) -> None:
    """Show nothing."""


Conclude = Callable[[SuiteResult], Conclusions]
"""Says what a plan's suite concludes."""


def nothing(_result: SuiteResult) -> Conclusions:
    """Conclude nothing: what is shown then are the steps alone."""
    return Conclusions()


def load(
    directories: Sequence[Path],
    *,
    suites: Sequence[str] = (),
    conclude: Conclude = nothing,
    on_progress: OnProgress = no_progress,
) -> tuple[SuiteResult, ...]:
    """Return what the reviews in ``directories`` tested, suite by suite, in the order in which they have them.

    ``suites`` are the names of those to load; none: all. ``on_progress`` is told how many suites on drives are loaded.

    Raises IogaugeError where one is not a review, is damaged or newer, where none has one of the suites, or where the
    units of a suite differ.
    """
    reviews = [Review.open(directory) for directory in directories]
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
    results: list[SuiteResult] = []
    for suite in first:
        for number, (review, plan) in enumerate((pair for pair in tested if pair[1].suite == suite), 1):
            label = " + ".join(labels[review.path, path] for path in plan.targets)
            result = SuiteResult(review, plan, label=label, slug=f"{suite}-{number}", conclude=conclude)
            results.append(result)
            on_progress(len(results), len(tested))
    return tuple(results)


def keep_computed(results: Iterable[SuiteResult]) -> None:
    """Save what was computed of the results' steps in their reviews, so that the next reader need not compute again."""
    for review in {id(result.review): result.review for result in results}.values():
        review.keep_computed()


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
