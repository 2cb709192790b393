"""Two sides laid one beside the other: step by step, how many times B's figure is A's, and how sure that is.

A side is one drive in one review, or another tool's results: both are rows of figures. What is compared are steps at
the same place: of the same suite and series, under the same label or at the same place on the axis. Where writes press,
steps may have been scaled to what each drive takes. There, and only there, B's latency at one of A's places is read
between B's two neighbouring steps, linearly in its logarithm, and is marked as such; rates are not, and nothing is
extended beyond B's steps. How many steps of A and B met nothing is counted.

With repeats on both sides, each figure is tested over the blocks that both sides have of it (``stats.comparison``).
A block is a repeat's number: where one side lost a repeat of a step, that step has a block less, and with fewer than
two it is left out. Each series is also compared as a whole, by the geometric mean over its steps in each block; that
mean leaves out steps that lack a block, and quantiles that too few samples support. What is claimed of a suite is of
two kinds, each a family named after the suite, with a chance of 5 % that any of its claims is false (``stats.family``):

- that a figure differs, at a step or over a series: every comparison is one claim, corrected by joint sign flips with
  Holm's steps;
- that a figure of a series is alike, within the margin, at all of its steps and over them: every series and metric is
  one claim, which each of its comparisons has to pass by itself, and the claims have Holm's correction.

Repeats of one review are true blocks: what drifts meanwhile falls on both sides. Repeats of two reviews are put
together by their numbers, which is as valid and finds less; but what differs between the two times of measuring cannot
be told from what differs between the drives. A single run has only its own interval, which says nothing of how runs
differ.

Judges no suite and prints nothing; the sentences are in ``findings.py``.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from iogauge.results.figure import IOPS, MEAN, RATE, Figure, quantile_metric
from iogauge.results.position import PositionKey
from iogauge.stats.comparison import MARGIN, Comparison
from iogauge.stats.family import compare_family
from iogauge.stats.figures import Ratio, ratio

METRICS = (IOPS, MEAN, *map(quantile_metric, (0.5, 0.99, 0.999)))
"""What is compared, in the order of the table."""
OVERALL = (IOPS, MEAN, quantile_metric(0.99))
"""What a series is compared by as a whole."""
ALL_STEPS = "all steps"
SAME_PRESSURE = 0.99
"""Share of the higher of two achieved pressures from which the lower counts as the same."""

Repeats = dict[int, Figure]
Met = tuple[PositionKey, str, Repeats, Repeats, bool]
"""A place and a metric, A's rows and B's there, and whether B's were read between two steps."""
Figures = dict[tuple[PositionKey, str], Repeats]
"""The rows of a side by place and metric, and then by repeat."""


@dataclass(frozen=True)
class Side:
    """One of those compared. ``review`` is what it was measured in: two sides of one review have true blocks."""

    name: str
    review: str
    rows: tuple[Figure, ...]

    @property
    def repeats(self) -> int:
        """How often its steps were run."""
        return 1 + max((row.repeat for row in self.rows), default=0)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One figure of one step, B beside A. Values are in the metric's unit; with repeats, their medians."""

    position: PositionKey
    judged: str
    metric: str
    before: float
    after: float
    ratio: Ratio
    """B over A."""
    supported: bool
    between: bool
    """Whether B's figure was read between two of its steps."""
    comparison: Comparison | None
    """Over blocks; None: of one run each."""
    pressed: bool
    pressures_Bps: tuple[float, float] = (0.0, 0.0)
    """What pressed at A and at B, as it was achieved; with repeats, the medians."""
    long_enough: bool = True
    """Whether both runs are long enough for their dependence, or the intervals are those of repeats."""
    averaged: tuple[int, int] | None = None
    """Of a series as a whole: over how many of its steps, and how many it has."""

    @property
    def latency(self) -> bool:
        """Whether less is better."""
        return self.metric not in (IOPS, RATE)

    @property
    def pressed_alike(self) -> bool:
        """Whether both sides were pressed with the same rate, as far as it was achieved."""
        return min(self.pressures_Bps) >= SAME_PRESSURE * max(self.pressures_Bps)

    @property
    def clear(self) -> bool:
        """Whether a difference is established: by the test, or else by an interval that leaves 1 out."""
        if self.comparison is not None:
            return self.comparison.verdict == "differs"
        low, high = self.ratio.low, self.ratio.high
        return low is not None and high is not None and self.supported and not low <= 1 <= high


