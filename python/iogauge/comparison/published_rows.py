"""A table of published figures next to measured ones, for the loads of a suite's steps.

The table has a row for each figure of each load: what every measured drive shows, and what was published of every
drive. If a drive was published on several hosts, its figures are one span, from the least to the most.

The table judges nothing: the machine, the system and the drive's state differ too. ``results.published`` says which
rows belong to a load. Source: the evaluations that the rows of ``catalog/published_points.csv`` name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iogauge.results.figures import IOPS, MEAN, RATE, PositionFigure, metric_text, metrics_of, value_text
from iogauge.results.published import Load, drive_alone, load_of, load_text, published_rows, source_text
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figure import Figure
from iogauge.stats.figures import StepFigures
from iogauge.text.cells import Cell, cell, latency, span

ORDER = (IOPS, RATE, MEAN)
"""The order of a load's metrics; quantiles follow."""
_QUANTILE = re.compile(r"p(\d+(?:\.\d+)?)_ns")


@dataclass(frozen=True)
class PublishedText:
    """A figure of one published drive: of one host, or a span over several hosts."""

    drive: str
    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class PublishedRow:
    """One figure of one load: as measured on each drive, in their order, and as published."""

    load: str
    figure: str
    measured: tuple[Cell, ...]
    published: tuple[PublishedText, ...]


def published_table(drives: Sequence[SuiteResult]) -> tuple[PublishedRow, ...]:
    """Return the published figures of the loads of one suite's complete steps, load by load."""
    measured: dict[Load, dict[int, StepFigures]] = {}
    published: dict[Load, tuple[PositionFigure, ...]] = {}
    for column, drive in enumerate(drives):
        for position in drive.positions:
            load = load_of(position.plan, drive.plan)
            if load is not None:
                measured.setdefault(load, {})[column] = position.figures
                published[load] = published_rows(position.plan, drive.plan)
    return tuple(
        row
        for load, figures in measured.items()
        for row in _rows(load_text(load), figures, published[load], columns=len(drives))
    )


def _rows(
    load: str, measured: dict[int, StepFigures], published: Sequence[PositionFigure], *, columns: int
) -> Iterator[PublishedRow]:
    """Yield a row for each metric that was published of a load. ``measured`` has the figures of columns."""
    by_metric: dict[str, dict[str, list[PositionFigure]]] = {}
    for figure in published:
        by_metric.setdefault(figure.metric, {}).setdefault(drive_alone(figure.drive), []).append(figure)
    for metric in sorted(by_metric, key=lambda name: (*ORDER, name).index(name)):
        yield PublishedRow(
            load,
            metric_text(metric) if metric in (IOPS, RATE) else f"{metric_text(metric)} latency",
            tuple(
                _measured(measured[column], metric) if column in measured else Cell("–")
                for column in range(columns)
            ),
            tuple(_published(drive, figures, metric) for drive, figures in by_metric[metric].items()),
        )


def _measured(figures: StepFigures, metric: str) -> Cell:
    if metric in (IOPS, RATE):
        return Cell(value_text(metric, figures.iops if metric == IOPS else figures.rate_Bps))
    return cell(figure_of(figures, metric), ios=figures.ios)


def figure_of(figures: StepFigures, metric: str) -> Figure | None:
    """Return a step's figure of any published metric; ``None`` if nothing completed, or it was not reported."""
    known = dict(metrics_of(figures))
    quantile = _QUANTILE.fullmatch(metric)
    if metric in known or quantile is None:
        return known.get(metric)
    return figures.quantile(round(float(quantile[1]) / 100, 12))


def _published(drive: str, figures: Sequence[PositionFigure], metric: str) -> PublishedText:
    """Return one drive's figures of a metric as one figure, or as a span."""
    low, high = min(figure.value for figure in figures), max(figure.value for figure in figures)
    if metric in (IOPS, RATE):
        text = value_text(metric, high)
        if low < high:
            text = f"{value_text(metric, low).removesuffix(' MB/s')}–{text}"
    else:
        text = latency(low) if low == high else span(low, high)
    hosts = len({figure.drive for figure in figures})
    sources = dict.fromkeys(source_text(figure.source) for figure in figures)
    return PublishedText(drive, text + (f" on {hosts} hosts" if hosts > 1 else ""), tuple(sources))
