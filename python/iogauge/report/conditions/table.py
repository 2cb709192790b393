"""Conditions on a figure in the table of a review: ``commit-latency[1 log].commit.p99 > 5ms``.

    SUITE [ '[' POSITION ']' ] . [ SERIES . ] COLUMN OP VALUE

Names are those that the table shows. POSITION is the first cell of a row, with its unit or without; ``[*]`` is every
row, as is no bracket behind the name of a built-in suite. SERIES is the heading of a series or the noun of the suite's
requests (``commit``); without it, all series count. COLUMN is ``mean``, ``pQ``, ``IOPS``, ``MB/s`` or ``achieved``.

A figure is judged by its 95 % interval, by the rule of verdicts and searches (``stats.limits``): the condition holds if
it holds for the interval as a whole, or already for a lower quantile. If the interval contains the limit, is open
towards it, or is not supported by its sample, the condition cannot be decided.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from iogauge.errors import UsageError
from iogauge.report.conditions.names import ANY, names_of, same, suite_names, unknown
from iogauge.report.run.fail_if import (
    Measure,
    Violation,
    parts_of,
    quantile_of,
    refuse,
    ruled,
    threshold_of,
)
from iogauge.results.figures import IOPS, MEAN, RATE, figure_of, quantile_metric
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Direction, Kind, Manifest, StepPlan, SuitePlan
from iogauge.stats.figure import Figure
from iogauge.stats.limits import Outcome, lower_quantiles
from iogauge.store import Review
from iogauge.suites import SUITES
from iogauge.suites.suite import Suite
from iogauge.text.option import option
from iogauge.workload.suggest import closest

COLUMNS = ("mean", "p50", "p99", "p99.9", "p99.99", "IOPS", "MB/s", "achieved")
METRICS = {"mean": MEAN, "iops": IOPS, "mb/s": RATE, "achieved": ""}
"""Metrics of ``results.figures`` by the names of their columns; empty: the rate of the load jobs, which has none."""
_EXAMPLE = "write for example 'commit-latency[1 log].p99 > 5ms' or 'mixed[*].IOPS < 100k'"
_BEGIN = re.compile(r"\s*(?P<suite>[^\[\].<>=!]*[^\[\].<>=!\s])\s*(?P<after>[\[.])")
_SHAPE = re.compile(
    r"\s*(?P<suite>[^\[\].<>=!]+?)\s*(?:\[(?P<position>[^\[\]]+)\]\s*)?\.(?P<rest>[^<>=!]+?)\s*"
    r"(?P<op>>=|<=|==|!=|>|<)\s*(?P<value>[^<>=!]*)"
)


@dataclass(frozen=True, kw_only=True)
class TableCondition:
    """A parsed condition. ``measure`` is the unit of ``threshold``: ns, B/s or plain numbers."""

    text: str
    suite: str
    position: str
    """As it is written; ``*``: every position."""
    series: str
    """Empty: all series."""
    column: str
    """As it is written."""
    metric: str
    """The metric of ``results.figures``; empty: the rate of the load jobs."""
    q: float | None
    """The quantile, if the column is one."""
    op: str
    threshold: float
    measure: Measure

    def require(self, manifest: Manifest, *, saved: bool) -> None:
        """Raise UsageError if the review has no such suite, series or position, with the nearest that it has.

        A suite may plan more steps after a search: what they will be called is not known before, so any name passes.
        Those of a review that is ``saved`` are known once its steps are planned.
        """
        measured = [plan for plan in manifest.plans if not plan.prepares]
        plans = [plan for plan in measured if self._concerns(plan)]
        if not plans:
            raise unknown(self.text, "suite", self.suite, (suite_names(plan)[0] for plan in measured))
        if any(_plans_more(plan, saved=saved) for plan in plans):
            return
        steps = [(step, plan) for plan in plans for step in plan.steps if step.judged]
        of_series = [(step, plan) for step, plan in steps if self._in_series(step, plan)]
        if not of_series:
            known = [*(step.series for step, _ in steps if step.series), *(plan.judged for plan in plans)]
            raise unknown(self.text, f"series of {self.suite}", self.series, known)
        if not any(self._has_figure(step) for step, _ in of_series):
            raise UsageError(
                f"{option('fail_if')} '{self.text}': there is no {self.column} of syncs, which move no data",
                hint="name another column: IOPS, mean or a quantile",
            )
        if not any(self._at(step, plan) for step, plan in of_series):
            names = [names_of(step, plan.axis) for step, plan in of_series]
            known, short = [name for name, _ in names], [name for _, name in names]
            raise unknown(self.text, f"position of {self.suite}", self.position, known, short=short)

    def check(self, review: Review) -> Iterator[tuple[str, Violation]]:
        """Yield the id of each position's step at which the condition holds or cannot be decided, and why."""
        plans = [plan for plan in review.manifest.plans if not plan.prepares and self._concerns(plan)]
        positions = [
            (plan, position)
            for plan in plans
            for position in SuiteResult(review, plan).planned
            if self._in_series(position.plan, plan)
            and self._at(position.plan, plan)
            and self._has_figure(position.plan)
        ]
        if not positions:
            yield (
                self.suite,
                self._undecided(self.suite, "no such position was measured", hint="see the review's table"),
            )
        for plan, position in positions:
            where = f"{position.name} of {', '.join(plan.targets)}" if len(plans) > 1 else position.name
            if (violation := self._judge(where, position)) is not None:
                yield position.plan.id, violation

    def _concerns(self, plan: SuitePlan) -> bool:
        return same(self.suite) in map(same, suite_names(plan))

    def _in_series(self, step: StepPlan, plan: SuitePlan) -> bool:
        nouns = (step.series, plan.judged, f"{plan.judged}s")
        return not self.series or same(self.series) in map(same, nouns)

    def _at(self, step: StepPlan, plan: SuitePlan) -> bool:
        return self.position == ANY or same(self.position) in map(same, names_of(step, plan.axis))

    def _has_figure(self, step: StepPlan) -> bool:
        return self.metric != RATE or step.direction is not Direction.SYNC

    def _judge(self, where: str, position: Position) -> Violation | None:
        if not position.runs:
            return self._undecided(where, "it was not measured", hint="resume the review")
        figures = position.figures
        figure = figure_of(figures, self.metric, self.q) if self.metric else figures.pressure_figure
        if figure is None:
            return self._undecided(
                where, "nothing completed", hint="look at the requests that failed in that step"
            )
        ruling = ruled(figure, self.op, self.threshold, lower_quantiles(self.q, figures.quantile))
        if ruling.outcome is Outcome.NOT_SHOWN:
            return self._undecided(where, ruling.reason, _remedy(figure), measured=figure)
        if ruling.outcome is Outcome.MET:
            return None
        because = f"; {ruling.why}" if ruling.why else ""
        message = f"{where}: {self.column} is {figure}{because} ({self.text})"
        return Violation(self.text, where, None, figure.value, message)

    def _undecided(self, where: str, why: str, hint: str, *, measured: Figure | None = None) -> Violation:
        value = f" is {measured}, and" if measured else ""
        message = f"{where}: {self.column}{value} cannot be judged: {why} ({self.text})"
        return Violation(self.text, where, None, None, message, hint, unknown=True)


