"""What a comparison says, in sentences: what differs along the steps of each series, or that nothing is established.

A sentence names the step with the greatest difference, how many times, the 95 % interval, and what that rests on:
blocks and their corrected p value, or one run each. It goes on with the range over all steps that differ in that way,
and with the steps where the order turns; those have a sentence of their own. Where the two sides were not pressed with
the same rate, it says which each had. Where nothing is established it says which of the two it is: shown to be alike
within the margin, or not decided. Of fewer blocks than any test needs it says what was seen, and that it is not tested.

Computes nothing: see ``compare.py``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from iogauge.comparison.pairwise import ALL_STEPS, Compared, SuiteCompared
from iogauge.results.figure import IOPS, MEAN, metric_text, quantile_metric
from iogauge.stats.comparison import FEWEST_BLOCKS, Verdict
from iogauge.text import numbers
from iogauge.workload.diskspd.versions import NOT_COMPARABLE

PRESSED = (MEAN, quantile_metric(0.99))
FREE = (IOPS, quantile_metric(0.99))


@dataclass(frozen=True)
class Statement:
    """A sentence without its full stop, and the figures that it is made of."""

    text: str
    evidence: tuple[Compared, ...]


def statements(found: SuiteCompared) -> tuple[Statement, ...]:
    """Return what two sides show in a suite, a sentence each."""
    return tuple(
        replace(statement, text=_head(series) + statement.text)
        for series, figures in found.by_series().items()
        for metric in told_metrics(figures)
        for statement in _of(found, series, [each for each in figures if each.metric == metric])
    )


def findings(found: SuiteCompared) -> tuple[str, ...]:
    """Return the same sentences alone."""
    return tuple(statement.text for statement in statements(found))


def grounds(found: SuiteCompared) -> tuple[str, ...]:
    """Return what the comparison rests on.

    Whether there were repeats, whether blocks are true ones, and which steps met nothing.
    """
    return tuple(_grounds(found)) if found.figures else ("they have no complete step in common",)


def _grounds(found: SuiteCompared) -> Iterator[str]:
    if found.loops_differ:
        yield NOT_COMPARABLE
    if found.blocks < 2:
        yield "of one run each: intervals are those within a run, and say nothing of how runs differ"
    elif found.paired:
        yield f"{found.blocks} blocks of one review, each with both sides"
    else:
        yield (
            f"{found.blocks} repeats of two reviews, paired by their numbers: what changed between the two times of "
            "measuring is part of every difference"
        )
    if found.before.repeats != found.after.repeats:
        yield f"A has {found.before.repeats} of each step and B {found.after.repeats}, and those of both are taken"
    if found.left_out:
        fewer = ", or fewer than two of the same repeats," if found.blocks > 1 else ""
        yield f"{numbers.counted(found.left_out, 'step')} met nothing{fewer} on the other side"
    if 1 < found.blocks < FEWEST_BLOCKS:
        yield f"no difference is tested for: {FEWEST_BLOCKS} blocks are the fewest that can find one"


def told_metrics(figures: Sequence[Compared]) -> Iterator[str]:
    """Yield the metrics of a series that sentences speak of; the first is what its suite is about."""
    wanted = PRESSED if any(each.pressed for each in figures) else FREE
    there = dict.fromkeys(each.metric for each in figures)
    # What another tool told may have none of the usual ones.
    yield from [metric for metric in wanted if metric in there] or there


def _head(series: str) -> str:
    return f"{series}: " if series else ""


def _of(found: SuiteCompared, series: str, figures: Sequence[Compared]) -> Iterator[Statement]:
    """Yield what one figure of a series shows: as a whole and where it differs most, or that it does not differ."""
    wholes = [each for each in found.overall if each.position.series == series]
    told = _told([each for each in wholes if each.metric == figures[0].metric])
    clear = _told(figures)
    if told or clear:
        whole = told[0] if told else None
        ways = [[each for each in clear if _falls(each) is falls] for falls in (False, True)]
        ways = sorted(filter(None, ways), key=_most, reverse=True)
        if whole and not any(_falls(way[0]) is _falls(whole) for way in ways):
            yield Statement(_difference(found, whole), (whole,))
        for way in sorted(ways, key=lambda way: whole is not None and _falls(way[0]) is not _falls(whole)):
            along = whole if whole and _falls(way[0]) is _falls(whole) else None
            other = next((each for each in ways if each is not way), [])
            yield _one_way(found, way, other, figures, whole=along)
    elif found.blocks > 1:
        yield Statement(_undecided(found, figures), (figures[0],))
    elif not any(each.long_enough for each in figures):
        what = metric_text(figures[0].metric)
        said = f"no difference in {what} is established: the runs are too short for how much their seconds correlate"
        yield Statement(said, (figures[0],))
    elif all(each.ratio.low is None or each.ratio.high is None for each in figures):
        most = _greatest(figures)
        yield Statement(_difference(found, most), (most,))
    else:
        what = metric_text(figures[0].metric)
        said = f"no difference in {what} is clear of one run's own interval at any of {_steps(figures)}"
        yield Statement(said, (figures[0],))


def _falls(each: Compared) -> bool:
    """Return whether B has less than A."""
    return each.ratio.value < 1


def _most(way: Sequence[Compared]) -> float:
    return max(map(_distance, way), default=0.0)


def _one_way(
    found: SuiteCompared,
    way: Sequence[Compared],
    other: Sequence[Compared],
    figures: Sequence[Compared],
    *,
    whole: Compared | None,
) -> Statement:
    """Return the sentence about all steps in which one side is ahead: ``way``; the ``other`` side is in others.

    ``whole`` is the series as a whole, where that side is ahead there too.
    """
    most = _greatest(way)
    if whole is not None:
        # Said once where it is the same of both.
        sure = _sure(found, whole) if _sure(found, whole) != _sure(found, most) else ""
        said = _difference(found, whole, sure=sure)
        said += f", and {_by(most)[0]} {_where(found, most)}{_sure(found, most)}"
    else:
        said = _difference(found, most)
    evidence = (most,) if whole is None else (whole, most)
    if len(figures) > 1:
        said += f"; {_range(way)} {_span(way, figures)}"
    if other:
        said += f"; the order turns {_span(other, figures)}"
    return Statement(said, evidence)


def _range(way: Sequence[Compared]) -> str:
    """Return from how many times to how many times the larger side is the smaller."""
    values = sorted(
        max(each.ratio.value, 1 / each.ratio.value if each.ratio.value else math.inf) for each in way
    )
    least, most = (f"{numbers.short(value)}x" for value in (values[0], values[-1]))
    return least if least == most else f"{least} to {most}"


def _span(way: Sequence[Compared], figures: Sequence[Compared]) -> str:
    """Return at which of a series' steps some figures are, and how many these are."""
    order = sorted(figures, key=lambda each: each.position.at)
    places = sorted(order.index(each) for each in way)
    first, last = order[places[0]], order[places[-1]]
    count = f"at {len(way)} of {_steps(figures)}"
    if len(way) == 1:
        return f"{count}, {place_text(first)}"
    if len(way) == len(figures):
        return f"at all {_steps(figures)}"
    if places != list(range(places[0], places[-1] + 1)):
        return f"{count} between {place_text(first)} and {place_text(last)}"
    if places[-1] == len(order) - 1:
        return f"{count}, from {place_text(first)} on"
    if places[0] == 0:
        return f"{count}, up to {place_text(last)}"
    return f"{count}, from {place_text(first)} to {place_text(last)}"


