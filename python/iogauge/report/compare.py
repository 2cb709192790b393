"""Two sides laid one beside the other: step by step, how many times B's figure is A's, and how sure that is.

A side is one drive in one review, another tool's results, or a publication: all of them are rows of figures. What is
compared are steps at the same place: of the same suite and series, under the same label or at the same place on the
axis. Where writes press, steps may have been scaled to what each drive takes. There, and only there, B's latency at one
of A's places is read between B's two neighbouring steps, linearly in its logarithm, and is marked as such; rates are
not, and nothing is extended beyond B's steps. How many steps of A and B met nothing is counted.

With repeats on both sides, each figure is tested over blocks (``stats.comparison``), with Holm's correction for all
figures of a suite. There are dozens of these, so that a few blocks can establish none of them by itself, however large
it is; therefore each series is also compared as a whole, by the geometric mean over its steps in each block, and these
few comparisons are a family of their own. Repeats of one review are true blocks: what drifts meanwhile falls on both
sides. Repeats of two reviews are put together in their order, which is as valid and finds less; but what differs
between the two times of measuring cannot be told from what differs between the drives. A single run has only its own
interval, which says nothing of how runs differ.

Judges no suite and prints nothing; the sentences are in ``compare_findings.py``.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from iogauge.report.figure_row import IOPS, MEAN, RATE, FigureRow, Place, quantile_metric
from iogauge.stats.comparison import MARGIN, Comparison, compare_family
from iogauge.stats.figures import Ratio, ratio

METRICS = (IOPS, MEAN, *map(quantile_metric, (0.5, 0.99, 0.999)))
"""What is compared, in the order of the table."""
OVERALL = (IOPS, MEAN, quantile_metric(0.99))
"""What a series is compared by as a whole."""
ALL_STEPS = "all steps"

Repeats = dict[int, FigureRow]
Met = tuple[Place, str, Repeats, Repeats, bool]
"""A place and a metric, A's rows and B's there, and whether B's were read between two steps."""
Figures = dict[tuple[Place, str], Repeats]
"""The rows of a side by place and metric, and then by repeat."""


@dataclass(frozen=True)
class Side:
    """One of those compared. ``review`` is what it was measured in: two sides of one review have true blocks."""

    name: str
    review: str
    rows: tuple[FigureRow, ...]

    @property
    def repeats(self) -> int:
        """How often its steps were run."""
        return 1 + max((row.repeat for row in self.rows), default=0)

    @property
    def published(self) -> bool:
        """Whether it is a publication's: values without intervals."""
        return self.review == PUBLISHED


PUBLISHED = "published"


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One figure of one step, B beside A. Values are in the metric's unit; with repeats, their medians."""

    place: Place
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

    @property
    def latency(self) -> bool:
        """Whether less is better."""
        return self.metric not in (IOPS, RATE)

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
    """Steps of either side that met nothing on the other."""
    blocks: int
    """Repeats that were tested; 1: none were."""
    margin: float

    @property
    def tests(self) -> int:
        """How many comparisons of single steps share their level."""
        return sum(each.comparison is not None for each in self.figures)

    @property
    def paired(self) -> bool:
        """Whether the blocks are true ones: repeats of one review."""
        return self.before.review == self.after.review

    def by_series(self) -> dict[str, tuple[Compared, ...]]:
        """Return what was compared, series by series, in the order of A."""
        found: dict[str, tuple[Compared, ...]] = {}
        for each in self.figures:
            found[each.place.series] = (*found.get(each.place.series, ()), each)
        return found


def compare_sides(
    before: Side, after: Side, *, titles: Mapping[str, str], margin: float = MARGIN
) -> tuple[SuiteCompared, ...]:
    """Compare two sides in every suite that has a step at a common place, in the order of A.

    ``titles`` are what suites are called, by name. ``margin`` is what counts as no difference, a fraction above 0.
    """
    suites = dict.fromkeys(row.place.suite for row in before.rows)
    found = (_suite(suite, before, after, titles.get(suite, suite), margin) for suite in suites)
    return tuple(each for each in found if each.figures)


def _suite(suite: str, before: Side, after: Side, title: str, margin: float) -> SuiteCompared:
    ours, theirs = (_figures(side, suite) for side in (before, after))
    blocks = min(_most_repeats(ours), _most_repeats(theirs))
    met: list[Met] = []
    for (place, metric), rows in ours.items():
        exact = theirs.get((place, metric))
        others = exact or _between(theirs, place, metric)
        if metric in _wanted(before, after) and others:
            met.append((place, metric, rows, others, exact is None))
    tested = _tests(met, blocks=blocks, margin=margin) if blocks > 1 else {}
    return SuiteCompared(
        suite=suite,
        title=title,
        before=before,
        after=after,
        overall=_overall(met, blocks=blocks, margin=margin) if tested else (),
        figures=tuple(
            _compared(rows, others, between=between, comparison=tested.get(_key(place, metric)))
            for place, metric, rows, others, between in met
        ),
        left_out=_left_out(ours, theirs, {place for place, *_ in met}),
        blocks=blocks if tested else 1,
        margin=margin,
    )


