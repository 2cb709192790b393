"""What the report says in words and cells: figures with their intervals, the verdict, a step's row.

Every sentence is made of figures that the step's stored run supports; where a sample is too small, the text says
what it would need. Returns plain text and plain values: escaping and layout are the template's.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from iogauge.report.charts_data import STATISTICS, Statistic
from iogauge.report.html_reviews import Drive, Step
from iogauge.stats.figures import Ratio, StepFigures, ratio
from iogauge.stats.histogram import EXCEEDANCES
from iogauge.stats.quantiles import Estimate
from iogauge.stats.words import bandwidth, counted, duration, figure

GAP_WORTH_TELLING_NS = 1_000_000
REACHED = 0.95
"""Share of the asked writes from which a step counts as pressed as asked."""

_UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))


Measured = tuple[Step, StepFigures]


@dataclass(frozen=True)
class Cell:
    """One figure of the step table: ``text``, beneath it ``interval``, and why it is not supported, if it is not."""

    text: str
    interval: str = ""
    unsupported: str = ""


@dataclass(frozen=True)
class StepRow:
    """One step of the table; ``cells`` hold the statistics in the order of ``STATISTICS``."""

    series: str
    asked: str
    achieved: str
    reads: str
    read_iops: str
    cells: tuple[Cell, ...]
    maximum: str
    device: str
    supports: str
    remarks: tuple[str, ...]


@dataclass(frozen=True)
class Verdict:
    """What a reader should take away of one drive: sentences, and the figures that matter by name."""

    sentences: tuple[str, ...]
    figures: tuple[tuple[str, str, str], ...]
    """Name, value, and what it is compared with."""


def latency(value_ns: float) -> str:
    """Return a latency for people.

    >>> latency(84_230), latency(812)
    ('84.23 µs', '812 ns')
    """
    return duration(value_ns).replace(" us", " µs")


def interval(low_ns: float | None, high_ns: float | None) -> str:
    """Return a 95 % interval in one unit.

    >>> interval(83_900, 84_600), interval(1_900_000, None), interval(None, None)
    ('83.90–84.60 µs', '≥ 1.900 ms', '')
    """
    known = [value for value in (low_ns, high_ns) if value is not None]
    if not known:
        return ""
    scale, unit = next((pair for pair in _UNITS if known[-1] >= pair[0]), _UNITS[-1])
    if low_ns is None or high_ns is None:
        return f"{'≥' if high_ns is None else '≤'} {figure(known[0] / scale)} {unit}"
    return f"{figure(low_ns / scale)}–{figure(high_ns / scale)} {unit}"


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


def supported_up_to(count: int) -> str:
    """Return the highest quantile of the usual ones that ``count`` samples support.

    >>> supported_up_to(10_000), supported_up_to(19)
    ('p99.9', 'none')
    """
    names = {20: "median", 100: "p90"}
    exponent = math.floor(math.log10(count / EXCEEDANCES)) if count >= 100 else 0
    if exponent < 2:
        return next((name for needed, name in sorted(names.items(), reverse=True) if count >= needed), "none")
    return "p99" if exponent == 2 else f"p99.{'9' * (exponent - 2)}"


def step_rows(drive: Drive) -> Iterator[StepRow | tuple[str, str]]:
    """Yield the table's rows; for a step that is not complete, what was asked and its id."""
    for step in drive.steps:
        asked = _asked(step.plan.at)
        if step.figures is None:
            yield asked, step.plan.id
            continue
        figures = step.figures
        yield StepRow(
            series=step.plan.series,
            asked=asked,
            achieved=figure((figures.pressure_Bps if drive.plan.pressure else figures.rate_Bps) / 1e6),
            reads=f"{figures.ios:,}",
            read_iops=f"{figures.iops:,.0f}",
            cells=tuple(_cell(statistic.of(figures)) for statistic in STATISTICS),
            maximum=latency(figures.whole.max) if figures.ios else "–",
            device="–" if figures.device_mean_ns is None else latency(figures.device_mean_ns),
            supports=supported_up_to(figures.ios),
            remarks=tuple(_remarks(step, figures)),
        )


def _asked(at: float) -> str:
    """A place on the axis: whole as it was asked for, or with the digits that matter."""
    return figure(at) if at % 1 else f"{at:,.0f}"


def _cell(estimate: Estimate | None) -> Cell:
    if estimate is None:
        return Cell("–", unsupported="nothing completed")
    missing = "" if estimate.supported else f"needs {estimate.needed:,}"
    return Cell(latency(estimate.value), interval(estimate.low, estimate.high), missing)


def _remarks(step: Step, figures: StepFigures) -> Iterator[str]:
    silent = sum(1 for moment in figures.moments if not moment.ios)
    if silent:
        yield f"{counted(silent, 'interval')} without a read"
    if figures.errors:
        yield counted(figures.errors, "error")
    if figures.in_flight:
        yield f"{counted(figures.in_flight, 'request')} never came back"
    if figures.flagged:
        yield f"{counted(figures.flagged, 'read')} flagged: the generator stood still in their flight"
    if figures.late:
        yield f"{counted(figures.late, 'read')} started over 1 ms late"
    if figures.loop_gap_max_ns > GAP_WORTH_TELLING_NS:
        yield f"generator stood still for up to {latency(figures.loop_gap_max_ns)}"
    if step.record is not None and step.record.result.stopped_by:
        yield f"stopped early: {step.record.result.stopped_by}"