@dataclass(frozen=True, kw_only=True)
class SuiteCompared:
    """One suite of two sides."""

    suite: str
    title: str
    before: Side
    after: Side
    figures: tuple[Compared, ...]
    overall: tuple[Compared, ...]
    """Each series as a whole, where there are blocks and several steps of it."""
    left_out: int
    """Steps of either side that met nothing on the other, or, with repeats, fewer than two of the same."""
    blocks: int
    """Repeats that both sides have; a step may have fewer. 1: none were tested."""
    margin: float

    @property
    def loops_differ(self) -> bool:
        """Whether DiskSpd measured a figure that is compared by one of its asynchronous loops on A, by another on B."""
        before = {row.position: row.loop for row in self.before.rows if row.loop}
        places = {each.position for each in self.figures} & before.keys()
        return any(
            row.loop not in ("", before[row.position]) for row in self.after.rows if row.position in places
        )

    @property
    def tests(self) -> int:
        """How many comparisons are the suite's family, and share its level."""
        return len(self._tested)

    @property
    def claims(self) -> int:
        """How many claims of being alike are the suite's other family: one for each figure of each series."""
        return len({_claim(each.position, each.metric) for each in self._tested})

    @property
    def _tested(self) -> list[Compared]:
        return [each for each in (*self.figures, *self.overall) if each.comparison is not None]

    @property
    def paired(self) -> bool:
        """Whether the blocks are true ones: repeats of one review."""
        return self.before.review == self.after.review

    def by_series(self) -> dict[str, tuple[Compared, ...]]:
        """Return what was compared, series by series, in the order of A."""
        found: dict[str, tuple[Compared, ...]] = {}
        for each in self.figures:
            found[each.position.series] = (*found.get(each.position.series, ()), each)
        return found


def compare_sides(
    before: Side, after: Side, *, titles: Mapping[str, str], margin: float = MARGIN
) -> tuple[SuiteCompared, ...]:
    """Compare two sides in every suite that has a step at a common place, in the order of A.

    ``titles`` are what suites are called, by name. ``margin`` is what counts as no difference, a fraction above 0.
    """
    suites = dict.fromkeys(row.position.suite for row in before.rows)
    found = (_suite(suite, before, after, titles.get(suite, suite), margin) for suite in suites)
    return tuple(each for each in found if each.figures)


def _suite(suite: str, before: Side, after: Side, title: str, margin: float) -> SuiteCompared:
    ours, theirs = (_figures(side, suite) for side in (before, after))
    several = min(_most_repeats(ours), _most_repeats(theirs)) > 1
    met: list[Met] = []
    for (place, metric), mine in ours.items():
        exact = theirs.get((place, metric))
        found = exact or _between(theirs, place, metric)
        rows, others = _common(mine, found) if several else (mine, found)
        if metric in METRICS and len(others) > several:
            met.append((place, metric, rows, others, exact is None))
    means = _means(met) if several else []
    tested = _tests([*met, *(mean for mean, _ in means)], margin=margin) if several else {}
    return SuiteCompared(
        suite=suite,
        title=title,
        before=before,
        after=after,
        overall=tuple(replace(_compared(mean, tested), averaged=averaged) for mean, averaged in means),
        figures=tuple(_compared(each, tested) for each in met),
        left_out=_left_out(ours, theirs, {place for place, *_ in met}),
        blocks=max((found.blocks for found in tested.values()), default=1),
        margin=margin,
    )


def _figures(side: Side, suite: str) -> Figures:
    found: Figures = {}
    for row in side.rows:
        if row.position.suite == suite:
            found.setdefault((row.position, row.metric), {})[row.repeat] = row
    return found


def _most_repeats(figures: Figures) -> int:
    return max(map(len, figures.values()), default=0)


def _common(rows: Repeats, others: Repeats) -> tuple[Repeats, Repeats]:
    """Return the repeats that both have."""
    numbers = sorted(rows.keys() & others.keys())
    return {number: rows[number] for number in numbers}, {number: others[number] for number in numbers}


def _between(figures: Figures, place: PositionKey, metric: str) -> Repeats:
    """Return a side's latency at a place that it has no step at, read between the two around it; empty: it cannot be.

    Bounds are read like values: between two steps it is no more sure than at them.
    """
    if metric in (IOPS, RATE) or place.label:
        return {}
    along = {
        other.at: rows
        for (other, its), rows in figures.items()
        if its == metric
        and replace(other, at=place.at) == place
        and all(row.pressed for row in rows.values())
    }
    for low, high in pairwise(sorted(along)):
        if low < place.at < high:
            share = (place.at - low) / (high - low)
            common = along[low].keys() & along[high].keys()
            return {
                repeat: _interpolated(along[low][repeat], along[high][repeat], place, share)
                for repeat in sorted(common)
            }
    return {}


def _interpolated(low: Figure, high: Figure, place: PositionKey, share: float) -> Figure:
    def read(first: float | None, second: float | None) -> float | None:
        if not first or not second:
            return None
        return math.exp((1 - share) * math.log(first) + share * math.log(second))

    return replace(
        low,
        position=place,
        value=read(low.value, high.value) or 0.0,
        low=read(low.low, high.low),
        high=read(low.high, high.high),
        supported=low.supported and high.supported,
        long_enough=low.long_enough and high.long_enough,
        pressure_Bps=(1 - share) * low.pressure_Bps + share * high.pressure_Bps,
    )