def _wanted(before: Side, after: Side) -> Sequence[str]:
    """A publication says what it says; of what was measured, the usual figures are compared."""
    if before.published or after.published:
        side = before if before.published else after
        return tuple(dict.fromkeys(row.metric for row in side.rows))
    return METRICS


def _figures(side: Side, suite: str) -> Figures:
    found: Figures = {}
    for row in side.rows:
        if row.place.suite == suite:
            found.setdefault((row.place, row.metric), {})[row.repeat] = row
    return found


def _most_repeats(figures: Figures) -> int:
    return max(map(len, figures.values()), default=0)


def _between(figures: Figures, place: Place, metric: str) -> Repeats:
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


def _interpolated(low: FigureRow, high: FigureRow, place: Place, share: float) -> FigureRow:
    def read(first: float | None, second: float | None) -> float | None:
        if not first or not second:
            return None
        return math.exp((1 - share) * math.log(first) + share * math.log(second))

    return replace(
        low,
        place=place,
        value=read(low.value, high.value) or 0.0,
        low=read(low.low, high.low),
        high=read(low.high, high.high),
        supported=low.supported and high.supported,
    )


def _key(place: Place, metric: str) -> str:
    return f"{place.series}/{place.text}/{metric}"


def _tests(met: Iterable[Met], *, blocks: int, margin: float) -> dict[str, Comparison]:
    """Test every figure that all blocks of both sides have; all of a suite are one family."""
    pairs = {}
    for place, metric, rows, others, _ in met:
        ours, theirs = _values(rows)[:blocks], _values(others)[:blocks]
        if len(ours) == len(theirs) == blocks and all(value > 0 for value in (*ours, *theirs)):
            pairs[_key(place, metric)] = (ours, theirs)
    return compare_family(pairs, margin=margin)


def _overall(met: Iterable[Met], *, blocks: int, margin: float) -> tuple[Compared, ...]:
    """Compare each series as a whole: in every block, the geometric mean of a figure over the steps that have it."""
    series: dict[tuple[Place, str], list[Met]] = {}
    for each in met:
        place, metric, rows, others, between = each
        whole = min(len(rows), len(others)) >= blocks and not between
        if metric in OVERALL and whole and all(row.value > 0 for row in (*rows.values(), *others.values())):
            series.setdefault((replace(place, label=ALL_STEPS, at=0.0), metric), []).append(each)
    sides = {
        (place, metric): (
            _mean_row(place, [rows for _, _, rows, _, _ in steps], blocks),
            _mean_row(place, [others for _, _, _, others, _ in steps], blocks),
        )
        for (place, metric), steps in series.items()
        if len(steps) > 1
    }
    tested = _tests(
        [(place, metric, ours, theirs, False) for (place, metric), (ours, theirs) in sides.items()],
        blocks=blocks,
        margin=margin,
    )
    return tuple(
        _compared(ours, theirs, between=False, comparison=tested[_key(place, metric)])
        for (place, metric), (ours, theirs) in sides.items()
    )


def _mean_row(place: Place, steps: Sequence[Repeats], blocks: int) -> Repeats:
    """Return one side's figure of a whole series, block by block."""
    return {
        block: replace(
            steps[0][min(steps[0])],
            place=place,
            value=statistics.geometric_mean(_values(rows)[block] for rows in steps),
            low=None,
            high=None,
            supported=all(row.supported for rows in steps for row in rows.values()),
        )
        for block in range(blocks)
    }


def _values(rows: Repeats) -> list[float]:
    return [rows[repeat].value for repeat in sorted(rows)]


def _compared(rows: Repeats, others: Repeats, *, between: bool, comparison: Comparison | None) -> Compared:
    a, b = rows[min(rows)], others[min(others)]
    found = (
        Ratio(comparison.ratio, comparison.low, comparison.high)
        if comparison is not None
        else ratio(b.estimate, a.estimate)
    )
    return Compared(
        place=a.place,
        judged=a.judged,
        metric=a.metric,
        before=statistics.median(_values(rows)) if comparison else a.value,
        after=statistics.median(_values(others)) if comparison else b.value,
        ratio=found,
        supported=all(row.supported for row in (*rows.values(), *others.values())),
        between=between,
        comparison=comparison,
        pressed=a.pressed or b.pressed,
    )


def _left_out(ours: Figures, theirs: Figures, met: set[Place]) -> int:
    """Count the places of either side that the other says nothing of. B's own places between A's are used for that."""
    here, there = ({place for place, _ in figures} for figures in (ours, theirs))
    used = {place for place in there if met and any(row.pressed for row in _rows(theirs, place))}
    return len(here - met) + len(there - here - used)


def _rows(figures: Figures, place: Place) -> Iterator[FigureRow]:
    for (other, _), rows in figures.items():
        if other == place:
            yield from rows.values()
