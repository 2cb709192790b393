"""The findings on one drive: sentences with their evidence.

A sentence uses only figures that the stored runs support. This module returns plain text and the anchors of links; the
template escapes it and lays it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iogauge.report.charts.data import STATISTICS, Statistic
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figures import Ratio, StepFigures, ratio
from iogauge.text import numbers
from iogauge.text.cells import interval, latency
from iogauge.text.numbers import bandwidth, capitalised, counted, figure

REACHED = 0.95
"""The least share of the requested writes at which a step counts as reaching them."""

Measured = tuple[Position, StepFigures]


@dataclass(frozen=True)
class Sentence:
    """A sentence and its evidence: pairs of an anchor in the page and the text of the link."""

    text: str
    evidence: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Verdict:
    """The findings on one drive: sentences, and the most important figures."""

    sentences: tuple[Sentence, ...]
    figures: tuple[tuple[str, str, str], ...]
    """Name, value, and a note on what the value is compared with."""


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
        return Verdict((Sentence(reason),), ())
    conclusions = [_finding(drive, text) for text in findings]
    if not drive.along_pressure:
        return Verdict(tuple(conclusions), tuple(_amount(drive, measured)))
    (first_position, first), (last_position, last) = _ends(measured)
    evidence = (_link(drive, first_position), _link(drive, last_position))
    sentences, tiles = [], []
    for statistic in _judged(first, last):
        before, after = statistic.of(first), statistic.of(last)
        if before is None or after is None:
            continue
        name = f"{statistic.label} read latency"
        if first_position is last_position:
            tiles.append((name, latency(before.value), interval(before.low, before.high)))
            continue
        change = ratio(after, before)
        times = numbers.times(change.value, change.low, change.high)
        sentence = (
            f"{name} {_changed(change)} {times}, from {latency(before.value)} {_load(first)} "
            f"to {latency(after.value)} {_load(last)}."
        )
        sentences.append(Sentence(sentence, evidence))
        tiles.append((name, times.partition(" ")[0], f"{latency(before.value)} → {latency(after.value)}"))
    if first_position is last_position:
        sentences.append(Sentence("Only one step is complete: the effect of writes needs at least two."))
    elif drive.taken_as_independent:
        sentence = "Steps were too short to measure how latencies cluster in time: true intervals are wider."
        sentences.append(Sentence(sentence))
    if drive.reported:
        sentences.append(Sentence("Latencies were reported without samples: they have no intervals."))
    hardest_position, hardest = measured[-1]
    unit, reached = drive.plan.axis.unit, hardest.pressure_Bps / 1e6
    requested = numbers.position(hardest_position.plan.at)
    tiles.append(("Most writes", bandwidth(last.pressure_Bps), f"highest request: {requested} {unit}"))
    if unit == "MB/s" and reached < REACHED * hardest_position.plan.at:
        sentence = f"Writes reached {figure(reached)} of the {requested} MB/s requested at the hardest step."
        sentences.append(Sentence(sentence, (_link(drive, hardest_position),)))
    return Verdict((*sentences, *conclusions), (*tiles, *_amount(drive, measured)))


def _finding(drive: SuiteResult, text: str) -> Sentence:
    """Return a conclusion of the suite with a link to its steps: those of the series whose name it starts with."""
    for position in drive.planned:
        if position.series and text.startswith(position.series):
            return Sentence(f"{capitalised(text)}.", ((drive.anchor(position.plan), "steps"),))
    return Sentence(f"{capitalised(text)}.", ((f"steps-{drive.slug}", "steps"),))


def _link(drive: SuiteResult, position: Position) -> tuple[str, str]:
    return drive.anchor(position.plan), drive.name_of(position.plan)


def _amount(drive: SuiteResult, measured: Sequence[Measured]) -> Iterator[tuple[str, str, str]]:
    ios = sum(figures.ios for _, figures in measured)
    name = f"{capitalised(drive.plan.judged)}s measured"
    yield name, f"{ios:,}", f"in {counted(len(measured), 'step')}"


def _ends(measured: Sequence[Measured]) -> tuple[Measured, Measured]:
    """Return the steps with the lowest and the highest rate of writes."""
    least = min(measured, key=lambda pair: pair[1].pressure_Bps)
    return least, max(measured, key=lambda pair: pair[1].pressure_Bps)


def _judged(first: StepFigures, last: StepFigures) -> Iterator[Statistic]:
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


def _load(figures: StepFigures) -> str:
    return f"at {bandwidth(figures.pressure_Bps)} of writes" if figures.pressure_Bps else "without writes"
