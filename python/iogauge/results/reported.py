"""Figures of an imported review that its tool reported without samples: for comparisons, as text, and in reports.

Without samples they have no intervals. A quantile that the number of I/Os does not support is marked like those of
iogauge's own runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from iogauge.results.conclusions import TextTable
from iogauge.results.figures import IOPS, MEAN, RATE, PositionFigure, quantile_metric, unit_of
from iogauge.results.position import PositionKey
from iogauge.schema import SuitePlan
from iogauge.store.reported import SummaryFigure, read_summary
from iogauge.text import numbers
from iogauge.text.grid import folded

SHOWN = (0.5, 0.99, 0.999)
TITLE = "Reported without samples: figures as their tool printed them"
HEAD = ["run", "job", "direction", "IOPS", "MB/s", "mean", *(f"p{100 * q:g}" for q in SHOWN)]


def summary_rows(figures: Sequence[SummaryFigure], *, drive: str, review: str) -> tuple[PositionFigure, ...]:
    """Return summary figures as figures of one drive, at the positions of an imported run with samples."""
    return tuple(row for figure in figures for row in _rows(figure, _series(figure, figures), drive, review))


def summary_record(figure: SummaryFigure) -> dict[str, Any]:
    """Return a summary figure as a row of ``figures_table``, without the columns that it lacks."""
    quantiles = {quantile_metric(q): value for q, value in figure.quantiles_ns.items()}
    return {
        "plan": "imported",
        "target": figure.target,
        "suite": "imported",
        "series": figure.job,
        "label": figure.label,
        "axis": "run",
        "unit": "",
        "direction": figure.direction.value,
        "position": figure.at,
        "repeat": 0,
        "duration_s": figure.duration_s,
        "ios": figure.ios,
        "iops": figure.iops,
        "rate_Bps": figure.rate_Bps,
        "mean_ns": figure.mean_ns,
        "supported": max((q for q in figure.quantiles_ns if figure.supports(q)), default=None),
        **quantiles,
    }


def summary_lines(figures: Sequence[SummaryFigure]) -> Iterator[str]:
    """Yield the lines of a table of the figures; none if there are no figures."""
    if not figures:
        return
    yield TITLE
    yield "-" * len(TITLE)
    yield from folded([HEAD, *(_cells(figure) for figure in figures)], left=3, names=3)


def summary_table(path: Path, plans: Sequence[SuitePlan], plan: SuitePlan) -> TextTable | None:
    """Return a table of the summary figures of the review at ``path`` that belong to ``plan``; None if there are none.

    These are the figures of the plan's measured job on its targets. The first plan also gets the figures that belong to
    no plan.

    Raises IogaugeError as ``read_summary`` does.
    """
    known = {(other.measured_job, ", ".join(other.targets)) for other in plans}
    of_plan = (plan.measured_job, ", ".join(plan.targets))
    mine = [
        _cells(figure)
        for figure in read_summary(path)
        if (figure.job, figure.target) == of_plan
        or (plan == plans[0] and (figure.job, figure.target) not in known)
    ]
    return TextTable(TITLE, tuple(HEAD), tuple(map(tuple, mine))) if mine else None


def _cells(figure: SummaryFigure) -> list[str]:
    return [
        figure.label,
        figure.job,
        figure.direction.value,
        numbers.rate(figure.iops),
        numbers.megabytes(figure.rate_Bps),
        "-" if figure.mean_ns is None else numbers.duration(figure.mean_ns),
        *(_marked(figure, q) for q in SHOWN),
    ]


def _marked(figure: SummaryFigure, q: float) -> str:
    value = figure.quantiles_ns.get(q)
    if value is None:
        return "-"
    return ("" if figure.supports(q) else "~") + numbers.duration(value)


def _series(figure: SummaryFigure, figures: Sequence[SummaryFigure]) -> str:
    ways = {other.direction for other in figures if (other.label, other.job) == (figure.label, figure.job)}
    return figure.job if len(ways) == 1 else f"{figure.job}, {figure.direction.value}"


def _rows(figure: SummaryFigure, series: str, drive: str, review: str) -> Iterator[PositionFigure]:
    position = PositionKey(suite="imported", series=series, label=figure.label, at=figure.at, axis="run")
    figures = {IOPS: figure.iops, RATE: figure.rate_Bps, MEAN: figure.mean_ns}
    figures |= {quantile_metric(q): value for q, value in figure.quantiles_ns.items()}
    supported = {quantile_metric(q): figure.supports(q) for q in figure.quantiles_ns}
    for metric, value in figures.items():
        if value is not None:
            yield PositionFigure(
                drive=drive,
                position=position,
                repeat=0,
                judged="I/O",
                metric=metric,
                value=value,
                unit=unit_of(metric),
                supported=supported.get(metric, True),
                count=figure.ios,
                source=review,
                loop=figure.loop,
            )
