"""A measured drive laid over what was published: load by load, the nearest published figure first.

The built-in review ``published`` has figures of many drives, each of a few loads, without repeats. So it is not
compared side by side, as two reviews are: every published figure of a load that the drive was measured at stands beside
the drive's own, with how many times it the drive's is. The drive's interval is known, a publication's is not: nothing
is tested, and another machine and another drive's state lie between the two.

A load that several suites have is taken from the first of them. Does not print (``versus_published_text.py``), and
does not say which row is of which load (``published.py``). Source: the evaluations that the rows of
``catalog/published_points.csv`` name.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from iogauge.comparison.published_rows import ORDER, estimate_of
from iogauge.results.figure import Figure, metric_text
from iogauge.results.position import Position
from iogauge.results.published import drive_alone, load_of, load_text, published_rows
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figures import Ratio
from iogauge.text import numbers

ENOUGH = 3
"""What shares so many figures may be called the nearest; with fewer, only where none has as many."""


@dataclass(frozen=True, kw_only=True)
class Laid:
    """One published figure and the measured one of the same load."""

    load: str
    where: str
    """The step that was measured, with its suite's title."""
    anchor: str
    """The name of its row in a page."""
    metric: str
    measured: float
    """In the metric's unit."""
    published: Figure
    ratio: Ratio
    """The measured over the published; its interval is the measured one's alone."""
    supported: bool

    @property
    def distance(self) -> float:
        """How far apart the two are: the absolute logarithm of their ratio."""
        return abs(math.log(self.ratio.value))


@dataclass(frozen=True)
class LaidDrive:
    """One measured drive over what was published: ``figures`` load by load, in each by figure, the nearest first."""

    name: str
    review: str
    figures: tuple[Laid, ...]

    def by_load(self) -> dict[str, tuple[Laid, ...]]:
        """Return the figures of each load, in the order in which the drive was measured."""
        found: dict[str, tuple[Laid, ...]] = {}
        for each in self.figures:
            found[each.load] = (*found.get(each.load, ()), each)
        return found


def lay(drives: Iterable[SuiteResult], published: Collection[str]) -> tuple[LaidDrive, ...]:
    """Lay measured drives over the published ones of these names; those that share no load with any are not there."""
    found: dict[tuple[str, str], dict[str, tuple[Laid, ...]]] = {}
    for drive in drives:
        loads = found.setdefault((drive.label, str(drive.path)), {})
        for position in drive.positions:
            load = load_of(position.plan, drive.plan)
            if load is not None and load_text(load) not in loads:
                loads[load_text(load)] = tuple(_laid(drive, position, load_text(load), published))
    return tuple(
        LaidDrive(name, review, tuple(each for figures in loads.values() for each in figures))
        for (name, review), loads in found.items()
        if any(loads.values())
    )


def _laid(drive: SuiteResult, position: Position, load: str, published: Collection[str]) -> Iterator[Laid]:
    found = []
    for row in published_rows(position.plan, drive.plan):
        estimate = estimate_of(position.figures, row.metric) if row.drive in published else None
        if estimate is not None and estimate.value > 0:
            low, high = (
                None if bound is None else bound / row.value for bound in (estimate.low, estimate.high)
            )
            found.append(
                Laid(
                    load=load,
                    where=f"{drive.plan.title}: {position.name}",
                    anchor=drive.anchor(position.plan),
                    metric=row.metric,
                    measured=estimate.value,
                    published=row,
                    ratio=Ratio(estimate.value / row.value, low, high),
                    supported=estimate.supported,
                )
            )
    yield from sorted(found, key=lambda each: (_order(each.metric), each.distance))


def _order(metric: str) -> tuple[int, float]:
    """Return where a metric stands: rates and the mean, then quantiles."""
    if metric in ORDER:
        return ORDER.index(metric), 0.0
    return len(ORDER), float(metric_text(metric).removeprefix("p"))


def nearest(laid: LaidDrive) -> tuple[str, ...]:
    """Return which published drive a measured one is nearest to, in a sentence without a full stop.

    By figures that the measured samples support: a quantile beyond is chance, and so would the nearest be. One drive
    was published with several machines, and what was of each is a set of figures.

    >>> nearest(LaidDrive("mine", "saved", ()))
    ()
    """
    shared: dict[str, list[Laid]] = {}
    for each in laid.figures:
        if each.supported:
            shared.setdefault(each.published.drive, []).append(each)
    known = {drive: figures for drive, figures in shared.items() if len(figures) >= ENOUGH} or shared
    if not known:
        return ()
    drive, figures = min(known.items(), key=lambda pair: _mean_distance(pair[1]))
    off, most = _mean_distance(figures), max(each.distance for each in figures)
    left = sum(not each.supported for each in laid.figures)
    out = f"; {numbers.counted(left, 'figure')} left out, which too few samples support" if left else ""
    return (
        f"of {numbers.counted(len(shared), 'published set')} of figures of the same loads, of "
        f"{numbers.counted(len({drive_alone(each) for each in shared}), 'drive')}, {drive} is nearest to "
        f"{laid.name}: {numbers.counted(len(figures), 'figure')}, {numbers.percent(math.expm1(off))} apart on average "
        f"and {numbers.percent(math.expm1(most))} at most{out}",
    )


def _mean_distance(figures: Sequence[Laid]) -> float:
    return statistics.fmean(each.distance for each in figures)
