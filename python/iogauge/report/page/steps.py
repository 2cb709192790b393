"""The tables of a drive's steps: every figure with its interval, what went wrong, and how far repeats differ.

Every cell is made of figures that the steps' stored runs support; where a sample is too small, the cell says what it
would need. Returns plain text: escaping and layout are the template's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from iogauge.report.charts.data import STATISTICS
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, StepPlan
from iogauge.stats.figures import QUANTILES, StepFigures
from iogauge.stats.histogram import supported_up_to
from iogauge.stats.pooled import variations
from iogauge.text import numbers
from iogauge.text.cells import Cell, cell, latency
from iogauge.text.numbers import counted, figure, percent

GAP_WORTH_TELLING_NS = 1_000_000

VARIATION = (
    "The coefficient of variation between the runs of each step: their standard deviation as a share of their "
    "mean."
)
BETWEEN = (
    "The last column is the share of the mean latency's variance that lies between runs, and is not seen within any of "
    "them."
)


@dataclass(frozen=True)
class StepRow:
    """One row of the table; ``cells`` hold the statistics in the order of ``STATISTICS``.

    Of a step that is not complete there is its name alone.
    """

    step: str
    anchor: str
    series: str
    asked: str
    complete: bool = False
    achieved: str = ""
    reads: str = ""
    read_iops: str = ""
    cells: tuple[Cell, ...] = ()
    maximum: str = ""
    device: str = ""
    supports: str = ""
    remarks: tuple[str, ...] = ()


def step_rows(drive: SuiteResult) -> Iterator[StepRow]:
    """Yield the table's rows, a row for all repeats of a step together."""
    for position in drive.planned:
        figures = position.figures if position.runs else None
        yield _row(drive, position.planned[0], figures, tuple(_remarks(drive, position)))


def run_rows(drive: SuiteResult) -> Iterator[StepRow]:
    """Yield the rows of single runs, of the positions that are measured more than once."""
    for position in drive.planned:
        for step, run in position.by_repeat if len(position.planned) > 1 else ():
            yield replace(
                _row(drive, step, run.figures if run else None, ()),
                asked=f"{_asked(step)}, repeat {step.repeat + 1}",
                anchor=f"{drive.anchor(step)}-run",
            )


def _row(
    drive: SuiteResult, plan: StepPlan, figures: StepFigures | None, remarks: tuple[str, ...]
) -> StepRow:
    row = StepRow(plan.id, drive.anchor(plan), plan.series, _asked(plan))
    if figures is None:
        return row
    moved_Bps = figures.pressure_Bps if drive.plan.pressure else figures.rate_Bps
    return replace(
        row,
        complete=True,
        # No writers press with 0 MB/s; syncs move no data that a rate could be of.
        achieved=figure(moved_Bps / 1e6) if moved_Bps or drive.plan.pressure else "–",
        reads=f"{figures.ios:,}",
        read_iops=f"{figures.iops:,.0f}",
        cells=tuple(cell(statistic.of(figures), ios=figures.ios) for statistic in STATISTICS),
        maximum="–" if figures.max_ns is None else latency(figures.max_ns),
        device="–" if figures.device_mean_ns is None else latency(figures.device_mean_ns),
        supports=supported_up_to(figures.ios),
        remarks=remarks,
    )


def asked_in(axis: Axis) -> str:
    """Return the head of the column that says what was asked of each step.

    >>> asked_in(Axis(name="queue depth", unit="in flight")), asked_in(Axis(name="run", unit=""))
    ('Asked, in flight', 'Asked')
    """
    return f"Asked, {axis.unit}" if axis.unit else "Asked"


def _asked(plan: StepPlan) -> str:
    """Return what a step is called, without the unit of its axis."""
    return plan.label or numbers.position(plan.at)


def _remarks(drive: SuiteResult, position: Position) -> Iterator[str]:
    if not position.runs:
        return
    figures = position.figures
    if position.incomplete:
        yield f"{counted(position.incomplete, 'repeat')} not complete"
    noun = drive.plan.judged
    silent = sum(1 for moment in figures.moments if not moment.ios)
    if silent:
        yield f"{counted(silent, 'interval')} without a {noun}"
    if figures.errors:
        yield counted(figures.errors, "error")
    if figures.in_flight:
        yield f"{counted(figures.in_flight, 'request')} never came back"
    if figures.flagged:
        yield f"{counted(figures.flagged, noun)} flagged: the generator stood still in their flight"
    if figures.late:
        yield f"{counted(figures.late, noun)} started over 1 ms late"
    if figures.loop_gap_max_ns > GAP_WORTH_TELLING_NS:
        yield f"generator stood still for up to {latency(figures.loop_gap_max_ns)}"
    yield from (f"stopped early: {why}" for why in position.stopped_by)


@dataclass(frozen=True)
class VariedRow:
    """How the figures of one position vary from run to run: the rate, and what ``STATISTICS`` has, in that order."""

    series: str
    asked: str
    runs: str
    coefficients: tuple[str, ...]
    between: str
    """The share of the mean latency's variance that lies between runs; empty where it is not known."""


def varied_rows(drive: SuiteResult) -> Iterator[VariedRow]:
    """Yield the coefficient of variation between runs of the rate and of every statistic, position by position."""
    for position in drive.positions:
        if len(position.runs) < 2:
            continue
        spreads = variations([run.figures for run in position.runs], QUANTILES)
        names = ("iops", *(f"p{100 * each.q:.12g}" if each.q else "mean" for each in STATISTICS))
        mean = spreads.get("mean")
        yield VariedRow(
            series=position.series,
            asked=_asked(position.plan),
            runs=str(len(position.runs)),
            coefficients=tuple(
                percent(spreads[name].coefficient) if name in spreads else "–" for name in names
            ),
            between="" if mean is None or mean.share is None else percent(mean.share),
        )