def _key(met: Met) -> str:
    place, metric, *_ = met
    return f"{place.series}/{place.text}/{metric}"


def _claim(place: PositionKey, metric: str) -> str:
    """Return which claim of being alike a figure is under: that of its series."""
    return f"{place.series}/{metric}"


def _tests(met: Iterable[Met], *, margin: float) -> dict[str, Comparison]:
    """Test every figure over its own blocks; all of a suite are one family. What was zero has no ratio to test."""
    pairs, claims = {}, {}
    for each in met:
        place, metric, rows, others, _ = each
        if _positive(rows, others):
            pairs[_key(each)] = (_by_block(rows), _by_block(others))
            claims[_key(each)] = _claim(place, metric)
    return compare_family(pairs, claims=claims, margin=margin)


def _by_block(rows: Repeats) -> dict[int, float]:
    return {block: row.value for block, row in rows.items()}


def _positive(rows: Repeats, others: Repeats) -> bool:
    return all(row.value > 0 for row in (*rows.values(), *others.values()))


def _means(met: Iterable[Met]) -> list[tuple[Met, tuple[int, int]]]:
    """Return each series as a whole: in every block, the geometric mean of a figure over the steps that have it.

    Beside each, over how many steps it is, and how many there are.
    """
    series: dict[tuple[PositionKey, str], list[Met]] = {}
    for each in met:
        place, metric, *_ = each
        if metric in OVERALL:
            series.setdefault((replace(place, label=ALL_STEPS, at=0.0), metric), []).append(each)
    means: list[tuple[Met, tuple[int, int]]] = []
    for (place, metric), steps in series.items():
        if len(whole := _whole(steps)) > 1:
            ours, theirs = (_mean_row(place, side) for side in zip(*whole, strict=True))
            means.append(((place, metric, ours, theirs, False), (len(whole), len(steps))))
    return means


def _whole(steps: Sequence[Met]) -> list[tuple[Repeats, Repeats]]:
    """Return A's and B's rows of the steps that a mean is made of: at both sides, in every block, and supported."""
    most = max((rows.keys() for _, _, rows, _, _ in steps), key=len)
    return [
        ({block: rows[block] for block in most}, {block: others[block] for block in most})
        for _, _, rows, others, between in steps
        if most <= rows.keys() and not between and _positive(rows, others) and _supported(rows, others)
    ]


def _mean_row(place: PositionKey, steps: Sequence[Repeats]) -> Repeats:
    """Return one side's figure of a whole series, block by block."""
    return {
        block: replace(
            steps[0][min(steps[0])],
            position=place,
            value=statistics.geometric_mean(rows[block].value for rows in steps),
            low=None,
            high=None,
        )
        for block in steps[0]
    }


def _values(rows: Repeats) -> list[float]:
    return [rows[repeat].value for repeat in sorted(rows)]


def _supported(rows: Repeats, others: Repeats) -> bool:
    return all(row.supported for row in (*rows.values(), *others.values()))


def _compared(met: Met, tested: Mapping[str, Comparison]) -> Compared:
    place, metric, rows, others, between = met
    comparison = tested.get(_key(met))
    a, b = rows[min(rows)], others[min(others)]
    if min(len(rows), len(others)) < 2:
        before, after, found = a.value, b.value, ratio(b.estimate, a.estimate)
    else:
        before, after = (statistics.median(_values(side)) for side in (rows, others))
        # Where a repeat was zero there is no test, and no single run's interval stands for all of them.
        found = Ratio(after / before if before else math.inf, None, None)
    if comparison is not None:
        found = Ratio(comparison.ratio, comparison.low, comparison.high)
    return Compared(
        position=place,
        judged=a.judged,
        metric=metric,
        before=before,
        after=after,
        ratio=found,
        supported=_supported(rows, others),
        between=between,
        comparison=comparison,
        pressed=a.pressed or b.pressed,
        pressures_Bps=(_median_pressure(rows), _median_pressure(others)),
        long_enough=comparison is not None or (a.long_enough and b.long_enough),
    )


def _median_pressure(rows: Repeats) -> float:
    return statistics.median(row.pressure_Bps for row in rows.values())


def _left_out(ours: Figures, theirs: Figures, met: set[PositionKey]) -> int:
    """Count the places of either side that the other says nothing of. B's own places between A's are used for that."""
    here, there = ({place for place, _ in figures} for figures in (ours, theirs))
    used = {place for place in there if met and any(row.pressed for row in _rows(theirs, place))}
    return len(here - met) + len(there - here - used)


def _rows(figures: Figures, place: PositionKey) -> Iterator[Figure]:
    for (other, _), rows in figures.items():
        if other == place:
            yield from rows.values()