def is_on_table(text: str) -> bool:
    """Return whether a condition is one on a review's table: it begins with a suite, or with a name and a bracket.

    A name like that of a suite counts, too, so that the error about it names the suite.

    >>> is_on_table("mixed.p99 > 1ms"), is_on_table("mine[*].p99 > 1ms"), is_on_table("read.p99 > 1ms")
    (True, True, False)
    """
    begin = _BEGIN.match(text)
    if not begin:
        return False
    word = same(begin["suite"])
    return begin["after"] == "[" or (word not in (*Direction, *Kind) and closest(word, SUITES) is not None)


def parse(text: str) -> TableCondition:
    """Return the condition that ``text`` states. Raises UsageError, with a hint, if it states none.

    >>> condition = parse("queue-depth[4].4 KiB random reads.p99.9 > 1ms")
    >>> condition.position, condition.series, condition.q, condition.threshold
    ('4', '4 KiB random reads', 0.999, 1000000.0)
    """
    shape = _SHAPE.fullmatch(text.strip())
    if not shape:
        refuse(text, "not SUITE[POSITION].COLUMN, a comparison and a value", hint=_EXAMPLE)
    *series, word = parts_of(shape["rest"].strip())
    column = same(word)
    q = quantile_of(text, column)
    value = shape["value"].strip()
    if q is not None:
        metric = quantile_metric(q)
    elif column.endswith(" iops"):
        metric = IOPS
    elif column in METRICS:
        metric = METRICS[column]
    else:
        raise unknown(text.strip(), "column", word, COLUMNS)
    measure: Measure = "number" if metric == IOPS else "duration"
    if column in ("mb/s", "achieved"):
        measure = "bandwidth"
        # The head of the column is the unit.
        value += "MB/s" if column == "mb/s" and re.fullmatch(r"[\d.]+", value) else ""
    if shape["op"] in ("==", "!="):
        refuse(text, "a figure with an interval is never exactly a value", hint="compare by > or <")
    return TableCondition(
        text=text.strip(),
        suite=shape["suite"],
        position=(shape["position"] or ANY).strip(),
        series=".".join(series).strip(),
        column=word.strip(),
        metric=metric,
        q=q,
        op=shape["op"],
        threshold=threshold_of(text, value, measure),
        measure=measure,
    )


def _remedy(figure: Figure) -> str:
    """Return what would decide a condition that a figure does not decide."""
    if figure.supported:
        return f"run longer, or add {option('repeats', 6)}" if figure.long_enough else "run longer"
    longer = f"run {figure.needed / figure.count:.3g} times as long" if figure.count else "run longer"
    return f"{longer}, or choose a lower quantile"


def _plans_more(plan: SuitePlan, *, saved: bool) -> bool:
    """Return whether a plan may get steps that are not known yet."""
    if plan.search and not plan.steps:
        return True
    suite = SUITES.get(plan.suite)
    return not saved and (suite is None or type(suite).more is not Suite.more)
