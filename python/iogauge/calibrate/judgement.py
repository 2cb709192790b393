"""Errors of figures by kind: fitted, left out of the fit, and what baselines without a model miss them by."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from iogauge import catalog
from iogauge.calibrate import baselines
from iogauge.calibrate.kinds import GOALS, WORST, Errors, FigureKind, kind_of
from iogauge.calibrate.misses import LEFT_OUT_REASONS, REASONS
from iogauge.calibrate.observe import drive_of
from iogauge.calibrate.verdict import Part, error_of
from iogauge.catalog.left_out import PredictedRow, former
from iogauge.catalog.published import Point, held_out, of_drives, points

MEDIA: Mapping[str, str] = {"xpoint": "3D XPoint", "nand": "flash"}
"""Names of media families, in the order of the table."""

Baseline = Callable[[Sequence[Point], Point], float | None]


@dataclass(frozen=True, kw_only=True)
class Group:
    """The errors of one kind of figure on one kind of media."""

    media: str
    kind: FigureKind
    fitted: Errors
    """Of the rows that the shipped models were fitted to."""
    left_out: Errors
    """Of all rows, each by models that were fitted without its table."""
    constant: Errors
    """Of a drive whose every request takes the same time, for the same rows as far as it has an answer."""
    linear: Errors
    """Of a linear model of the logarithms, for the same rows as far as it has an answer."""
    former_fitted: Errors
    """Of the former models, of rows that they were fitted to."""
    former_kept: Errors
    """Of the former models, of rows that were kept from their fit."""

    @property
    def goal(self) -> float | None:
        """The median error that it should have at most; None: there is no goal."""
        return GOALS.get(self.kind)

    @property
    def reached(self) -> bool:
        """Whether the median of the rows left out is within the goal, if there is one."""
        median = self.left_out.median
        return self.goal is None or median is None or median <= self.goal


def groups(rows: Sequence[PredictedRow]) -> list[Group]:
    """Return the errors by media and kind, in the order of ``MEDIA`` and ``FigureKind``.

    Bounds and figures that a parameter states are left out: they have no error that says anything.
    """
    known = {point.row: point for point in points()}
    by_group: dict[tuple[str, FigureKind], list[PredictedRow]] = {}
    for row in counted(rows):
        point = known[row.row]
        by_group.setdefault((media_of(point), kind_of(point)), []).append(row)
    return [
        _group(media, kind, by_group[media, kind], known)
        for media in MEDIA.values()
        for kind in FigureKind
        if (media, kind) in by_group
    ]


def counted(rows: Sequence[PredictedRow]) -> list[PredictedRow]:
    """Return the rows whose errors count."""
    return [row for row in rows if row.part in (Part.FITTED, Part.PREDICTED)]


def _group(media: str, kind: FigureKind, rows: list[PredictedRow], known: Mapping[int, Point]) -> Group:
    before = former()

    def of_former(part: Part) -> Errors:
        return Errors.of(
            [
                error_of(known[row.row], before[row.row].modelled)
                for row in rows
                if row.row in before and before[row.row].part == part
            ]
        )

    def of_baseline(baseline: Baseline) -> Errors:
        errors: list[float | None] = []
        for row in rows:
            value = baseline(left_in(known[row.row]), known[row.row])
            errors.append(None if value is None else error_of(known[row.row], value))
        return Errors.of(errors)

    return Group(
        media=media,
        kind=kind,
        fitted=Errors.of([error_of(known[row.row], row.fitted) for row in rows if row.part == Part.FITTED]),
        left_out=Errors.of([error_of(known[row.row], row.left_out) for row in rows]),
        constant=of_baseline(baselines.constant),
        linear=of_baseline(baselines.linear),
        former_fitted=of_former(Part.FITTED),
        former_kept=of_former(Part.PREDICTED),
    )


def left_in(point: Point) -> list[Point]:
    """Return the rows about a row's drive that a fit without the row's table sees."""
    about = of_drives(catalog.drive(_drive_of(point)).published_as)
    kept = held_out(about)
    return [row for row in about if row.use == "fit" and row.source != point.source and row.row not in kept]


def media_of(point: Point) -> str:
    """Return the media of a row's drive, as ``MEDIA`` names it."""
    return MEDIA[catalog.drive(_drive_of(point)).parameters["media"]["family"]]


def _drive_of(point: Point) -> str:
    name = drive_of(point, _drives())
    if name is None:
        raise ValueError(f"row {point.row} is about no modelled drive")
    return name


@functools.cache
def _drives() -> Mapping[str, catalog.ModelFile]:
    return {name: catalog.drive(name) for name in catalog.shipped("drive")}


def far_off(rows: Sequence[PredictedRow]) -> list[PredictedRow]:
    """Return the rows that, left out, are further off than ``WORST`` times their goal."""
    known = {point.row: point for point in points()}
    return [
        row
        for row in counted(rows)
        if (goal := GOALS.get(kind_of(known[row.row]))) is not None
        and abs(error_of(known[row.row], row.left_out)) > WORST * goal
    ]


def reason_of(row: int) -> str | None:
    """Return why a row that is left out is far off, if that is known."""
    return LEFT_OUT_REASONS.get(row) or REASONS.get(row)
