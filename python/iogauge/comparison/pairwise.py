"""Compares two sides figure by figure: how many times B's figure is A's, and how sure that is.

A side is one drive in one review, or the results of another program. ``matching`` finds the figures that two sides have
in common.

With repeats on both sides, each figure is tested over its common blocks (``stats.comparison``). The repeats of one
review are true blocks: a drift of machine or drive affects both sides alike. The repeats of two reviews are paired by
their numbers. That is as valid and detects less, but whatever changed between the two measurements is part of the
difference. A single run has only its own interval, which does not show how runs differ.

The claims about a suite are of two kinds. Each kind is a family named after the suite, with a chance of 5 % that any of
its claims is false (``stats.family``):

- a figure differs, at a step or over a series: each comparison is a claim, corrected by joint sign flips with Holm's
  steps;
- a figure of a series is alike, within the margin, at all its steps and over them: each series and metric is a claim.
  Each of its comparisons has to pass by itself, and the claims have Holm's correction.

``findings`` makes the sentences, ``text`` the tables.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from iogauge.comparison.matching import (
    Match,
    Repeats,
    figures_by_position,
    have_repeats,
    match_figures,
    series_means,
    unmatched,
)
from iogauge.results.figures import IOPS, RATE, PositionFigure
from iogauge.results.position import SMALL_BYTES, PositionKey
from iogauge.stats.differences.comparison import FEWEST_BLOCKS, MARGIN, Comparison, Verdict
from iogauge.stats.differences.family import compare_family
from iogauge.stats.figures import Ratio, ratio

SAME_PRESSURE = 0.99
"""Two achieved rates are the same if the lower is at least this share of the higher."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison. Two sides with the same ``review`` have true blocks."""

    name: str
    review: str
    rows: tuple[PositionFigure, ...]
    full_name: str = ""
    """The full names of its drives; empty: ``name`` is one."""

    @property
    def spelled_out(self) -> str:
        """Its name, and the full name that it stands for."""
        return f"{self.name}: {self.full_name}" if self.full_name else self.name

    @property
    def repeats(self) -> int:
        """How often its steps were run."""
        return 1 + max((row.repeat for row in self.rows), default=0)


@dataclass(frozen=True, kw_only=True)
class FigurePair:
    """One figure of one step, or of a series over its steps, on both sides.

    Values are in the metric's unit; with repeats they are medians.
    """

    position: PositionKey
    judged: str
    metric: str
    before: float
    after: float
    ratio: Ratio
    """B over A."""
    supported: bool
    interpolated: bool
    """Whether one side has no such step, so that its figure lies between two of its steps."""
    comparison: Comparison | None
    """The test over blocks; None for single runs."""
    pressed: bool
    pressures_Bps: tuple[float, float] = (0.0, 0.0)
    """The rates that A's and B's load jobs achieved; with repeats, the medians."""
    long_enough: bool = True
    """Whether the intervals come from repeats, or both runs are long enough for theirs."""
    averaged: tuple[int, int] | None = None
    """For a series over its steps: the number of its steps in the mean, and of all its steps."""
    request_bytes: float = 0.0
    """How large A's requests are on average; 0: not known, or of several steps."""

    @property
    def in_bytes(self) -> bool:
        """Whether a rate is told in bytes a second, since its requests are large."""
        return self.metric == IOPS and self.request_bytes > SMALL_BYTES

    @property
    def latency(self) -> bool:
        """Whether less is better."""
        return self.metric not in (IOPS, RATE)

    @property
    def falls(self) -> bool:
        """Whether B has less than A."""
        return self.ratio.value < 1

    @property
    def distance(self) -> float:
        """The absolute logarithm of the ratio."""
        return abs(math.log(self.ratio.value)) if 0 < self.ratio.value < math.inf else math.inf

    @property
    def pressed_alike(self) -> bool:
        """Whether the load jobs of both sides achieved the same rate."""
        return min(self.pressures_Bps) >= SAME_PRESSURE * max(self.pressures_Bps)

    @property
    def bounded(self) -> bool:
        """Whether the ratio has an interval with two bounds."""
        return self.ratio.low is not None and self.ratio.high is not None

    @property
    def clear(self) -> bool:
        """Whether a difference is established: by the test, or for single runs by an interval that leaves out 1."""
        if self.comparison is not None:
            return self.comparison.verdict == Verdict.DIFFERS
        return self.supported and self._leaves_out_1(self.ratio.low, self.ratio.high)

    @property
    def apparent(self) -> bool:
        """Whether too few blocks for a test show a difference: Student's interval leaves out 1."""
        test = self.comparison
        if test is None or test.blocks >= FEWEST_BLOCKS or not self.supported:
            return False
        return self._leaves_out_1(test.low, test.high)

    @staticmethod
    def _leaves_out_1(low: float | None, high: float | None) -> bool:
        return low is not None and high is not None and not low <= 1 <= high