def verdict(drive: Drive, findings: Sequence[str] = ()) -> Verdict:
    """Return what one drive's review shows: what its suite has found, or what pressure does to it."""
    measured = [(step, figures) for step, figures, _ in drive.measured() if figures.mean is not None]
    if not measured:
        return Verdict(
            ("No step of this review is complete with any read: there is nothing to judge yet.",), ()
        )
    found = [f"{each[0].upper()}{each[1:]}." for each in findings]
    if not drive.plan.pressure:
        return Verdict(tuple(found), tuple(_amount(drive, measured)))
    (first_step, first), (last_step, last) = _ends(drive, measured)
    sentences, shown = [], []
    for statistic in _judged(first, last):
        before, after = statistic.of(first), statistic.of(last)
        if before is None or after is None:
            continue
        name = f"{statistic.label} read latency"
        if first_step is last_step:
            shown.append((name, latency(before.value), interval(before.low, before.high)))
            continue
        change = ratio(after, before)
        sentences.append(
            f"{name} {_changed(change)} from {latency(before.value)} {_load(drive, first_step, first)} "
            f"to {latency(after.value)} {_load(drive, last_step, last)}: {times(change)}."
        )
        shown.append((name, f"×{factor(change.value)}", f"{latency(before.value)} → {latency(after.value)}"))
    if first_step is last_step:
        sentences.append("One step is complete: it takes two to tell what pressure does.")
    elif drive.taken_as_independent:
        sentences.append("Steps were too short to tell how latencies cluster: true intervals are wider.")
    if drive.plan.pressure:
        hardest_step, hardest = measured[-1]
        unit, asked, reached = drive.plan.axis.unit, hardest_step.plan.at, hardest.pressure_Bps / 1e6
        shown.append(("Most writes", bandwidth(last.pressure_Bps), f"{_asked(asked)} {unit} asked at most"))
        if unit == "MB/s" and reached < REACHED * asked:
            sentences.append(
                f"Writes reached {figure(reached)} of the {_asked(asked)} MB/s asked at the hardest step."
            )
    shown += _amount(drive, measured)
    sentences += found
    return Verdict(tuple(sentences), tuple(shown))


def _amount(drive: Drive, measured: Sequence[Measured]) -> Iterator[tuple[str, str, str]]:
    ios = sum(figures.ios for _, figures in measured)
    name = f"{drive.plan.judged[0].upper()}{drive.plan.judged[1:]}s measured"
    yield name, f"{ios:,}", f"in {counted(len(measured), 'step')}"


def _ends(drive: Drive, measured: Sequence[Measured]) -> tuple[Measured, Measured]:
    """Return the steps to compare: the least and the most pressed one or, without pressure, the axis's ends."""
    if not drive.plan.pressure:
        return measured[0], measured[-1]
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
        return "did not change measurably"
    return "grew" if change.value > 1 else "fell"


def _load(drive: Drive, step: Step, figures: StepFigures) -> str:
    if drive.plan.pressure:
        return f"at {bandwidth(figures.pressure_Bps)} of writes" if figures.pressure_Bps else "without writes"
    return f"at {step.plan.at:,.6g} {drive.plan.axis.unit}"


def comparison(drives: Sequence[Drive]) -> str:
    """Return how the slowest and the fastest drive compare at the hardest step that all of them completed."""
    if not drives[0].plan.pressure:
        return _fastest(drives)
    measured = [{step.plan.at: figures for step, figures, _ in drive.measured()} for drive in drives]
    common = set.intersection(*(set(steps) for steps in measured)) if measured else set()
    if len(drives) < 2 or not common:
        return ""
    at = max(common)
    found = [
        (figures.mean, drive.label)
        for steps, drive in zip(measured, drives, strict=True)
        if (figures := steps[at])
    ]
    means = sorted(((mean, label) for mean, label in found if mean), key=lambda pair: pair[0].value)
    if len(means) < 2:
        return ""
    (fast, quick), (slow, slowest) = means[0], means[-1]
    return (
        f"At {at:,.6g} {drives[0].plan.axis.unit} asked, the mean read of {slowest} took {times(ratio(slow, fast))} "
        f"as long as that of {quick}: {latency(slow.value)} against {latency(fast.value)}."
    )


def _fastest(drives: Sequence[Drive]) -> str:
    """Return how the drives' highest rates compare, series by series."""
    if len(drives) < 2:
        return ""
    most: dict[str, dict[str, float]] = {}
    for drive in drives:
        for step, figures, _ in drive.measured():
            rates = most.setdefault(step.plan.series, {})
            rates[drive.label] = max(figures.rate_Bps, rates.get(drive.label, 0.0))
    sentences = []
    for series, rates in most.items():
        ordered = sorted(rates.items(), key=lambda pair: pair[1])
        (slowest, least), (quickest, highest) = ordered[0], ordered[-1]
        if len(ordered) > 1 and least > 0:
            sentences.append(
                f"{series + ': ' if series else ''}{quickest} reaches {bandwidth(highest)}, "
                f"{factor(highest / least)} times what {slowest} does ({bandwidth(least)})."
            )
    return " ".join(sentences)
