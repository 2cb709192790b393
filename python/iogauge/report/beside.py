"""Published figures beside measured ones, section by section: what others measured under the loads of a suite's steps.

Which loads are the same is ``published.py``'s to say. Figures that stand for no load that can be run alone (ratios,
relations between drives) have no place here, nor have those that are kept for context only.

Does not judge how near the two are: another machine, another system and another drive's state are in between.
Source: the evaluations that the rows of ``models/published_points.csv`` name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iogauge.models.published import Point, points
from iogauge.report.html_reviews import Drive
from iogauge.report.html_text import Cell, cell, interval, latency
from iogauge.report.published import Load, load_of
from iogauge.stats.figures import StepFigures
from iogauge.stats.words import bandwidth, figure

_RATES = {"MB/s": 1e6, "GB/s": 1e9}
_RATE, _IOPS, _MEAN = "rate", "IOPS", "mean latency"
_METRICS = {"iops": _IOPS, "throughput": _RATE, "throughput_saturation": _RATE, "lat_mean": _MEAN}
_QUANTILE = re.compile(r"lat_p(\d+(?:\.\d+)?)")
_ORDER = (_IOPS, _RATE, _MEAN)


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


def beside(drives: Sequence[Drive]) -> tuple[Beside, ...]:
    """Return the published figures of the loads that the complete steps of one suite are, load by load."""
    measured: dict[Load, dict[int, StepFigures]] = {}
    published: dict[Load, tuple[FigureRow, ...]] = {}
    for column, drive in enumerate(drives):
        for place in drive.places:
            load = load_of(place.plan, drive.plan)
            if load is not None and place.figures is not None:
                found.setdefault(load, {})[column] = place.figures
    return tuple(row for load, figures in found.items() for row in _rows(load, figures, columns=len(drives)))


def _rows(load: Load, figures: dict[int, StepFigures], *, columns: int) -> Iterator[Beside]:
    published: dict[str, dict[str, list[Point]]] = {}
    for point in points():
        metric = _metric(point)
        if metric and point.use != "context" and load.is_of(point):
            published.setdefault(metric, {}).setdefault(point.drive, []).append(point)
    for metric in sorted(published, key=lambda name: (*_ORDER, name).index(name)):
        measured = [
            _measured(figures[place], metric) if place in figures else None for place in range(columns)
        ]
        if any(measured):
            yield Beside(
                load.words,
                metric,
                tuple(found or Cell("–") for found in measured),
                tuple(_published(drive, rows, metric) for drive, rows in published[metric].items()),
            )


def _metric(point: Point) -> str | None:
    """Return what a figure is of, if it is of anything that a step has."""
    if quantile := _QUANTILE.fullmatch(point.metric):
        return f"p{quantile[1]} latency"
    return _METRICS.get(point.metric)


def _measured(figures: StepFigures, metric: str) -> Cell | None:
    """Return a figure of a step; ``None`` where steps have no such figure."""
    if metric == _IOPS:
        return Cell(f"{figures.iops:,.0f}")
    if metric == _RATE:
        return Cell(bandwidth(figures.rate_Bps))
    if metric == _MEAN:
        return cell(figures.mean)
    wanted = float(metric.split()[0][1:])
    found = [each for q, each in figures.quantiles.items() if abs(100 * q - wanted) < 1e-9]
    return cell(found[0]) if found else None


def _published(drive: str, rows: Sequence[Point], metric: str) -> Published:
    bounds = [bound for row in rows for bound in (row.span or (row.value, row.value))]
    low, high = min(bounds), max(bounds)
    relations = {row.relation for row in rows if row.relation and row.relation != "~"}
    about = (
        (f"{relations.pop()} " if len(relations) == 1 and len(rows) == 1 else "")
        .replace("<=", "≤")
        .replace(">=", "≥")
    )


def _load(step: StepPlan, plan: SuitePlan) -> Load | None:
    """Return the load of a step, if publications have words for it and this version can read its job file."""
    try:
        return load_of(step, plan)
    except IogaugeError:
        return None


def _lines(
    load: str, figures: dict[int, StepFigures], rows: Sequence[FigureRow], *, columns: int
) -> Iterator[Beside]:
    found: dict[str, dict[str, list[FigureRow]]] = {}
    for row in rows:
        found.setdefault(row.metric, {}).setdefault(_split(row)[0], []).append(row)
    for metric in sorted(found, key=lambda name: (*_ORDER, name).index(name)):
        yield Beside(
            load,
            metric_text(metric) if metric in (IOPS, RATE) else f"{metric_text(metric)} latency",
            tuple(
                _measured(figures[place], metric) if place in figures else Cell("–")
                for place in range(columns)
            ),
            tuple(_published(drive, of, metric) for drive, of in found[metric].items()),
        )


def _words(load: Load) -> str:
    """Return a load in a few words.

    >>> _words(Load(random=True, block_bytes=4096, read_percent=70, threads=4, depth=4))
    '4 KiB random, 70 % reads, 4 threads at depth 4'
    """
    way = {100: "reads", 0: "writes"}.get(load.read_percent, f"{load.read_percent} % reads")
    order = "random" if load.random else "sequential"
    return (
        f"{block(load.block_bytes)} {order}, {way}, {counted(load.threads, 'thread')} at depth {load.depth}"
    )


def _measured(figures: StepFigures, metric: str) -> Cell:
    if metric in (IOPS, RATE):
        return Cell(value_text(metric, figures.iops if metric == IOPS else figures.rate_Bps))
    if metric == MEAN:
        return cell(figures.mean)
    named = _QUANTILE.fullmatch(metric)
    assert named is not None, metric
    q = round(float(named[1]) / 100, 12)
    return cell(figures.quantiles[q] if q in figures.quantiles else _rarer(figures.whole, q))


def _rarer(whole: Histogram, q: float) -> Estimate | None:
    """Return a quantile that steps do not show otherwise, its requests taken as independent."""
    if not whole.count:
        return None
    low, high = binomial_interval(whole, q)
    return Estimate(whole.quantile(q), low, high, whole.supports(q), needed(q), whole.count, dependence=False)


def _published(drive: str, rows: Sequence[FigureRow], metric: str) -> Published:
    low, high = min(row.value for row in rows), max(row.value for row in rows)
    if metric in (IOPS, RATE):
        text = value_text(metric, high)
        if low < high:
            text = f"{value_text(metric, low).removesuffix(' MB/s')}–{text}"
    else:
        text = latency(low) if low == high else interval(low, high)
    hosts = len({_split(row)[1] for row in rows})
    # A row's own mark goes before, and details of the host in brackets after, the name of its source.
    sources = dict.fromkeys(re.sub(r"^S\d+ | \(.*", "", row.source) for row in rows)
    return Published(drive, f"{about}{text}" + (f" on {hosts} hosts" if hosts > 1 else ""), tuple(sources))