@dataclass(frozen=True, kw_only=True)
class SuiteComparison:
    """One suite on two sides."""

    suite: str
    title: str
    before: Side
    after: Side
    figures: tuple[FigurePair, ...]
    overall: tuple[FigurePair, ...]
    """Each series over its steps, if there are blocks and several steps."""
    left_out: int
    """The number of steps of either side without a match on the other."""
    blocks: int
    """The most repeats that both sides have of a figure; 1 if nothing was tested."""
    margin: float

    @property
    def loops_differ(self) -> bool:
        """Whether DiskSpd measured a compared figure by one asynchronous loop on A, and by another on B."""
        before = {row.position: row.loop for row in self.before.rows if row.loop}
        positions = {pair.position for pair in self.figures} & before.keys()
        return any(
            row.loop not in ("", before[row.position]) for row in self.after.rows if row.position in positions
        )

    @property
    def tests(self) -> int:
        """The number of comparisons in the family of differences."""
        return len(self._tested)

    @property
    def claims(self) -> int:
        """The number of claims in the family of likeness: one for each figure of each series."""
        return len({_claim(pair) for pair in self._tested})

    @property
    def _tested(self) -> list[FigurePair]:
        return [pair for pair in (*self.figures, *self.overall) if pair.comparison is not None]

    @property
    def paired(self) -> bool:
        """Whether the blocks are true ones: repeats of one review."""
        return self.before.review == self.after.review

    def by_series(self) -> dict[str, tuple[FigurePair, ...]]:
        """Return the figures of each series, in the order of A."""
        series: dict[str, tuple[FigurePair, ...]] = {}
        for pair in self.figures:
            series[pair.position.series] = (*series.get(pair.position.series, ()), pair)
        return series

    def overall_of(self, series: str) -> tuple[FigurePair, ...]:
        """Return the figures of a series over its steps."""
        return tuple(pair for pair in self.overall if pair.position.series == series)


def compare_sides(
    before: Side, after: Side, *, titles: Mapping[str, str], margin: float = MARGIN
) -> tuple[SuiteComparison, ...]:
    """Compare two sides in every suite in which they have a step in common, in the order of A.

    ``titles`` are the titles of suites by name. Differences within ``margin``, a fraction above 0, count as none.
    """
    names = dict.fromkeys(row.position.suite for row in before.rows)
    suites = (_suite(name, before, after, titles.get(name, name), margin) for name in names)
    return tuple(suite for suite in suites if suite.figures)


def _suite(name: str, before: Side, after: Side, title: str, margin: float) -> SuiteComparison:
    ours, theirs = (figures_by_position(side.rows, name) for side in (before, after))
    repeated = have_repeats(ours, theirs)
    steps = match_figures(ours, theirs, repeated=repeated)
    means = series_means(steps) if repeated else []
    tests = _test_family([*steps, *means], margin=margin) if repeated else {}
    sizes = _request_sizes(before.rows)
    return SuiteComparison(
        suite=name,
        title=title,
        before=before,
        after=after,
        overall=tuple(_pair(mean, tests.get(_key(mean))) for mean in means),
        figures=tuple(
            _pair(step, tests.get(_key(step)), request_bytes=sizes.get(step.position, 0.0)) for step in steps
        ),
        left_out=unmatched(ours, theirs, steps),
        blocks=max((test.blocks for test in tests.values()), default=1),
        margin=margin,
    )


def _request_sizes(rows: Iterable[PositionFigure]) -> dict[PositionKey, float]:
    """Return the mean bytes of a request at each position, by its last repeat."""
    rows = tuple(rows)
    iops = {row.position: row.value for row in rows if row.metric == IOPS and row.value}
    return {
        row.position: row.value / iops[row.position]
        for row in rows
        if row.metric == RATE and row.position in iops
    }


def _key(match: Match) -> str:
    return f"{match.position.series}/{match.position.place}/{match.metric}"


def _claim(figure: Match | FigurePair) -> str:
    """Return the claim of likeness to which a figure belongs: that of its series and metric."""
    return f"{figure.position.series}/{figure.metric}"


def _test_family(matches: Iterable[Match], *, margin: float) -> dict[str, Comparison]:
    """Test each figure over its own blocks, all as one family. A figure with a zero has no ratio to test."""
    positive = [match for match in matches if match.positive]
    return compare_family(
        {_key(match): (_values(match.before), _values(match.after)) for match in positive},
        claims={_key(match): _claim(match) for match in positive},
        margin=margin,
    )


def _values(repeats: Repeats) -> dict[int, float]:
    return {repeat: figure.value for repeat, figure in repeats.items()}


def _pair(match: Match, test: Comparison | None, *, request_bytes: float = 0.0) -> FigurePair:
    first_a, first_b = (repeats[min(repeats)] for repeats in (match.before, match.after))
    if min(len(match.before), len(match.after)) < 2:
        before, after = first_a.value, first_b.value
        times = ratio(first_b, first_a)
    else:
        before, after = (
            statistics.median(_values(repeats).values()) for repeats in (match.before, match.after)
        )
        # A repeat of zero prevents the test, and the interval of a single run cannot stand for all repeats.
        times = Ratio(after / before if before else math.inf, None, None)
    if test is not None:
        times = Ratio(test.ratio, test.low, test.high)
    return FigurePair(
        position=match.position,
        judged=first_a.judged,
        metric=match.metric,
        before=before,
        after=after,
        ratio=times,
        supported=match.supported,
        interpolated=match.interpolated,
        comparison=test,
        pressed=first_a.pressed or first_b.pressed,
        pressures_Bps=(_median_pressure(match.before), _median_pressure(match.after)),
        long_enough=test is not None or (first_a.long_enough and first_b.long_enough),
        averaged=match.averaged,
        request_bytes=request_bytes,
    )


def _median_pressure(repeats: Repeats) -> float:
    return statistics.median(figure.pressure_Bps for figure in repeats.values())
