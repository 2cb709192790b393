"""Who is compared with whom: the drives of saved reviews, and the published ones, as pairs of sides.

The first that is named is the base, A; everything else is compared with it. A review of several targets is several
sides, and named alone, its first target is the base. ``published`` stands for every published drive of which something
is known at the load of a measured step.

Source of the published rows: ``published.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.report.compare import PUBLISHED, Side, SuiteCompared, compare_sides
from iogauge.report.figure_row import FigureRow, rows_of
from iogauge.report.html_reviews import Drive, load
from iogauge.report.published import published_rows
from iogauge.report.told import told_rows
from iogauge.stats.comparison import MARGIN
from iogauge.store.told import read_told


def compare_named(
    names: Sequence[str], *, suites: Sequence[str] = (), margin: float = MARGIN
) -> tuple[SuiteCompared, ...]:
    """Compare saved reviews, by their directories, and ``published``.

    ``suites`` are the names of those to compare; none: all. ``margin`` is a fraction above 0. A side that has nothing
    in common with A is named by a comparison without figures.

    Raises IogaugeError where one is no review, where there are no two sides, or they have nothing in common.
    """
    directories = [Path(name) for name in names if name != PUBLISHED]
    if not directories:
        raise IogaugeError(
            "what was published is laid beside a review, and none is named",
            hint="iogauge compare published REVIEW",
        )
    drives = load(directories)
    titles = {drive.plan.suite: drive.plan.title for drive in drives}
    if "imported" in titles:
        titles["imported"] = "Imported"  # its plans are named after their jobs
    if unknown := set(suites) - set(titles):
        raise IogaugeError(
            f"none of these reviews has the suite {min(unknown)!r}", hint=f"they have: {', '.join(titles)}"
        )
    wanted = [drive for drive in drives if not suites or drive.plan.suite in suites]
    found: list[SuiteCompared] = []
    for before, after in pairs(names, wanted):
        met = compare_sides(before, after, titles=titles, margin=margin)
        # Published drives are many, and each is of some of the measured ones' loads alone.
        missed = () if before.published or after.published else (_nothing(before, after, margin),)
        found += met or missed
    if not any(each.figures for each in found):
        raise IogaugeError(
            f"{', '.join(names)}: no two sides have a complete step in common",
            hint="name two reviews of the same suites, or one review of two targets, or 'published' and a review",
        )
    return tuple(found)


def _nothing(before: Side, after: Side, margin: float) -> SuiteCompared:
    """Return the comparison of two sides that have nothing in common, so that neither goes unmentioned."""
    return SuiteCompared(
        suite="",
        title="Nothing in common",
        before=before,
        after=after,
        figures=(),
        overall=(),
        left_out=len({row.place for side in (before, after) for row in side.rows}),
        blocks=1,
        margin=margin,
    )


def pairs(names: Sequence[str], drives: Iterable[Drive]) -> list[tuple[Side, Side]]:
    """Return who is compared with whom: (A, B), A first."""
    drives = list(drives)
    mine = _sides(drives, names)
    published = published_sides(drives) if PUBLISHED in names else ()
    if names[0] == PUBLISHED:
        return [(before, after) for before in published for after in mine]
    return [(mine[0], other) for other in (*mine[1:], *published)] if mine else []


def _sides(drives: Sequence[Drive], names: Sequence[str]) -> list[Side]:
    """Return the measured sides, in the order in which their reviews are named and have them."""
    order = [str(Path(name)) for name in names]
    rows: dict[tuple[str, str], tuple[FigureRow, ...]] = {}
    for drive in sorted(drives, key=lambda each: order.index(str(each.path))):
        key = (str(drive.path), drive.label)
        rows[key] = (*rows.get(key, ()), *rows_of(drive))
    for review, label in list(rows):
        # What is told without samples is of no drive in particular: it goes to the first of its review.
        if next(key for key in rows if key[0] == review) == (review, label):
            rows[review, label] += told_rows(read_told(Path(review)), drive=label, review=review)
    return [Side(label, review, found) for (review, label), found in rows.items()]


def published_sides(drives: Iterable[Drive]) -> tuple[Side, ...]:
    """Return a side for each published drive that has a figure at the load of any step of ``drives``."""
    rows: dict[str, dict[FigureRow, None]] = {}
    for drive in drives:
        for step in drive.steps:
            for row in published_rows(step.plan, drive.plan):
                rows.setdefault(row.drive, {})[row] = None
    return tuple(Side(name, PUBLISHED, tuple(found)) for name, found in rows.items())
