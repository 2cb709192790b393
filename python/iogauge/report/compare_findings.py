"""What a comparison says, in sentences: for each series the greatest difference that is established, or that none is.

A sentence names the step, how many times, the 95 % interval, and what that rests on: blocks and their corrected p
value, or one run each. Where nothing is established it says which of the two it is: shown to be alike within the
margin, or not decided. Of fewer blocks than any test needs it says what was seen, and that it is not tested.

Computes nothing: see ``compare.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence

from iogauge.report.compare import ALL_STEPS, Compared, SuiteCompared
from iogauge.report.figure_row import IOPS, MEAN, metric_text, quantile_metric
from iogauge.stats import words
from iogauge.stats.comparison import FEWEST_BLOCKS, Verdict
from iogauge.stats.family import all_alike

PRESSED = (MEAN, quantile_metric(0.99))
FREE = (IOPS, quantile_metric(0.99))


def findings(found: SuiteCompared) -> tuple[str, ...]:
    """Return what two sides show in a suite, a sentence each, ending without a full stop."""
    return tuple(
        sentence
        for series, figures in found.by_series().items()
        for metric in _metrics(figures)
        for sentence in (
            *_whole(found, series, metric),
            *_of(found, series, [each for each in figures if each.metric == metric]),
        )
    )


def basis(found: SuiteCompared) -> str:
    """Return what the comparison rests on.

    Whether there were repeats, whether blocks are true ones, and which steps met nothing.
    """
    if not found.figures:
        return "they have no complete step in common"
    if found.before.published or found.after.published:
        how = "published values have no intervals, and their machines differ"
    elif found.blocks < 2:
        how = "of one run each: intervals are those within a run, and say nothing of how runs differ"
    elif found.paired:
        how = f"{found.blocks} blocks of one review, each with both sides"
    else:
        how = (
            f"{found.blocks} repeats of two reviews, paired by their numbers: what changed between the two times of "
            "measuring is part of every difference"
        )
    if found.before.repeats != found.after.repeats:
        how += f"; A has {found.before.repeats} of each step and B {found.after.repeats}, and those of both are taken"
    if found.left_out:
        fewer = ", or fewer than two of the same repeats," if found.blocks > 1 else ""
        how += f"; {words.counted(found.left_out, 'step')} met nothing{fewer} on the other side"
    if 1 < found.blocks < FEWEST_BLOCKS:
        how += f"; no difference is tested for: {FEWEST_BLOCKS} blocks are the fewest that can find one"
    return how


def _metrics(figures: Sequence[Compared]) -> Iterator[str]:
    wanted = PRESSED if any(each.pressed for each in figures) else FREE
    there = dict.fromkeys(each.metric for each in figures)
    chosen = [metric for metric in wanted if metric in there]
    # A publication may have none of the usual ones.
    yield from chosen or list(there)


def _whole(found: SuiteCompared, series: str, metric: str) -> Iterator[str]:
    """Yield what a series as a whole shows, where a difference is established, or seen by too few blocks."""
    for each in found.overall:
        if each.place.series == series and each.metric == metric and (each.clear or _seen(each)):
            yield _head(series) + _difference(found, each)


def _head(series: str) -> str:
    return f"{series}: " if series else ""


def _of(found: SuiteCompared, series: str, figures: Sequence[Compared]) -> Iterator[str]:
    head = _head(series)
    clear = [each for each in figures if each.clear] or [each for each in figures if _seen(each)]
    if clear:
        yield head + _difference(found, _greatest(clear))
    elif found.blocks > 1:
        yield head + _undecided(found, figures)
    elif all(each.ratio.low is None or each.ratio.high is None for each in figures):
        yield head + _difference(found, _greatest(figures))
    else:
        what = metric_text(figures[0].metric)
        yield f"{head}no difference in {what} is clear of one run's own interval at any of {_steps(figures)}"


def _seen(each: Compared) -> bool:
    """Whether blocks that are too few for a test have an interval, Student's, that leaves 1 out."""
    test = each.comparison
    if test is None or test.low is None or test.high is None or not each.supported:
        return False
    return test.blocks < FEWEST_BLOCKS and not test.low <= 1 <= test.high


def _greatest(figures: Iterable[Compared]) -> Compared:
    """Return the figure with the greatest difference, rather at a step of both sides than between two."""
    return max(figures, key=lambda each: (not each.between, _distance(each)))


def _distance(each: Compared) -> float:
    return abs(math.log(each.ratio.value)) if 0 < each.ratio.value < math.inf else math.inf


def _difference(found: SuiteCompared, each: Compared) -> str:
    first, second = found.before.name, found.after.name
    value, low, high = each.ratio.value, each.ratio.low, each.ratio.high
    if value < 1:
        first, second = second, first
        value, low, high = 1 / value if value else math.inf, high and 1 / high, low and 1 / low
    by = words.times(value, low, high)
    place = _place(each)
    if each.pressed and each.latency:
        said = (
            f"{each.judged}s of {first} stay {by} more responsive than those of {second} "
            f"({metric_text(each.metric)}) {place}"
        )
    elif each.latency:
        said = f"{metric_text(each.metric)} of {second} is {by} that of {first} {place}"
    else:
        said = f"{second} reaches {by} the {metric_text(each.metric)} of {first} {place}"
    return f"{said}{', between its steps' if each.between else ''}{_sure(found, each)}"


def _place(each: Compared) -> str:
    if each.averaged is not None:
        return f"over {steps_averaged(each)}"
    if each.place.label:
        return f"in {each.place.label}"
    axis = f"a {each.place.axis} of " if each.place.axis else ""
    return f"at {axis}{each.place.at:g} {each.place.unit}".rstrip()


def steps_averaged(each: Compared) -> str:
    """Return over which of its steps the figure of a whole series is."""
    taken, there = each.averaged or (0, 0)
    return ALL_STEPS if taken == there else f"{taken} of {there} steps"


def _sure(found: SuiteCompared, each: Compared) -> str:
    if each.comparison is not None:
        blocks = words.counted(each.comparison.blocks, "block")
        if each.comparison.blocks < FEWEST_BLOCKS:
            return f" ({blocks}, too few to test)"
        among = words.counted(found.tests, "comparison")
        return f" ({blocks}, p = {each.comparison.p_corrected:.2g} after correction for {among})"
    if found.before.published or found.after.published:
        return ""
    known = each.ratio.low is not None and each.ratio.high is not None
    return " (of one run each)" if known else " (of one run each, and nothing says how sure that is)"


def _undecided(found: SuiteCompared, figures: Sequence[Compared]) -> str:
    what = metric_text(figures[0].metric)
    tested = [each.comparison for each in figures if each.comparison is not None]
    if len(tested) == len(figures) and all_alike(tested):
        return f"{what} does not differ by more than {100 * found.margin:g} % at any of {_steps(figures)}"
    alike = sum(each.verdict == Verdict.ALIKE for each in tested)
    same = f", {alike} of them shown to be alike within {100 * found.margin:g} %" if alike else ""
    few = found.blocks < FEWEST_BLOCKS
    seen = f"seen ({words.counted(found.blocks, 'block')}, too few to test)" if few else "established"
    return f"no difference in {what} is {seen} at any of {_steps(figures)}{same}"


def _steps(figures: Sequence[Compared]) -> str:
    return words.counted(len(figures), "step")
