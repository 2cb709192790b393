"""What an imported review has beside its steps: figures without samples, to compare, as text and in reports.

They have no intervals, since nothing is known that one could be made of; a quantile beyond what its number of I/Os
supports is marked like ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from iogauge.results.conclusions import TextTable
from iogauge.results.figure import IOPS, MEAN, RATE, Figure, quantile_metric
from iogauge.results.position import PositionKey
from iogauge.schema import SuitePlan
from iogauge.store.reported import SummaryFigure, read_summary
from iogauge.text import numbers
from iogauge.text.grid import aligned

SHOWN = (0.5, 0.99, 0.999)
TITLE = "Reported without samples: figures as their tool printed them"
HEAD = ["run", "job", "direction", "IOPS", "MB/s", "mean", *(f"p{100 * q:g}" for q in SHOWN)]


def summary_rows(figures: Sequence[SummaryFigure], *, drive: str, review: str) -> tuple[Figure, ...]:
    """Return told figures as rows of one side, under the places that an imported run with samples would have."""
    return tuple(row for figure in figures for row in _rows(figure, _series(figure, figures), drive, review))


def summary_record(figure: SummaryFigure) -> dict[str, Any]:
    """Return a summary figure under the names of ``figures_table``, without the quantiles that it does not have."""
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
    """Yield the figures as a table; nothing, where there are none."""
    if not figures:
        return
    yield TITLE
    yield "-" * len(TITLE)
    yield from aligned([HEAD, *(_cells(figure) for figure in figures)], left=3)


def summary_table(path: Path, plans: Sequence[SuitePlan], plan: SuitePlan) -> TextTable | None:
    """Return what of the figures told in a review at ``path`` belongs to one of its plans; ``None``: nothing.

    That is what is told of its job on its targets; the first plan has that too which is no plan's, so that none is
    missing.

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
        f"{figure.iops:,.0f}",
        numbers.megabytes(figure.rate_Bps),
        "-" if figure.mean_ns is None else numbers.duration(figure.mean_ns),
        *(_marked(figure, q) for q in SHOWN),
    ]


def _marked(figure: SummaryFigure, q: float) -> str:
    value = figure.quantiles_ns.get(q)
    if value is None:
        return "-"
    return ("" if figure.supports(q) else "~ ") + numbers.duration(value)


def _series(figure: SummaryFigure, figures: Sequence[SummaryFigure]) -> str:
    ways = {other.direction for other in figures if (other.label, other.job) == (figure.label, figure.job)}
    return figure.job if len(ways) == 1 else f"{figure.job}, {figure.direction.value}"


def _rows(figure: SummaryFigure, series: str, drive: str, review: str) -> Iterator[Figure]:
    position = PositionKey(suite="imported", series=series, label=figure.label, at=figure.at, axis="run")
    figures = {IOPS: figure.iops, RATE: figure.rate_Bps, MEAN: figure.mean_ns}
    figures |= {quantile_metric(q): value for q, value in figure.quantiles_ns.items()}
    supported = {quantile_metric(q): figure.supports(q) for q in figure.quantiles_ns}
    for metric, value in figures.items():
        if value is not None:
            yield Figure(
                drive=drive,
                position=position,
                repeat=0,
                judged="I/O",
                metric=metric,
                value=value,
                supported=supported.get(metric, True),
                count=figure.ios,
                source=review,
                loop=figure.loop,
            )