def _told(figures: Sequence[Compared]) -> list[Compared]:
    """Return where a difference is established, or else where it was seen by blocks that are too few for a test."""
    return [each for each in figures if each.clear] or [each for each in figures if seen(each)]


def seen(each: Compared) -> bool:
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


def _difference(found: SuiteCompared, each: Compared, *, sure: str | None = None) -> str:
    by, inverted = _by(each)
    first, second = found.before.name, found.after.name
    if inverted:
        first, second = second, first
    if each.pressed and each.latency:
        said = (
            f"{each.judged}s of {first} stay {by} more responsive than those of {second} "
            f"({metric_text(each.metric)})"
        )
    elif each.latency:
        said = f"{metric_text(each.metric)} of {second} is {by} that of {first}"
    else:
        said = f"{second} reaches {by} the {metric_text(each.metric)} of {first}"
    return f"{said} {_where(found, each)}{_sure(found, each) if sure is None else sure}"


def _by(each: Compared) -> tuple[str, bool]:
    """Return how many times the larger side is the smaller, and whether A is the larger one."""
    value, low, high = each.ratio.value, each.ratio.low, each.ratio.high
    if value >= 1:
        return numbers.times(value, low, high), False
    return numbers.times(1 / value if value else math.inf, high and 1 / high, low and 1 / low), True


