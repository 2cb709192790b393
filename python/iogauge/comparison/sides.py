"""Who is compared with whom: the drives of saved reviews as pairs of sides, and each over what was published.

The first that is named is the base, A; everything else is compared with it. A review of several targets is several
sides, and named alone, its first target is the base. Figures that another program told without samples belong to the
side of their target. ``published`` among the names lays every measured drive over the
published figures of its loads (``versus_published.py``), and ``published:NAME`` over those of some drives.

Source of the published rows: ``published.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from iogauge.comparison.pairwise import Side, SuiteCompared, compare_sides
from iogauge.comparison.versus_published import LaidDrive, lay
from iogauge.errors import IogaugeError
from iogauge.results.figure import Figure, figures_of
from iogauge.results.published import named_drives, parted
from iogauge.results.reported import summary_rows
from iogauge.results.review import Conclude, OnProgress, keep_computed, load, no_progress, nothing
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.comparison import MARGIN
from iogauge.store.reported import SummaryFigure, read_summary


@dataclass(frozen=True)
class Differences:
    """What a comparison has: suites, pair by pair of sides, and drives over what was published."""

    suites: tuple[SuiteCompared, ...] = ()
    laid: tuple[LaidDrive, ...] = ()

    def by_pair(self) -> dict[tuple[str, str], tuple[SuiteCompared, ...]]:
        """Return the suites of each pair, by the names of A and B."""
        found: dict[tuple[str, str], tuple[SuiteCompared, ...]] = {}
        for each in self.suites:
            pair = (each.before.name, each.after.name)
            found[pair] = (*found.get(pair, ()), each)
        return found


def compare_named(names: Sequence[str], *, suites: Sequence[str] = (), margin: float = MARGIN) -> Differences:
    """Compare saved reviews, by their directories, and ``published``.

    ``suites`` are the names of those to compare; none: all. ``margin`` is a fraction above 0. A side that has nothing
    in common with A is named by a comparison without figures.

    Raises IogaugeError where one is no review, where there are no two sides, or they have nothing in common.
    """
    results = loaded(names, suites=suites)
    found = differences(results, names, margin=margin)
    refuse_nothing(found, names)
    keep_computed(results)
    return found


def loaded(
    names: Sequence[str],
    *,
    suites: Sequence[str] = (),
    conclude: Conclude = nothing,
    on_progress: OnProgress = no_progress,
) -> tuple[SuiteResult, ...]:
    """Return what the saved reviews among ``names`` tested, of all suites or of some, as ``load`` does.

    Raises IogaugeError where one is no review, where none is named or one twice, or where none has one of the suites.
    """
    directories, _ = parted(names)
    if not directories:
        raise IogaugeError(
            "what was published is laid beside a review, and none is named",
            hint="iogauge compare REVIEW published",
        )
    places = [each.resolve() for each in directories]
    if again := [each for each, place in zip(directories, places, strict=True) if places.count(place) > 1]:
        raise IogaugeError(
            f"{again[0]}: this review is named more than once",
            hint="name each review once; one of several targets, named alone, is compared target by target",
        )
    return load(directories, suites=suites, conclude=conclude, on_progress=on_progress)


def refuse_nothing(found: Differences, names: Sequence[str]) -> None:
    """Raise IogaugeError where what was named has nothing in common."""
    if not found.laid and not any(each.figures for each in found.suites):
        reviews, published = parted(names)
        if len(reviews) == 1 and not found.suites:
            raise _alone(reviews[0], published)
        raise IogaugeError(
            f"{', '.join(names)}: no two sides have a complete step in common",
            hint="name two reviews of the same suites, or one review of two targets, or 'published' and a review",
        )


def _alone(review: Path, published: Sequence[str]) -> IogaugeError:
    """Return the error of one side alone, which has nothing beside it, neither measured nor published."""
    if published:
        return IogaugeError(
            f"{review}: none of its steps has a load that {', '.join(published)} has figures of",
            hint="suites such as mixed, queue-depth and spec have such loads; iogauge show published",
        )
    return IogaugeError(
        f"{review}: only one side is named: this review has one target",
        hint=f"name another review, or 'published': iogauge compare {review} published",
    )


def differences(
    drives: Sequence[SuiteResult], names: Sequence[str], *, margin: float = MARGIN
) -> Differences:
    """Compare drives that are loaded already: those of the reviews among ``names``, whose order says which is A."""
    titles = {drive.plan.suite: drive.plan.title for drive in drives}
    if "imported" in titles:
        titles["imported"] = "Imported"  # its plans are named after their jobs
    found: list[SuiteCompared] = []
    for before, after in pairs(names, drives):
        met = compare_sides(before, after, titles=titles, margin=margin)
        found += met or (_nothing(before, after, margin),)
    return Differences(tuple(found), lay(drives, named_drives(names)))


def _nothing(before: Side, after: Side, margin: float) -> SuiteCompared:
    """Return the comparison of two sides that have nothing in common, so that neither goes unmentioned."""
    return SuiteCompared(
        suite="",
        title="Nothing in common",
        before=before,
        after=after,
        figures=(),
        overall=(),
        left_out=len({row.position for side in (before, after) for row in side.rows}),
        blocks=1,
        margin=margin,
    )


def pairs(names: Sequence[str], drives: Iterable[SuiteResult]) -> list[tuple[Side, Side]]:
    """Return who is compared with whom: (A, B), A first."""
    sides = _sides(list(drives), names)
    return [(sides[0], other) for other in sides[1:]]


def _sides(drives: Sequence[SuiteResult], names: Sequence[str]) -> list[Side]:
    """Return the measured sides, in the order in which their reviews are named and have them."""
    order = [str(Path(name)) for name in names]
    rows: dict[tuple[str, str], tuple[Figure, ...]] = {}
    # By review and targets: what these are called where steps of theirs have samples.
    measured: dict[str, dict[str, str]] = {}
    for drive in sorted(drives, key=lambda each: order.index(str(each.path))):
        review, found = str(drive.path), figures_of(drive)
        rows[review, drive.label] = (*rows.get((review, drive.label), ()), *found)
        called = measured.setdefault(review, {})
        if found:
            called[", ".join(drive.plan.targets)] = drive.label
    for review, called in measured.items():
        first = next(label for each, label in rows if each == review)
        told: dict[str, list[SummaryFigure]] = {}
        for each in read_summary(Path(review)):
            label = called.get(each.target) or _beside(each, review, called) or first
            told.setdefault(label, []).append(each)
        for label, figures in told.items():
            said = summary_rows(figures, drive=label, review=review)
            rows[review, label] = (*rows.get((review, label), ()), *said)
    return [Side(label, review, found) for (review, label), found in rows.items()]


def _beside(told: SummaryFigure, review: str, measured: Mapping[str, str]) -> str:
    """Return what another target is called of which a review has figures without samples alone; empty: it is none.

    Nothing is known of one that only its file stands for. And what was told of all of a review is one side.
    """
    if not measured or told.target == told.source:
        return ""
    return f"{told.target} ({Path(review).resolve().name})"
