"""Published figures beside measured ones, section by section: what others measured under the loads of a suite's steps.

Which rows are of a step's load is ``published.py``'s to say. Here they are put together as a reader wants them: a line
for each figure of each load, with what every drive of the section shows, and every published drive, whose hosts are one
span from the least to the most.

Does not judge how near the two are: another machine, another system and another drive's state are in between.
Source: the evaluations that the rows of ``catalog/published_points.csv`` name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iogauge.results.figure import IOPS, MEAN, RATE, Figure, metric_text, metrics_of, value_text
from iogauge.results.published import Load, load_of, load_text, published_rows, source_text
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figures import StepFigures
from iogauge.stats.quantiles import Estimate
from iogauge.text.cells import Cell, cell, interval, latency

ORDER = (IOPS, RATE, MEAN)
"""In which figures of a load are shown; quantiles follow."""
_QUANTILE = re.compile(r"p(\d+(?:\.\d+)?)_ns")
_HOST = re.compile(r"^(.*) \(([^()]*)\)$")


@dataclass(frozen=True)
class Published:
    """One published drive's figure: of one host, or of several from the least to the most."""

    drive: str
    text: str
    sources: tuple[str, ...]


@dataclass(frozen=True)
class Beside:
    """One figure of one load: as measured, in the order of the drives, and as published."""

    load: str
    figure: str
    measured: tuple[Cell, ...]
    published: tuple[Published, ...]


def beside(drives: Sequence[SuiteResult]) -> tuple[Beside, ...]:
    """Return the published figures of the loads that the complete steps of one suite are, load by load."""
    measured: dict[Load, dict[int, StepFigures]] = {}
    published: dict[Load, tuple[Figure, ...]] = {}
    for column, drive in enumerate(drives):
        for position in drive.positions:
            load = load_of(position.plan, drive.plan)
            if load is not None:
                measured.setdefault(load, {})[column] = position.figures
                published[load] = published_rows(position.plan, drive.plan)
    return tuple(
        row
        for load, figures in measured.items()
        for row in _lines(load_text(load), figures, published[load], columns=len(drives))
    )


def _lines(
    load: str, figures: dict[int, StepFigures], rows: Sequence[Figure], *, columns: int
) -> Iterator[Beside]:
    found: dict[str, dict[str, list[Figure]]] = {}
    for row in rows:
        found.setdefault(row.metric, {}).setdefault(_split(row)[0], []).append(row)
    for metric in sorted(found, key=lambda name: (*ORDER, name).index(name)):
        yield Beside(
            load,
            metric_text(metric) if metric in (IOPS, RATE) else f"{metric_text(metric)} latency",
            tuple(
                _measured(figures[place], metric) if place in figures else Cell("–")
                for place in range(columns)
            ),
            tuple(_published(drive, of, metric) for drive, of in found[metric].items()),
        )


def _measured(figures: StepFigures, metric: str) -> Cell:
    if metric in (IOPS, RATE):
        return Cell(value_text(metric, figures.iops if metric == IOPS else figures.rate_Bps))
    return cell(estimate_of(figures, metric), ios=figures.ios)


def estimate_of(figures: StepFigures, metric: str) -> Estimate | None:
    """Return any metric of a step that publications have; ``None`` where nothing completed, or it is not known."""
    known = dict(metrics_of(figures))
    named = _QUANTILE.fullmatch(metric)
    if metric in known or named is None:
        return known.get(metric)
    return figures.quantile(round(float(named[1]) / 100, 12))


def _published(drive: str, rows: Sequence[Figure], metric: str) -> Published:
    low, high = min(row.value for row in rows), max(row.value for row in rows)
    if metric in (IOPS, RATE):
        text = value_text(metric, high)
        if low < high:
            text = f"{value_text(metric, low).removesuffix(' MB/s')}–{text}"
    else:
        text = latency(low) if low == high else interval(low, high)
    hosts = len({_split(row)[1] for row in rows})
    sources = dict.fromkeys(source_text(row.source) for row in rows)
    return Published(drive, text + (f" on {hosts} hosts" if hosts > 1 else ""), tuple(sources))


def _split(row: Figure) -> tuple[str, str]:
    """Return a published drive and its host."""
    found = _HOST.match(row.drive)
    return (found[1], found[2]) if found else (row.drive, "")
