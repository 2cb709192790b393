"""The figure that stands for a review in a list: that of its first suite which has one.

A search has the highest rate that keeps its limits; reads under writes have their mean latency under the most writes;
any other suite has the highest rate. Suites are not asked for their conclusions, a search's excepted: a list of
thousands of reviews cannot wait for them.
"""

from __future__ import annotations

from iogauge.index.rows import Headline
from iogauge.report.page.verdict import ends, load_text, verdict
from iogauge.report.ranking import Finding
from iogauge.results.figures import IOPS, MEAN, RATE
from iogauge.results.position import Position, counts_requests
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figure import Figure
from iogauge.store import Review
from iogauge.suites import suite_to_judge


def headline_of(review: Review) -> Headline | None:
    """Return the headline of a review; None: nothing that it measured has a figure.

    Raises IogaugeError if a file of the review is damaged.
    """
    for plan in review.manifest.plans:
        result = SuiteResult(review, plan)
        if not plan.prepares and (headline := _headline(result)):
            return headline
    return None


def _headline(result: SuiteResult) -> Headline | None:
    if result.plan.goal is not None:
        return _of_search(result)
    leading = result.leading
    if leading is None:
        return None
    return _under_writes(result) if result.along_pressure else _of_rates(result, leading)


def _of_search(result: SuiteResult) -> Headline | None:
    suite = suite_to_judge(result.plan, warn=lambda _: None)
    search = suite.conclude(result).search
    if search is None or search.most is None:
        return None
    spark = tuple(load.rate.value for load in search.deciding)
    metric = IOPS if search.most.unit == "IOPS" else RATE
    return _of(metric, search.most, f"Most: {_text(search.most)} with {' and '.join(search.limits)}.", spark)


def _under_writes(result: SuiteResult) -> Headline | None:
    measured = [
        (position, position.figures) for position in result.positions if position.figures.mean is not None
    ]
    _, (_, most) = ends(measured)
    mean = most.mean
    assert mean is not None  # of those measured
    sentence = next((said for said in verdict(result).sentences if said.effect >= 0), None)
    text = Finding(sentence, "", "").headline if sentence else f"Mean latency {mean.text} {load_text(most)}."
    return _of(MEAN, mean, text, tuple(figures.mean.value for _, figures in measured if figures.mean))


def _of_rates(result: SuiteResult, leading: Position) -> Headline:
    in_requests = counts_requests([leading.figures])
    alike = [
        position.figures
        for position in result.positions
        if position.series == leading.series and counts_requests([position.figures]) == in_requests
    ]
    if in_requests:
        figure, spark = leading.figures.iops_figure, tuple(figures.iops for figures in alike)
    else:
        figure, spark = leading.figures.rate_figure, tuple(figures.rate_Bps for figures in alike)
    return _of(IOPS if in_requests else RATE, figure, f"Most: {_text(figure)}, {leading.name}.", spark)


def _text(figure: Figure) -> str:
    return figure.shown(figure.value)


def _of(metric: str, figure: Figure, sentence: str, spark: tuple[float, ...]) -> Headline:
    return Headline(metric, figure.value, figure.unit, figure.low, figure.high, sentence, spark)