def _where(found: SuiteCompared, each: Compared) -> str:
    return _place(each) + (", between its steps" if each.between else "") + _achieved(found, each)


def _achieved(found: SuiteCompared, each: Compared) -> str:
    """Return what pressed at each side, where that was not the same; the place is what was asked for."""
    if not each.pressed:
        return ""
    if each.averaged is not None:
        mine = [step for step in found.figures if step.position.series == each.position.series]
        unlike = {step.position for step in mine if step.metric == each.metric and not step.pressed_alike}
        return f" (the two sides achieved different rates at {len(unlike)} of them)" if unlike else ""
    if each.pressed_alike:
        return ""
    rates = (
        f"{numbers.bandwidth(rate)} of {side.name}"
        for rate, side in zip(each.pressures_Bps, (found.before, found.after), strict=True)
    )
    return f" (requested; {' and '.join(rates)} achieved)"


def _place(each: Compared) -> str:
    if each.averaged is not None:
        return f"over {steps_averaged(each)}"
    if each.position.label:
        return f"in {each.position.label}"
    axis = f"a {each.position.axis} of " if each.position.axis else ""
    return f"at {axis}{numbers.placed(each.position.at, each.position.unit)}"


def place_text(each: Compared) -> str:
    """Return what a step is called in a table of its series."""
    if each.averaged is not None:
        return steps_averaged(each)
    place = each.position.label or numbers.placed(each.position.at, each.position.unit)
    return f"{place} (between steps)" if each.between else place


def steps_averaged(each: Compared) -> str:
    """Return over which of its steps the figure of a whole series is."""
    taken, there = each.averaged or (0, 0)
    return ALL_STEPS if taken == there else f"{taken} of {there} steps"


def _sure(found: SuiteCompared, each: Compared) -> str:
    if each.comparison is not None:
        blocks = numbers.counted(each.comparison.blocks, "block")
        if each.comparison.blocks < FEWEST_BLOCKS:
            return f" ({blocks}, too few to test)"
        among = numbers.counted(found.tests, "comparison")
        return f" ({blocks}, p = {each.comparison.p_corrected:.2g} after correction for {among})"
    known = each.ratio.low is not None and each.ratio.high is not None
    return " (of one run each)" if known else " (of one run each, and nothing says how sure that is)"


def _undecided(found: SuiteCompared, figures: Sequence[Compared]) -> str:
    what = metric_text(figures[0].metric)
    alike = [
        each.comparison for each in figures if each.comparison and each.comparison.verdict == Verdict.ALIKE
    ]
    if len(alike) == len(figures):
        blocks = numbers.counted(min(each.blocks for each in alike), "block")
        among = numbers.counted(found.claims, "such claim")
        return (
            f"{what} does not differ by more than {100 * found.margin:g} % at any of {_steps(figures)} "
            f"({blocks}, p = {alike[0].p_alike_corrected:.2g} after correction for {among})"
        )
    same = f", {len(alike)} of them shown to be alike within {100 * found.margin:g} %" if alike else ""
    few = found.blocks < FEWEST_BLOCKS
    seen = f"seen ({numbers.counted(found.blocks, 'block')}, too few to test)" if few else "established"
    return f"no difference in {what} is {seen} at any of {_steps(figures)}{same}"


def _steps(figures: Sequence[Compared]) -> str:
    return numbers.counted(len(figures), "step")
