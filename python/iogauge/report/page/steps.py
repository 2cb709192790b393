"""The tables of a drive's steps: every figure with its interval, what went wrong, and how much repeats differ.

A cell whose sample is too small says how many samples it needs. This module returns plain text; the template escapes it
and lays it out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from iogauge.report.charts.data import STATISTICS
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import StepPlan, SuitePlan
from iogauge.stats.figure import QUANTILES
from iogauge.stats.figures import StepFigures
from iogauge.stats.histogram import supported_up_to
from iogauge.stats.pooled import variations
from iogauge.text.cells import Cell, cell, latency
from iogauge.text.numbers import capitalised, counted, figure, percent, rate

REPORTED_GAP_NS = 1_000_000

VARIATION = (
    "The coefficient of variation between the runs of each step: their standard deviation as a share of their "
    "mean."
)
BETWEEN = "The last column is the share of the mean latency's variance between runs, which a single run cannot show."


@dataclass(frozen=True)
class StepRow:
    """One row of the table; ``cells`` hold the statistics in the order of ``STATISTICS``.

    A step that is not complete has only its name.
    """

    step: str
    anchor: str
    series: str
    position: str
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
    """Yield the rows of the table: one for all repeats of a step, pooled."""
    for position in drive.planned:
        figures = position.figures if position.runs else None
        yield _row(drive, position.planned[0], figures, tuple(_remarks(drive, position)))


def run_rows(drive: SuiteResult) -> Iterator[StepRow]:
    """Yield the rows of single runs, for the positions that are measured more than once."""
    for position in drive.planned:
        for step, run in position.by_repeat if len(position.planned) > 1 else ():
            yield replace(
                _row(drive, step, run.figures if run else None, ()),
                position=f"{drive.name_of(step, unit=False)}, repeat {step.repeat + 1}",
                anchor=f"{drive.anchor(step)}-run",
            )


def _row(
    drive: SuiteResult, plan: StepPlan, figures: StepFigures | None, remarks: tuple[str, ...]
) -> StepRow:
    row = StepRow(plan.id, drive.anchor(plan), plan.series, drive.name_of(plan, unit=False))
    if figures is None:
        return row
    moved_Bps = figures.pressure_Bps if drive.plan.load_jobs else figures.rate_Bps
    return replace(
        row,
        complete=True,
        # Without writers the achieved rate is 0 MB/s; syncs move no data, so that they have no rate.
        achieved=figure(moved_Bps / 1e6) if moved_Bps or drive.plan.load_jobs else "–",
        reads=f"{figures.ios:,}",
        read_iops=rate(figures.iops),
        cells=tuple(cell(statistic.of(figures), ios=figures.ios) for statistic in STATISTICS),
        maximum="–" if figures.max_ns is None else latency(figures.max_ns),
        device="–" if figures.device_mean_ns is None else latency(figures.device_mean_ns),
        supports=supported_up_to(figures.ios),
        remarks=remarks,
    )


def position_head(plan: SuitePlan) -> str:
    """Return the head of the column of positions. A load is named as requested, since it may not be achieved."""
    name, unit = "requested" if plan.load_jobs else plan.axis.name, plan.axis.unit
    # The unit is left out where the name says it: "row of the table" needs no "row".
    return capitalised(f"{name}, {unit}" if unit and unit not in name else name)


def _remarks(drive: SuiteResult, position: Position) -> Iterator[str]:
    if not position.runs:
        return
    figures = position.figures
    if position.incomplete:
        yield f"{counted(position.incomplete, 'repeat')} not complete"
    noun = drive.plan.judged
    if figures.silent:
        yield f"{counted(figures.silent, 'interval')} without a {noun}"
    if figures.errors:
        yield counted(figures.errors, "error")
    if figures.in_flight:
        yield f"{counted(figures.in_flight, 'request')} never came back"
    if figures.flagged:
        yield f"{counted(figures.flagged, noun)} flagged: the generator stalled while they were in flight"
    if figures.late:
        yield f"{counted(figures.late, noun)} started over 1 ms late"
    if figures.loop_gap_max_ns > REPORTED_GAP_NS:
        yield f"the generator stalled for up to {latency(figures.loop_gap_max_ns)}"
    yield from (f"stopped early: {why}" for why in position.stopped_by)


@dataclass(frozen=True)
class VariedRow:
    """How the figures of one position vary from run to run: the rate, then the statistics in their order."""

    series: str
    position: str
    runs: str
    coefficients: tuple[str, ...]
    between: str
    """The share of the mean latency's variance that lies between runs; empty if unknown."""


def varied_rows(drive: SuiteResult) -> Iterator[VariedRow]:
    """Yield the coefficients of variation between runs, position by position."""
    for position in drive.positions:
        if len(position.runs) < 2:
            continue
        spreads = variations([run.figures for run in position.runs], QUANTILES)
        names = (
            "iops",
            *(f"p{100 * statistic.q:.12g}" if statistic.q else "mean" for statistic in STATISTICS),
        )
        mean = spreads.get("mean")
        yield VariedRow(
            series=position.series,
            position=drive.name_of(position.plan, unit=False),
            runs=str(len(position.runs)),
            coefficients=tuple(
                percent(spreads[name].coefficient) if name in spreads else "–" for name in names
            ),
            between="" if mean is None or mean.share is None else percent(mean.share),
        )
