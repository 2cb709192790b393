"""What a reader should take away of one drive: sentences with their evidence.

Every sentence is made of figures that the steps' stored runs support. Returns plain text and the names of what it links
to: escaping and layout are the template's.
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
"""Share of the asked writes from which a step counts as pressed as asked."""

Measured = tuple[Position, StepFigures]


@dataclass(frozen=True)
class Sentence:
    """A sentence, and where its evidence is: (name of a place in the page, words for it)."""

    text: str
    evidence: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What a reader should take away of one drive: sentences, and the figures that matter by name."""

    sentences: tuple[Sentence, ...]
    figures: tuple[tuple[str, str, str], ...]
    """Name, value, and what it is compared with."""


def verdict(drive: SuiteResult, findings: Sequence[str] = (), *, told: bool = False) -> Verdict:
    """Return what one drive's review shows: what its suite has found, or what pressure does to it.

    ``told``: another program's figures stand beside it, which have no samples.
    """
    measured = [
        (position, position.figures) for position in drive.positions if position.figures.mean is not None
    ]
    if not measured:
        nothing = (
            "Its figures were told without samples: they are shown, and there is nothing to judge."
            if told
            else "No step of this review is complete with any read: there is nothing to judge yet."
        )
        return Verdict((Sentence(nothing),), ())
    found = [_finding(drive, each) for each in findings]
    if not drive.along_pressure:
        return Verdict(tuple(found), tuple(_amount(drive, measured)))
    (first_place, first), (last_place, last) = _ends(measured)
    evidence = (_link(drive, first_place), _link(drive, last_place))
    sentences, shown = [], []
    for statistic in _judged(first, last):
        before, after = statistic.of(first), statistic.of(last)
        if before is None or after is None:
            continue
        name = f"{statistic.label} read latency"
        if first_place is last_place:
            shown.append((name, latency(before.value), interval(before.low, before.high)))
            continue
        change = ratio(after, before)
        said = (
            f"{name} {_changed(change)} from {latency(before.value)} {_load(first)} "
            f"to {latency(after.value)} {_load(last)}: {times(change)}."
        )
        sentences.append(Sentence(said, evidence))
        shown.append((name, f"×{factor(change.value)}", f"{latency(before.value)} → {latency(after.value)}"))
    if first_place is last_place:
        sentences.append(Sentence("One step is complete: it takes two to tell what pressure does."))
    elif drive.taken_as_independent:
        said = "Steps were too short to tell how latencies cluster: true intervals are wider."
        sentences.append(Sentence(said))
    if drive.reported:
        sentences.append(Sentence("Latencies were told without their samples: they have no intervals."))
    hardest_place, hardest = measured[-1]
    unit, asked, reached = drive.plan.axis.unit, hardest_place.plan.at, hardest.pressure_Bps / 1e6
    shown.append(
        ("Most writes", bandwidth(last.pressure_Bps), f"{numbers.position(asked)} {unit} asked at most")
    )
    if unit == "MB/s" and reached < REACHED * asked:
        said = f"Writes reached {figure(reached)} of the {numbers.position(asked)} MB/s asked at the hardest step."
        sentences.append(Sentence(said, (_link(drive, hardest_place),)))
    return Verdict((*sentences, *found), (*shown, *_amount(drive, measured)))


def _finding(drive: SuiteResult, said: str) -> Sentence:
    """Return what a suite says, with a link to the first step of the series that it begins with, if it does."""
    for position in drive.planned:
        if position.series and said.startswith(position.series):
            return Sentence(f"{capitalised(said)}.", ((drive.anchor(position.plan), "steps"),))
    return Sentence(f"{capitalised(said)}.", ((f"steps-{drive.slug}", "steps"),))


def _link(drive: SuiteResult, position: Position) -> tuple[str, str]:
    return drive.anchor(position.plan), drive.name_of(position.plan)


def _amount(drive: SuiteResult, measured: Sequence[Measured]) -> Iterator[tuple[str, str, str]]:
    ios = sum(figures.ios for _, figures in measured)
    name = f"{capitalised(drive.plan.judged)}s measured"
    yield name, f"{ios:,}", f"in {counted(len(measured), 'step')}"


def _ends(measured: Sequence[Measured]) -> tuple[Measured, Measured]:
    """Return the steps to compare: the least and the most pressed one."""
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
    if change.low is None or change.high is None:
        return "went (no interval)"
    if change.low <= 1 <= change.high:
        return "did not change measurably"
    return "grew" if change.value > 1 else "fell"


def _load(figures: StepFigures) -> str:
    return f"at {bandwidth(figures.pressure_Bps)} of writes" if figures.pressure_Bps else "without writes"


def times(value: Ratio) -> str:
    """Return a ratio with its interval.

    >>> times(Ratio(4.123, 3.98, 4.3)), times(Ratio(887.44, 848.5, None))
    ('4.12 times (95 % interval 3.98–4.30)', '887 times')
    """
    if value.low is None or value.high is None:
        return f"{factor(value.value)} times"
    return f"{factor(value.value)} times (95 % interval {factor(value.low)}–{factor(value.high)})"


def factor(value: float) -> str:
    """Return how many times as large, with as many digits as can matter.

    >>> factor(4.123), factor(1234.5)
    ('4.12', '1,234')
    """
    return f"{value:.2f}" if abs(value) < 100 else f"{value:,.0f}"
