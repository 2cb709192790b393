"""Words the parts of a finding: a difference, the steps that show it, and how sure it is."""

from __future__ import annotations

import math
from collections.abc import Sequence

from iogauge.comparison.matching import ALL_STEPS
from iogauge.comparison.pairwise import FigurePair, SuiteComparison
from iogauge.results.figures import metric_text, value_text
from iogauge.results.names import in_sentence
from iogauge.stats.differences.comparison import FEWEST_BLOCKS
from iogauge.text import numbers


def difference_text(suite: SuiteComparison, pair: FigurePair, *, certainty: str | None = None) -> str:
    """Return a difference as a sentence without its full stop, with the side that has more, or is faster, in front.

    ``certainty`` replaces ``certainty_text``.
    """
    times = times_text(pair)
    first, second = in_sentence(suite.before.name), in_sentence(suite.after.name)
    if pair.falls:
        first, second = second, first
    if pair.pressed and pair.latency:
        clause = (
            f"{pair.judged}s of {first} stay {times} more responsive than those of {second}, "
            f"by their {metric_text(pair.metric)},"
        )
    elif pair.latency:
        clause = f"{metric_text(pair.metric)} of {second} is {times} that of {first}"
    else:
        clause = f"{second} reaches {times} the {figure_name(pair)} of {first}"
    if certainty is None:
        certainty = certainty_text(suite, pair)
    return f"{clause} {where_text(suite, pair)}{certainty}"


def figure_name(pair: FigurePair) -> str:
    """Return the name of a pair's metric; the rate of large requests is told in MB/s."""
    return "MB/s" if pair.in_bytes else metric_text(pair.metric)


def sides_text(pair: FigurePair) -> tuple[str, str]:
    """Return the figures of A and B, with the digits that the interval of their ratio supports, but at least two."""
    digits = max(numbers.supported_digits(*_times(pair)), 2)
    before, after = (
        numbers.rate(value * pair.request_bytes / 1e6, digits)
        if pair.in_bytes
        else value_text(pair.metric, value, digits)
        for value in (pair.before, pair.after)
    )
    return before, after


def times_text(pair: FigurePair) -> str:
    """Return how many times the larger side is the smaller, with the interval."""
    return numbers.times(*_times(pair))


def _times(pair: FigurePair) -> tuple[float, float | None, float | None]:
    """Return the ratio of the larger side to the smaller, and the bounds of its interval."""
    value, low, high = pair.ratio.value, pair.ratio.low, pair.ratio.high
    if not pair.falls:
        return value, low, high
    return 1 / value if value else math.inf, high and 1 / high, low and 1 / low


def range_text(pairs: Sequence[FigurePair]) -> str:
    """Return the least and the greatest of ratios of the larger side to the smaller."""
    ratios = sorted(
        max(pair.ratio.value, 1 / pair.ratio.value if pair.ratio.value else math.inf) for pair in pairs
    )
    least, most = (f"{numbers.short(ratio)}x" for ratio in (ratios[0], ratios[-1]))
    return least if least == most else f"{least} to {most}"


def where_text(suite: SuiteComparison, pair: FigurePair) -> str:
    """Return at which step a difference is, or over which, and the rates of load jobs if they differ."""
    interpolated = ", interpolated between steps" if pair.interpolated else ""
    return _position_text(pair) + interpolated + _achieved_text(suite, pair)


def _position_text(pair: FigurePair) -> str:
    if pair.averaged is not None:
        return f"over {place_text(pair)}"
    if pair.position.label:
        return f"in {pair.position.label}"
    axis, unit = pair.position.axis, pair.position.unit
    # A unit such as "drives" says what is counted: "at 4 drives", but "at a queue depth of 4".
    counts = len(unit) > 2 and unit.isalpha() and unit.islower()
    return f"at {f'a {axis} of ' if axis and not counts else ''}{pair.position.place}"


def _achieved_text(suite: SuiteComparison, pair: FigurePair) -> str:
    """Return the rates that the load jobs achieved, if they differ; the place of a step is the requested rate."""
    if not pair.pressed:
        return ""
    if pair.averaged is not None:
        different = {
            step.position
            for step in suite.figures
            if step.position.series == pair.position.series
            and step.metric == pair.metric
            and not step.pressed_alike
        }
        return f" (the two sides achieved different rates at {len(different)} of them)" if different else ""
    if pair.pressed_alike:
        return ""
    before, after = map(numbers.bandwidth, pair.pressures_Bps)
    first, second = in_sentence(suite.before.name), in_sentence(suite.after.name)
    return f" (requested; {first} achieved {before}, {second} {after})"


def place_text(pair: FigurePair) -> str:
    """Return the name of a step in a table of its series, or the steps that a mean is taken over."""
    if pair.averaged is not None:
        averaged, steps = pair.averaged
        return ALL_STEPS if averaged == steps else f"{averaged} of {steps} steps"
    return f"{pair.position.place} (between steps)" if pair.interpolated else pair.position.place


def span_text(pairs: Sequence[FigurePair], figures: Sequence[FigurePair]) -> str:
    """Return at how many and at which of a series' steps ``pairs`` are. ``figures`` are those of all its steps."""
    order = sorted(figures, key=lambda pair: pair.position.at)
    places = sorted(order.index(pair) for pair in pairs)
    first, last = order[places[0]], order[places[-1]]
    count = f"at {len(pairs)} of {steps_text(figures)}"
    if len(pairs) == 1:
        return f"{count}, {place_text(first)}"
    if len(pairs) == len(figures):
        return f"at all {steps_text(figures)}"
    if places != list(range(places[0], places[-1] + 1)):
        return f"{count} between {place_text(first)} and {place_text(last)}"
    if places[-1] == len(order) - 1:
        return f"{count}, from {place_text(first)} on"
    if places[0] == 0:
        return f"{count}, up to {place_text(last)}"
    return f"{count}, from {place_text(first)} to {place_text(last)}"


def steps_text(figures: Sequence[FigurePair]) -> str:
    """Return the number of a series' steps."""
    return numbers.counted(len(figures), "step")


def any_step_text(figures: Sequence[FigurePair]) -> str:
    """Return "at any step" for a sentence that denies something, with the number of steps."""
    return f"at any of {steps_text(figures)}" if len(figures) > 1 else "at the only step"


def certainty_text(suite: SuiteComparison, pair: FigurePair) -> str:
    """Return in brackets what a difference rests on: blocks and their corrected p, or single runs."""
    test = pair.comparison
    if test is None:
        return " (one run each)" if pair.bounded else " (one run each, without intervals)"
    blocks = numbers.counted(test.blocks, "block")
    if test.blocks < FEWEST_BLOCKS:
        return f" ({blocks}, too few to test)"
    comparisons = numbers.counted(suite.tests, "comparison")
    return f" ({blocks}, p = {test.p_corrected:.2g} after correction for {comparisons})"
