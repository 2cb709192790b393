"""A measured drive compared with published figures of the same loads, the nearest figure of each load first.

The built-in review ``published`` has figures of many drives, each for a few loads and without repeats. Two reviews are
compared step by step; a publication cannot be. Instead, each published figure of a load that the drive was measured
under is paired with the drive's own figure. The ratio of the two has the interval of the measured figure alone. Nothing
is tested, because the machine and the drive's state differ too.

If several suites have the same load, the first of them is compared. ``results.published`` says which rows belong to a
load; ``versus_published_text`` prints the comparison.
Source: the evaluations that the rows of ``catalog/published_points.csv`` name.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from iogauge.comparison.published_rows import ORDER, figure_of
from iogauge.results.figures import PositionFigure, metric_text
from iogauge.results.names import in_sentence
from iogauge.results.position import Position
from iogauge.results.published import drive_alone, load_of, load_text, published_rows
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figures import Ratio
from iogauge.text import numbers

ENOUGH = 3
"""How many figures a published drive has to share to be the nearest; ignored if no drive shares as many."""


@dataclass(frozen=True, kw_only=True)
class PublishedMatch:
    """A published figure, and the measured figure of the same load."""

    load: str
    where: str
    """The measured step, after its suite's title."""
    anchor: str
    """The name of the step's row on a page."""
    metric: str
    measured: float
    """In the metric's unit."""
    published: PositionFigure
    ratio: Ratio
    """Measured over published; the interval is that of the measured figure alone."""
    supported: bool

    @property
    def distance(self) -> float:
        """The absolute logarithm of the ratio."""
        return abs(math.log(self.ratio.value))


@dataclass(frozen=True)
class VersusPublished:
    """A measured drive compared with published figures: load by load, then metric by metric, the nearest first."""

    name: str
    review: str
    matches: tuple[PublishedMatch, ...]

    def by_load(self) -> dict[str, tuple[PublishedMatch, ...]]:
        """Return the matches of each load, in the order in which the drive was measured."""
        loads: dict[str, tuple[PublishedMatch, ...]] = {}
        for match in self.matches:
            loads[match.load] = (*loads.get(match.load, ()), match)
        return loads


def compare_with_published(
    drives: Iterable[SuiteResult], published: Collection[str]
) -> tuple[VersusPublished, ...]:
    """Compare measured drives with the published drives of these names; leave out those without a common load."""
    by_drive: dict[tuple[str, str], dict[str, tuple[PublishedMatch, ...]]] = {}
    for drive in drives:
        loads = by_drive.setdefault((drive.label, str(drive.path)), {})
        for position in drive.positions:
            load = load_of(position.plan, drive.plan)
            if load is not None and load_text(load) not in loads:
                matches = _matches(drive, position, load_text(load), published)
                loads[load_text(load)] = tuple(
                    sorted(matches, key=lambda match: (_order(match.metric), match.distance))
                )
    return tuple(
        VersusPublished(name, review, tuple(match for matches in loads.values() for match in matches))
        for (name, review), loads in by_drive.items()
        if any(loads.values())
    )


def _matches(
    drive: SuiteResult, position: Position, load: str, published: Collection[str]
) -> Iterator[PublishedMatch]:
    """Yield the published figures of a step's load that the step has too."""
    for row in published_rows(position.plan, drive.plan):
        estimate = figure_of(position.figures, row.metric) if row.drive in published else None
        if estimate is not None and estimate.value > 0:
            low, high = (
                None if bound is None else bound / row.value for bound in (estimate.low, estimate.high)
            )
            yield PublishedMatch(
                load=load,
                where=f"{drive.plan.title}: {position.name}",
                anchor=drive.anchor(position.plan),
                metric=row.metric,
                measured=estimate.value,
                published=row,
                ratio=Ratio(estimate.value / row.value, low, high),
                supported=estimate.supported,
            )


def _order(metric: str) -> tuple[int, float]:
    """Return the sort key of a metric: rates and the mean come first, then quantiles in ascending order."""
    if metric in ORDER:
        return ORDER.index(metric), 0.0
    return len(ORDER), float(metric_text(metric).removeprefix("p"))


def nearest(drive: VersusPublished) -> tuple[str, ...]:
    """Return the published drive that is nearest to a measured one, as a sentence without its full stop; none: ().

    The distance is the mean absolute logarithm of the ratios. Figures that too few measured samples support are left
    out: they are chance, and would make the nearest drive chance too. A drive that was published with several machines
    has a set of figures for each machine.

    >>> nearest(VersusPublished("mine", "saved", ()))
    ()
    """
    sets: dict[str, list[PublishedMatch]] = {}
    for match in drive.matches:
        if match.supported:
            sets.setdefault(match.published.drive, []).append(match)
    candidates = {name: matches for name, matches in sets.items() if len(matches) >= ENOUGH} or sets
    if not candidates:
        return ()
    name, matches = min(candidates.items(), key=lambda pair: _mean_distance(pair[1]))
    mean, most = _mean_distance(matches), max(match.distance for match in matches)
    unsupported = sum(not match.supported for match in drive.matches)
    left_out = (
        f"; left out: {numbers.counted(unsupported, 'figure')} that too few samples support"
        if unsupported
        else ""
    )
    return (
        f"{in_sentence(name)} is nearest to {in_sentence(drive.name)}, among "
        f"{numbers.counted(len(sets), 'published set')} of figures for the same loads, from "
        f"{numbers.counted(len({drive_alone(other) for other in sets}), 'drive')}: over "
        f"{numbers.counted(len(matches), 'figure')} the difference is {_difference(mean)} on average "
        f"and {_difference(most)} at most{left_out}",
    )


def _difference(distance: float) -> str:
    """Return the logarithm of a ratio as a share, or as the ratio from twice on.

    >>> _difference(math.log(1.034)), _difference(math.log(67.5))
    ('3.4 %', '68x')
    """
    share = math.expm1(distance)
    return numbers.percent(share) if share < 1 else f"{numbers.short(1 + share)}x"


def _mean_distance(matches: Sequence[PublishedMatch]) -> float:
    return statistics.fmean(match.distance for match in matches)
