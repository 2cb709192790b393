"""Load the results of saved reviews, suite by suite, each under a unique label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from iogauge.errors import IogaugeError, UsageError
from iogauge.results.conclusions import Conclusions
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import SuitePlan, TargetFacts
from iogauge.store import Review

OnProgress = Callable[[int, int], None]
"""Takes the number of parts done, and the number of all parts."""


def no_progress(_done: int, _total: int) -> None:
    """Ignore progress."""


Conclude = Callable[[SuiteResult], Conclusions]
"""Returns the conclusions of a result's suite."""


def no_conclusions(_result: SuiteResult) -> Conclusions:
    """Conclude nothing, so that only steps are shown."""
    return Conclusions()


def load(
    directories: Sequence[Path],
    *,
    suites: Sequence[str] = (),
    conclude: Conclude = no_conclusions,
    on_progress: OnProgress = no_progress,
) -> tuple[SuiteResult, ...]:
    """Return the results of the reviews in ``directories``, suite by suite, in the reviews' order.

    ``suites`` are the names of the suites to load; none: all. ``on_progress`` gets the number of results loaded.

    Raises UsageError if no review has one of the suites, and IogaugeError if a directory is not a review, is damaged or
    written by a newer iogauge, or if the axes of a suite differ.
    """
    reviews = [Review.open(directory) for directory in directories]
    known = dict.fromkeys(plan.suite for review in reviews for plan in review.manifest.plans)
    if unknown := set(suites) - set(known):
        raise UsageError(
            f"none of these reviews has the suite {min(unknown)!r}", hint=f"they have: {', '.join(known)}"
        )
    plans = [
        (review, plan)
        for review in reviews
        for plan in review.manifest.plans
        if not suites or plan.suite in suites
    ]
    first: dict[str, tuple[Review, SuitePlan]] = {}
    for review, plan in plans:
        first_review, first_plan = first.setdefault(plan.suite, (review, plan))
        if first_plan.axis != plan.axis:
            raise IogaugeError(
                f"the axes of {plan.suite} differ: {plan.axis.name}, {plan.axis.unit} in {review.path}, but "
                f"{first_plan.axis.name}, {first_plan.axis.unit} in {first_review.path}",
                hint="make a report for each review",
            )
    labels = labels_of(reviews)
    results: list[SuiteResult] = []
    for suite in first:
        for number, (review, plan) in enumerate((pair for pair in plans if pair[1].suite == suite), 1):
            label = labels[review.path, plan.targets]
            result = SuiteResult(review, plan, label=label, slug=f"{suite}-{number}", conclude=conclude)
            results.append(result)
            on_progress(len(results), len(plans))
    return tuple(results)


def keep_computed(results: Iterable[SuiteResult]) -> None:
    """Save the computed figures in their reviews, so that the next reader need not compute them again."""
    for review in {id(result.review): result.review for result in results}.values():
        review.keep_computed()


def _name(target: TargetFacts, *, machine: bool = False) -> str:
    """Return a target's name: the drive, a file's name with its drive, or a model, with its ``machine`` if wanted."""
    drive = target.model or target.device
    if target.kind == "block" and drive:
        return drive
    if target.modelled:
        return f"{drive} (model{f' behind {target.modelled.machine}' if machine else ''})"
    name = Path(target.path).name or target.path
    return f"{name} on {drive}" if drive else name


def labels_of(reviews: Sequence[Review]) -> dict[tuple[Path, tuple[str, ...]], str]:
    """Return a unique label for the targets of each plan of each review, by the review's directory and their paths.

    Models that share a name get their machines' names, further duplicates the review's directory, and the rest numbers.
    """
    targets = [(review.path, target) for review in reviews for target in review.manifest.targets]
    machines = {
        _name(target): {
            other.modelled and other.modelled.machine for _, other in targets if _name(other) == _name(target)
        }
        for _, target in targets
    }
    names = [_name(target, machine=len(machines[_name(target)]) > 1) for _, target in targets]
    shared = Counter(names)
    labels = [
        f"{name} ({path.resolve().name})" if shared[name] > 1 else name
        for name, (path, _) in zip(names, targets, strict=True)
    ]
    uses: Counter[str] = Counter()
    for index, label in enumerate(labels):
        uses[label] += 1
        if uses[label] > 1:
            labels[index] = f"{label} [{uses[label]}]"
    own = {(path, target.path): label for (path, target), label in zip(targets, labels, strict=True)}
    return {
        (review.path, plan.targets): " + ".join(own[review.path, path] for path in plan.targets)
        for review in reviews
        for plan in review.manifest.plans
    }
