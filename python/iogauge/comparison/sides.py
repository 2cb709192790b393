"""Which drives of saved reviews are compared: pairs of sides, and drives with published figures.

A side is one drive in one review. The first review that is named is the base, A, unless a baseline is named; every
other side is compared with it. A review of several targets has several sides; the first of them is the base, unless one
is named. Figures that another program reported without samples belong to the side of their target.

``published`` among the names compares every measured drive with published figures of the same loads
(``versus_published``), and ``published:NAME`` with those of some drives. ``results.published`` has the published rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from iogauge.comparison.machines import MachineComparison, compare_machines
from iogauge.comparison.pairwise import Side, SuiteComparison, compare_sides
from iogauge.comparison.versus_published import VersusPublished, compare_with_published
from iogauge.errors import IogaugeError, UsageError
from iogauge.results.figures import PositionFigure, figures_of
from iogauge.results.names import full_names, shorten_labels
from iogauge.results.published import named_drives, split_names
from iogauge.results.reported import summary_rows
from iogauge.results.review import Conclude, OnProgress, keep_computed, load, no_conclusions, no_progress
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.differences.comparison import MARGIN
from iogauge.store.reported import SummaryFigure, read_summary
from iogauge.text.option import call, either, option


@dataclass(frozen=True)
class Differences:
    """A comparison of reviews: the suites and machines of each pair of sides, each drive versus published figures."""

    suites: tuple[SuiteComparison, ...] = ()
    versus_published: tuple[VersusPublished, ...] = ()
    machines: tuple[MachineComparison, ...] = ()
    """Of the pairs whose settings are known, at least on one side."""

    def by_pair(self) -> dict[tuple[str, str], tuple[SuiteComparison, ...]]:
        """Return the suites of each pair, by the names of A and B."""
        by_pair: dict[tuple[str, str], tuple[SuiteComparison, ...]] = {}
        for suite in self.suites:
            names = (suite.before.name, suite.after.name)
            by_pair[names] = (*by_pair.get(names, ()), suite)
        return by_pair

    def machines_of(self, before: str, after: str) -> MachineComparison | None:
        """Return the comparison of settings of the pair with these names; None: there is none."""
        names = (before, after)
        return next((pair for pair in self.machines if (pair.before, pair.after) == names), None)


def compare_named(
    names: Sequence[str], *, suites: Sequence[str] = (), margin: float = MARGIN, baseline: str | None = None
) -> Differences:
    """Compare saved reviews, named by their directories, and ``published``.

    ``suites`` names the suites to compare; by default all. ``margin`` is a fraction above 0. ``baseline`` names A: a
    review, a target, or part of a drive's name; by default it is the first. A side that has nothing in common with A
    gets a comparison without figures.

    Raises UsageError if there is only one side, or if ``baseline`` names no side or several; and IogaugeError if a name
    is not that of a review, or if no sides have anything in common.
    """
    drives = loaded(names, suites=suites)
    shorten_labels(drives)
    result = differences(drives, names, margin=margin, baseline=baseline)
    refuse_nothing(result, names)
    keep_computed(drives)
    return result


def loaded(
    names: Sequence[str],
    *,
    suites: Sequence[str] = (),
    conclude: Conclude = no_conclusions,
    on_progress: OnProgress = no_progress,
) -> tuple[SuiteResult, ...]:
    """Load the drives of the saved reviews among ``names``, for all suites or some; see ``results.review.load``.

    Raises UsageError if no review is named or one is named twice, and IogaugeError if a name is not that of a review,
    or if no review has one of the suites.
    """
    directories, _ = split_names(names)
    if not directories:
        raise UsageError(
            "no saved review is named: published figures are compared with a review",
            hint=call("compare", "REVIEW", "published"),
        )
    paths = [directory.resolve() for directory in directories]
    if repeated := [name for name, path in zip(directories, paths, strict=True) if paths.count(path) > 1]:
        raise UsageError(
            f"{repeated[0]}: this review is named more than once",
            hint="name each review once; to compare the targets of one review, name it alone",
        )
    return load(directories, suites=suites, conclude=conclude, on_progress=on_progress)


def refuse_nothing(result: Differences, names: Sequence[str]) -> None:
    """Raise IogaugeError if a comparison of these names has no figures, UsageError if only one side is named."""
    if not result.versus_published and not any(suite.figures for suite in result.suites):
        reviews, published = split_names(names)
        if len(reviews) == 1 and not result.suites:
            raise _alone(reviews[0], published)
        raise IogaugeError(
            f"{', '.join(names)}: no two sides have a complete step in common",
            hint="name two reviews of the same suites, or one review of two targets, or 'published' and a review",
        )


def _alone(review: Path, published: Sequence[str]) -> UsageError:
    """Return the error for a single side: no other side is measured, and no published figures fit."""
    if published:
        loads = either(command="'iogauge show published'", library=call("published"))
        return UsageError(
            f"{review}: {', '.join(published)} has no figures for the load of any of its steps",
            hint=f"{loads} lists the loads; mixed, queue-depth and spec are suites that have some",
        )
    return UsageError(
        f"{review}: only one side is named: this review has one target",
        hint=f"name another review, or 'published': {call('compare', review, 'published')}",
    )


def differences(
    drives: Sequence[SuiteResult],
    names: Sequence[str],
    *,
    margin: float = MARGIN,
    baseline: str | None = None,
) -> Differences:
    """Compare loaded drives: those of the reviews among ``names``, whose order says which is A, or ``baseline``."""
    titles = {drive.plan.suite: drive.plan.title for drive in drives}
    if "imported" in titles:
        titles["imported"] = "Imported"  # its plans have the names of their jobs
    suites: list[SuiteComparison] = []
    sides = pairs(names, drives, baseline=baseline)
    for before, after in sides:
        common = compare_sides(before, after, titles=titles, margin=margin)
        suites += common or (_nothing(before, after, margin),)
    published = compare_with_published(drives, named_drives(names))
    return Differences(tuple(suites), published, compare_machines(sides, drives))


def _nothing(before: Side, after: Side, margin: float) -> SuiteComparison:
    """Return a comparison without figures, for two sides that have nothing in common."""
    return SuiteComparison(
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


def pairs(
    names: Sequence[str], drives: Sequence[SuiteResult], *, baseline: str | None = None
) -> list[tuple[Side, Side]]:
    """Return the pairs of sides (A, B): the first side, or the one that ``baseline`` names, with each of the others."""
    sides = _sides(drives, names)
    base = sides[0] if baseline is None else _named(sides, drives, baseline)
    return [(base, other) for other in sides if other is not base]


def _named(sides: Sequence[Side], drives: Sequence[SuiteResult], name: str) -> Side:
    """Return the side of a name: its review's directory, its target, or part of its drive's name.

    Of a review with several sides that is named by its directory, it is the first. Raises UsageError if the name fits
    no side or several.
    """
    targets = {(drive.label, str(drive.path)): ", ".join(drive.plan.targets) for drive in drives}

    def target(side: Side) -> str:
        return targets.get((side.name, side.review), "")

    if of_review := [side for side in sides if Path(side.review) == Path(name)]:
        return of_review[0]
    exact = [side for side in sides if name in (side.name, target(side))]
    part = [side for side in sides if name.lower() in f"{side.spelled_out}\n{target(side)}".lower()]
    fitting = exact or part
    if len(fitting) == 1:
        return fitting[0]
    known = ", ".join(dict.fromkeys(filter(None, (target(side) or side.name for side in sides))))
    fits = "names no side" if not fitting else f"fits {len(fitting)} sides"
    raise UsageError(
        f"{option('baseline', name)} {fits} of this comparison",
        hint=f"name one of its targets ({known}), or the directory of a review",
    )


def _sides(drives: Sequence[SuiteResult], names: Sequence[str]) -> list[Side]:
    """Return the sides in the order of ``names``, those of one review in its own order."""
    order = [str(Path(name)) for name in names]
    rows: dict[tuple[str, str], list[PositionFigure]] = {}
    """By review and label."""
    full: dict[str, str] = {}
    """The full names of drives whose labels are shorter."""
    labels: dict[str, dict[str, str]] = {}
    """By review: the labels of its targets that have samples."""
    for drive in sorted(drives, key=lambda drive: order.index(str(drive.path))):
        review, figures = str(drive.path), figures_of(drive)
        rows.setdefault((review, drive.label), []).extend(figures)
        name = ", ".join(full_names([drive]))
        if name.replace(" ", "") not in drive.label.replace(" ", ""):
            full[drive.label] = name
        by_target = labels.setdefault(review, {})
        if figures:
            by_target[", ".join(drive.plan.targets)] = drive.label
    for review, by_target in labels.items():
        first = next(label for path, label in rows if path == review)
        reported: dict[str, list[SummaryFigure]] = {}
        for figure in read_summary(Path(review)):
            label = by_target.get(figure.target) or _own_label(figure, review, by_target) or first
            reported.setdefault(label, []).append(figure)
        for label, summary in reported.items():
            rows.setdefault((review, label), []).extend(summary_rows(summary, drive=label, review=review))
    return [
        Side(label, review, tuple(figures), full.get(label, "")) for (review, label), figures in rows.items()
    ]


def _own_label(figure: SummaryFigure, review: str, labels: Mapping[str, str]) -> str:
    """Return the label of a target that has summary figures alone, next to targets with samples; empty otherwise.

    A figure whose target is unknown has its file as its target, and gets no side. If a review has no samples at all,
    its summary figures are one side.
    """
    if not labels or figure.target == figure.source:
        return ""
    return f"{figure.target} ({Path(review).resolve().name})"
