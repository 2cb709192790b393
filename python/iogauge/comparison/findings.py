"""Says in sentences what a comparison shows: what differs along the steps of each series, or that nothing does.

A finding names the greatest difference, its step and its 95 % interval, and what it rests on: blocks and their
corrected p value, or single runs. It goes on with the range over all steps that differ in the same direction. Steps
that differ in the other direction have a finding of their own.

If no difference is established, the finding says whether the sides were shown to be alike within the margin, or
nothing was decided. With too few blocks for a test, it reports what the blocks show and says that nothing was tested.

``pairwise`` computes the figures, and ``wording`` words the parts of a finding.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from iogauge.comparison.pairwise import FigurePair, SuiteComparison
from iogauge.comparison.wording import (
    any_step_text,
    certainty_text,
    difference_text,
    range_text,
    span_text,
    times_text,
    where_text,
)
from iogauge.results.figures import IOPS, MEAN, metric_text, quantile_metric
from iogauge.stats.differences.comparison import FEWEST_BLOCKS, Verdict
from iogauge.text import numbers

PRESSED = (MEAN, quantile_metric(0.99))
"""The main metrics of a series under pressure."""
FREE = (IOPS, quantile_metric(0.99))
"""The main metrics of any other series."""


@dataclass(frozen=True)
class Statement:
    """A sentence without its full stop, and the figures that it is about."""

    text: str
    evidence: tuple[FigurePair, ...]


def findings(suite: SuiteComparison) -> tuple[str, ...]:
    """Return the findings of a suite, a sentence each."""
    return tuple(statement.text for statement in statements(suite))


def statements(suite: SuiteComparison) -> tuple[Statement, ...]:
    """Return the findings of a suite with their figures."""
    return tuple(
        replace(statement, text=f"{series}: {statement.text}" if series else statement.text)
        for series, pairs in suite.by_series().items()
        for metric in main_metrics(pairs)
        for statement in _statements(suite, [pair for pair in pairs if pair.metric == metric])
    )


def main_metrics(pairs: Sequence[FigurePair]) -> Iterator[str]:
    """Yield the metrics of a series that have findings; the first is what its suite is about."""
    main = PRESSED if any(pair.pressed for pair in pairs) else FREE
    metrics = dict.fromkeys(pair.metric for pair in pairs)
    # The results of another program may have none of the main metrics.
    yield from [metric for metric in main if metric in metrics] or metrics


def _statements(suite: SuiteComparison, figures: Sequence[FigurePair]) -> Iterator[Statement]:
    """Yield the findings about one metric along the steps of a series."""
    metric, series = figures[0].metric, figures[0].position.series
    overall = _differing([pair for pair in suite.overall_of(series) if pair.metric == metric])
    differing = _differing(figures)
    if overall or differing:
        yield from _differences(suite, figures, differing, overall[0] if overall else None)
    else:
        yield _no_difference(suite, figures)


def _differing(pairs: Sequence[FigurePair]) -> list[FigurePair]:
    """Return the pairs whose difference is established, or else those that too few blocks for a test show."""
    return [pair for pair in pairs if pair.clear] or [pair for pair in pairs if pair.apparent]


def _differences(
    suite: SuiteComparison,
    figures: Sequence[FigurePair],
    differing: Sequence[FigurePair],
    overall: FigurePair | None,
) -> Iterator[Statement]:
    """Yield a statement for each direction in which steps differ.

    The direction of the series over its steps (``overall``) comes first, then that of the greatest difference.
    """
    directions = [[pair for pair in differing if pair.falls is falls] for falls in (False, True)]
    directions = sorted(
        filter(None, directions), key=lambda pairs: max(pair.distance for pair in pairs), reverse=True
    )
    if overall is not None:
        falls = overall.falls
        directions.sort(key=lambda pairs: pairs[0].falls is not falls)
        if not any(pairs[0].falls is falls for pairs in directions):
            yield Statement(difference_text(suite, overall), (overall,))
    for pairs in directions:
        agrees = overall is not None and pairs[0].falls is overall.falls
        reverse = next((other for other in directions if other is not pairs), [])
        yield _one_direction(suite, figures, pairs, reverse, overall=overall if agrees else None)


def _one_direction(
    suite: SuiteComparison,
    figures: Sequence[FigurePair],
    pairs: Sequence[FigurePair],
    reverse: Sequence[FigurePair],
    *,
    overall: FigurePair | None,
) -> Statement:
    """Return the statement about ``pairs``, the steps that differ in one direction; ``reverse`` differ in the other."""
    greatest = _greatest(pairs)
    certainty = certainty_text(suite, greatest)
    if overall is None:
        text = difference_text(suite, greatest)
    else:
        # What both figures rest on is said once, at the end.
        own = certainty_text(suite, overall)
        text = difference_text(suite, overall, certainty="" if own == certainty else own)
        text += f", and {times_text(greatest)} {where_text(suite, greatest)}{certainty}"
    if len(figures) > 1:
        text += f"; {range_text(pairs)} {span_text(pairs, figures)}"
    if reverse:
        text += f"; the order reverses {span_text(reverse, figures)}"
    return Statement(text, (greatest,) if overall is None else (overall, greatest))


def _greatest(pairs: Iterable[FigurePair]) -> FigurePair:
    """Return the pair with the greatest difference; a step that both sides have comes before an interpolated one."""
    return max(pairs, key=lambda pair: (not pair.interpolated, pair.distance))


def _no_difference(suite: SuiteComparison, figures: Sequence[FigurePair]) -> Statement:
    """Return why no difference is established along a series."""
    metric = metric_text(figures[0].metric)
    if suite.blocks > 1:
        return Statement(_undecided(suite, figures), (figures[0],))
    if not any(pair.long_enough for pair in figures):
        reason = "neighbouring seconds correlate too strongly for runs this short"
        return Statement(f"no difference in {metric} is established: {reason}", (figures[0],))
    if not any(pair.bounded for pair in figures):
        greatest = _greatest(figures)
        return Statement(difference_text(suite, greatest), (greatest,))
    text = f"no difference in {metric} exceeds the interval of single runs {any_step_text(figures)}"
    return Statement(text, (figures[0],))


def _undecided(suite: SuiteComparison, figures: Sequence[FigurePair]) -> str:
    """Return that a series is alike over its blocks, or that nothing was decided."""
    metric = metric_text(figures[0].metric)
    alike = [
        pair.comparison for pair in figures if pair.comparison and pair.comparison.verdict == Verdict.ALIKE
    ]
    if len(alike) == len(figures):
        blocks = numbers.counted(min(test.blocks for test in alike), "block")
        claims = numbers.counted(suite.claims, "such claim")
        return (
            f"{metric} does not differ by more than {100 * suite.margin:g} % {any_step_text(figures)} "
            f"({blocks}, p = {alike[0].p_alike_corrected:.2g} after correction for {claims})"
        )
    shown = f", {len(alike)} of them shown to be alike within {100 * suite.margin:g} %" if alike else ""
    few = suite.blocks < FEWEST_BLOCKS
    seen = f"seen ({numbers.counted(suite.blocks, 'block')}, too few to test)" if few else "established"
    return f"no difference in {metric} is {seen} {any_step_text(figures)}{shown}"
