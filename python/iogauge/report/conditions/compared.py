"""Conditions on a comparison, for regressions: ``worse by > 5%``, ``mixed[70 %].p99 worse by > 10%``.

    [ SUITE [ '[' POSITION ']' ] . [ SERIES . ] ] [ COLUMN ] worse|better by > SHARE %

Worse is a longer latency or a lower rate of B than of A, as a share of A's figure. Without COLUMN, each series has its
main figures, those of its findings: rate and p99, or mean and p99 under writes. Without SUITE, all suites count.

The condition holds for a figure whose difference is established (by the test over repeats, corrected for all
comparisons of the suite; of single runs, by the interval) if the whole interval lies beyond the limit. It does not hold
if the whole interval lies within. Anything else cannot be decided: two to five repeats decide nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iogauge.comparison.findings import main_metrics
from iogauge.comparison.pairwise import FigurePair, SuiteComparison
from iogauge.comparison.wording import place_text
from iogauge.report.conditions.names import ANY, same, unknown
from iogauge.report.run.fail_if import OPERATORS, Violation, parts_of, quantile_of, refuse
from iogauge.results.figures import IOPS, MEAN, RATE, metric_text, quantile_metric
from iogauge.stats.differences.comparison import Verdict
from iogauge.stats.figures import Ratio
from iogauge.text import numbers
from iogauge.text.option import option

_EXAMPLE = "write for example 'worse by > 5%' or 'mixed[70 %].p99 worse by > 10%'"
_SHAPE = re.compile(
    r"(?P<where>.*?)\s*\b(?P<sense>worse|better)\s+by\s*(?P<op>>=|>)\s*(?P<share>\d+(?:\.\d+)?)\s*%\s*",
    re.IGNORECASE,
)
_WHERE = re.compile(r"(?P<suite>[^\[\].]+?)\s*(?:\[(?P<position>[^\[\]]+)\]\s*)?(?:\.(?P<rest>.+))?")
_METRICS = {"mean": MEAN, "iops": IOPS, "mb/s": RATE, "rate": RATE}
COLUMNS = ("mean", "p50", "p99", "p99.9", "p99.99", "IOPS", "MB/s")


@dataclass(frozen=True, kw_only=True)
class ComparedCondition:
    """A parsed condition. ``limit`` is a fraction; empty names stand for all."""

    text: str
    suite: str
    position: str
    series: str
    metric: str
    """Empty: the main figures of a series."""
    worse: bool
    op: str
    limit: float

    def require(self, suites: Sequence[SuiteComparison]) -> None:
        """Raise UsageError if the comparison has no such suite, series, position or column."""
        named = [suite for suite in suites if suite.figures and self._concerns(suite)]
        if not named:
            raise unknown(self.text, "suite", self.suite, (suite.suite for suite in suites if suite.figures))
        pairs = [pair for suite in named for pair in suite.figures]
        for noun, name, known, matches in (
            (
                "series",
                self.series,
                [pair.position.series for pair in pairs if pair.position.series],
                self._in_series,
            ),
            ("position", self.position, [pair.position.place for pair in pairs], self._at),
            (
                "column",
                metric_text(self.metric),
                [metric_text(pair.metric) for pair in pairs],
                self._has_metric,
            ),
        ):
            if not any(map(matches, pairs)):
                raise unknown(self.text, noun, name, known)
            pairs = [pair for pair in pairs if matches(pair)]

    def check(self, suites: Sequence[SuiteComparison]) -> Iterator[Violation]:
        """Yield the figures for which the condition holds, the worst first; then one for those that decide nothing."""
        checked = [(suite, pair) for suite in suites if self._concerns(suite) for pair in self._pairs(suite)]
        outcomes = [(suite, pair, self._decided(suite, pair)) for suite, pair in checked]
        held = [(suite, pair) for suite, pair, holds in outcomes if holds]
        for suite, pair in sorted(held, key=lambda item: -(self._share(item[1]).value)):
            where = self._where(suite, pair)
            # A single pair of sides needs no name.
            side = suite.after.name if len({suite.after for suite in suites}) > 1 else ""
            yield Violation(
                self.text,
                where,
                None,
                pair.after,
                f"{where} is {self._written(pair)} ({self.text})",
                brief=f"{self._where(suite, pair, of=side)} {self._written(pair, interval=False)}",
            )
        if open_ones := [(suite, pair) for suite, pair, holds in outcomes if holds is None]:
            suite, pair = max(open_ones, key=lambda item: self._share(item[1]).value)
            count = f"{len(open_ones)} of {numbers.counted(len(checked), 'figure')}"
            message = f"{count} cannot be decided: {self._where(suite, pair)} is {self._written(pair)} ({self.text})"
            hint = f"make both reviews with {option('repeats', 6)} or more: that tests each figure"
            brief = f"{count} cannot be decided, the first at {self._where(suite, pair, of='')}"
            yield Violation(
                self.text, self._where(suite, pair), None, None, message, hint, unknown=True, brief=brief
            )

    def _concerns(self, suite: SuiteComparison) -> bool:
        return not self.suite or same(self.suite) == same(suite.suite)

    def _in_series(self, pair: FigurePair) -> bool:
        names = (pair.position.series, pair.judged, f"{pair.judged}s")
        return not self.series or same(self.series) in map(same, names)

    def _at(self, pair: FigurePair) -> bool:
        place = pair.position.place
        names = (place, place.removesuffix(f" {numbers.unit_of(pair.position.at, pair.position.unit)}"))
        return self.position == ANY or same(self.position) in map(same, names)

    def _has_metric(self, pair: FigurePair) -> bool:
        return not self.metric or pair.metric == self.metric

    def _pairs(self, suite: SuiteComparison) -> Iterator[FigurePair]:
        for pairs in suite.by_series().values():
            metrics = [self.metric] if self.metric else list(main_metrics(pairs))
            yield from (
                pair for pair in pairs if pair.metric in metrics and self._in_series(pair) and self._at(pair)
            )

    def _share(self, pair: FigurePair) -> Ratio:
        """Return by which share B is worse than A, or better, with its interval; negative if it is the contrary."""
        value, low, high = pair.ratio.value, pair.ratio.low, pair.ratio.high
        if pair.latency is self.worse:
            return Ratio(value - 1, None if low is None else low - 1, None if high is None else high - 1)
        return Ratio(1 - value, None if high is None else 1 - high, None if low is None else 1 - low)

    def _decided(self, suite: SuiteComparison, pair: FigurePair) -> bool | None:
        share, holds = self._share(pair), OPERATORS[self.op]
        test = pair.comparison
        if not pair.supported or not pair.long_enough or (test is not None and test.by_t):
            return None
        if pair.clear and share.low is not None and holds(share.low, self.limit):
            return True
        alike = test is not None and test.verdict is Verdict.ALIKE and suite.margin <= self.limit
        within = share.high is not None and not holds(share.high, self.limit)
        return False if alike or within else None

    def _where(self, suite: SuiteComparison, pair: FigurePair, *, of: str | None = None) -> str:
        """Return which figure it is, and of which side: B, or ``of``; empty: it goes without saying."""
        series = f"{pair.position.series}, " if pair.position.series else ""
        side = suite.after.name if of is None else of
        owner = f" of {side}" if side else ""
        return f"{suite.suite}, {series}{place_text(pair)}: {metric_text(pair.metric)}{owner}"

    def _written(self, pair: FigurePair, *, interval: bool = True) -> str:
        """Return by how much B is worse, with the digits that the interval supports; from twice on, how many times."""
        share, sense = self._share(pair), "worse" if self.worse else "better"
        if share.value >= 1:  # beyond twice as long, or twice as much: the ratio itself
            ratio = pair.ratio
            times, _, bounds = numbers.times(ratio.value, ratio.low, ratio.high).partition(" ")
            return f"{times} A's{f' {bounds}' * interval}"
        ends = [None if end is None else 100 * end for end in (share.low, share.high)]
        shown = f"{numbers.within(100 * share.value, *ends)} % {sense}"
        if not interval:
            return shown
        low, high = ends
        if low is None or high is None:
            return f"{shown} (no interval)"
        return f"{shown} ({numbers.within(low, low, high)} to {numbers.within(high, low, high)} %)"


def parse(text: str) -> ComparedCondition:
    """Return the condition that ``text`` states. Raises UsageError, with a hint, if it states none.

    >>> parse("worse by > 5%").limit, parse("mixed[70 %].p99.9 worse by > 10 %").metric
    (0.05, 'p99.9_ns')
    """
    shape = _SHAPE.fullmatch(text.strip())
    where = shape and _WHERE.fullmatch(shape["where"].strip() or ANY)
    if not shape or not where:
        refuse(text, "not a condition on a comparison", hint=_EXAMPLE)
    suite, position, rest = where["suite"], (where["position"] or ANY).strip(), where["rest"] or ""
    if _metric(text, same(shape["where"])):
        suite, position, rest = "", ANY, shape["where"]  # a column alone; the dot of p99.9 is its own
    *series, column = parts_of(rest.strip())
    metric = _metric(text, same(column)) if column else ""
    if column and not metric:
        raise unknown(text.strip(), "column", column, COLUMNS)
    return ComparedCondition(
        text=text.strip(),
        suite="" if suite == ANY else suite.strip(),
        position=position,
        series=".".join(series).strip(),
        metric=metric,
        worse=shape["sense"].lower() == "worse",
        op=shape["op"],
        limit=float(shape["share"]) / 100,
    )


def _metric(text: str, column: str) -> str:
    """Return the metric of a column; empty if there is none of that name."""
    q = quantile_of(text, column)
    return quantile_metric(q) if q is not None else _METRICS.get(column, "")
