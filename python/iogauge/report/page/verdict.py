"""The findings on one drive: sentences with their evidence.

A sentence uses only figures that the stored runs support. This module returns plain text and the anchors of links; the
template escapes it and lays it out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iogauge.report.charts.data import STATISTICS, Statistic
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figures import Ratio, StepFigures, ratio
from iogauge.text import numbers, too_short
from iogauge.text.cells import micro, sentence_of
from iogauge.text.numbers import Estimated, bandwidth, duration, figure, in_digits

REACHED = 0.95
"""The least share of the requested writes at which a step counts as reaching them."""

Measured = tuple[Position, StepFigures]


@dataclass(frozen=True)
class Sentence:
    """A sentence and its evidence: pairs of an anchor in the page and the text of the link."""

    text: str
    evidence: tuple[tuple[str, str], ...] = ()
    effect: float = 0.0
    """How large an effect is at least shown: ``shown_effect``. A remark about the measurement has ``REMARK``."""


REMARK = -1.0
"""The effect of a sentence that says what cannot be determined, or how it was measured."""


def shown_effect(change: Ratio) -> float:
    """Return the logarithm of the end of a ratio's interval that is nearer to 1; 0 if the interval reaches 1.

    >>> shown_effect(Ratio(4.0, 2.0, 8.0)) == shown_effect(Ratio(0.25, 0.125, 0.5)) == math.log(2)
    True
    >>> shown_effect(Ratio(1.1, 0.9, 1.3)), shown_effect(Ratio(4.0, None, None))
    (0.0, 0.0)
    """
    if change.value > 1:
        return math.log(change.low) if change.low is not None and change.low > 1 else 0.0
    return -math.log(change.high) if change.high is not None and 0 < change.high < 1 else 0.0


@dataclass(frozen=True)
class Verdict:
    """The findings on one drive."""

    sentences: tuple[Sentence, ...]


def verdict(drive: SuiteResult, findings: Sequence[str] = (), *, reported: bool = False) -> Verdict:
    """Return the findings on one drive: those of its suite and, along an axis of pressure, the effect of writes.

    ``reported``: the review has figures of another program, without samples.
    """
    measured = [
        (position, position.figures) for position in drive.positions if position.figures.mean is not None
    ]
    if not measured:
        reason = (
            "Its figures were reported without samples: there is nothing to judge."
            if reported
            else f"No step has completed a {drive.plan.judged}: there is nothing to judge yet."
        )
        return Verdict((Sentence(reason, effect=REMARK),))
    conclusions = [_conclusion(drive, text) for text in findings]
    if not drive.along_pressure:
        return Verdict(tuple(conclusions))
    (first_position, first), (last_position, last) = ends(measured)
    evidence = (_link(drive, first_position), _link(drive, last_position))
    sentences = []
    for statistic in judged(first, last):
        before, after = statistic.of(first), statistic.of(last)
        if before is None or after is None or first_position is last_position:
            continue
        name = f"{statistic.label} read latency"
        change = ratio(after, before)
        times = numbers.times(change.value, change.low, change.high)
        sentence = (
            f"{name} {_changed(change)} {times}, from {_latency(before)} {load_text(first)} "
            f"to {_latency(after)} {load_text(last)}."
        )
        sentences.append(Sentence(sentence, evidence, shown_effect(change)))
    if first_position is last_position:
        sentences.append(
            Sentence("Only one step is complete: the effect of writes needs at least two.", effect=REMARK)
        )
    elif drive.taken_as_independent:
        sentence = "Steps were too short to measure how latencies cluster in time: true intervals are wider."
        sentences.append(Sentence(sentence, effect=REMARK))
    if drive.reported:
        sentences.append(
            Sentence("Latencies were reported without samples: they have no intervals.", effect=REMARK)
        )
    hardest_position, hardest = measured[-1]
    unit, reached = drive.plan.axis.unit, hardest.pressure_Bps / 1e6
    requested = numbers.position(hardest_position.plan.at)
    if unit == "MB/s" and reached < REACHED * hardest_position.plan.at:
        sentence = f"Writes reached {figure(reached)} of the {requested} MB/s requested at the hardest step."
        sentences.append(Sentence(sentence, (_link(drive, hardest_position),)))
    return Verdict((*sentences, *conclusions))


def _conclusion(drive: SuiteResult, text: str) -> Sentence:
    """Return a conclusion of the suite with a link to its steps: those of the series whose name it starts with."""
    named = (
        drive.anchor(position.plan)
        for position in drive.planned
        if position.series and text.startswith(position.series)
    )
    evidence = ((next(named, f"steps-{drive.slug}"), "steps"),)
    return Sentence(sentence_of(text), evidence, REMARK if too_short.UNDECIDED in text else 0.0)


def _link(drive: SuiteResult, position: Position) -> tuple[str, str]:
    return drive.anchor(position.plan), drive.name_of(position.plan)


def ends(measured: Sequence[Measured]) -> tuple[Measured, Measured]:
    """Return the steps with the lowest and the highest rate of writes."""
    least = min(measured, key=lambda pair: pair[1].pressure_Bps)
    return least, max(measured, key=lambda pair: pair[1].pressure_Bps)


def judged(first: StepFigures, last: StepFigures) -> Iterator[Statistic]:
    """Yield the mean, and the highest quantile that both steps support."""
    yield STATISTICS[0]
    for statistic in reversed(STATISTICS[1:]):
        before, after = statistic.of(first), statistic.of(last)
        if before and after and before.supported and after.supported:
            yield statistic
            return


def _changed(change: Ratio) -> str:
    if change.low is not None and change.high is not None and change.low <= 1 <= change.high:
        return "did not change measurably:"
    return "grew" if change.value > 1 else "fell to"


def _latency(estimate: Estimated) -> str:
    """Return a latency in the digits that its interval supports."""
    return micro(in_digits(estimate.value, estimate.low, estimate.high, duration)[0])


def load_text(figures: StepFigures) -> str:
    """Return under which writes a step read."""
    return f"at {bandwidth(figures.pressure_Bps)} of writes" if figures.pressure_Bps else "without writes"
