"""What the charts draw, as tidy tables: one for each chart, which is also what a reader can save as CSV.

Does not draw. Units end the columns' names; ``asked`` is in the unit of the suite's axis.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from iogauge.report.html_reviews import Drive
from iogauge.stats.figures import StepFigures, knee
from iogauge.stats.quantiles import Estimate


@dataclass(frozen=True)
class Statistic:
    """One figure of a step's latencies that the write-pressure chart can show; ``q`` is ``None`` for the mean."""

    key: str
    label: str
    q: float | None

    def of(self, figures: StepFigures) -> Estimate | None:
        """Return this statistic of a step; ``None`` where nothing completed."""
        return figures.mean if self.q is None else figures.quantiles[self.q]


STATISTICS = (
    Statistic("mean", "Mean", None),
    Statistic("median", "Median", 0.5),
    Statistic("p99", "p99", 0.99),
    Statistic("p99.9", "p99.9", 0.999),
    Statistic("p99.99", "p99.99", 0.9999),
)

Value = str | float | int | bool | None
Row = dict[str, Value]


@dataclass(frozen=True)
class Table:
    """Rows of one shape: ``None`` for what is unknown, numbers with six significant digits."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Table:
        """Return the table of rows that all have the same columns in the same order."""
        columns = tuple(rows[0]) if rows else ()
        return cls(columns, tuple(tuple(_rounded(value) for value in row.values()) for row in rows))

    def records(self) -> list[Row]:
        """Return the rows as Vega wants them: each value with its column's name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def csv(self) -> str:
        """Return the table as CSV: a header line, empty for what is unknown, ``true`` and ``false``.

        >>> Table.of([{"drive": "a, b", "latency_us": 12.3456789, "supported": True}]).csv()
        'drive,latency_us,supported\\n"a, b",12.3457,true\\n'
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        for row in self.rows:
            writer.writerow([str(value).lower() if isinstance(value, bool) else value for value in row])
        return text.getvalue()


def _rounded(value: Value) -> Value:
    if not isinstance(value, float):
        return value
    value = float(f"{value:.6g}")
    return int(value) if value.is_integer() else value


def pressure_table(drives: Iterable[Drive]) -> Table:
    """Return one row for each drive, step and statistic; latencies in microseconds, empty where not measured.

    ``from`` and ``to`` are where the step's tread of the stair begins and ends on the axis.
    """
    rows: list[Row] = []
    for drive in drives:
        edges = _edges([step.plan.at for step in drive.steps])
        for step in drive.steps:
            figures = step.figures
            for statistic in STATISTICS:
                estimate = statistic.of(figures) if figures else None
                left, right = edges[step.plan.at]
                rows.append(
                    {
                        "drive": drive.label,
                        "step": step.plan.id,
                        "repeat": step.plan.repeat,
                        "asked": step.plan.at,
                        "achieved_MBps": figures.pressure_Bps / 1e6 if figures else None,
                        "statistic": statistic.key,
                        "latency_us": _us(estimate.value if estimate else None),
                        "low_us": _us(estimate.low if estimate else None),
                        "high_us": _us(estimate.high if estimate else None),
                        "samples": figures.ios if figures else None,
                        "needed": estimate.needed if estimate else None,
                        "supported": bool(estimate and estimate.supported),
                        "from": left,
                        "to": right,
                    }
                )
    return Table.of(rows)


def sweep_table(drives: Iterable[Drive], series: str) -> Table:
    """Return one row for each drive, step and statistic of one series: rates, and latencies in microseconds.

    ``knee`` says of a step that it is the least with nearly the most that its drive reached.
    """
    rows: list[Row] = []
    for drive in drives:
        steps = [step for step in drive.steps if step.plan.series == series]
        # A share has no end towards which a rate could grow.
        rates = {step.plan.at: step.figures.rate_Bps for step in steps if step.figures}
        enough = None if drive.plan.axis.unit == "%" else knee(rates)
        for step in steps:
            figures = step.figures
            for statistic in STATISTICS:
                estimate = statistic.of(figures) if figures else None
                rows.append(
                    {
                        "drive": drive.label,
                        "series": series,
                        "step": step.plan.id,
                        "repeat": step.plan.repeat,
                        "asked": step.plan.at,
                        "iops": figures.iops if figures else None,
                        "rate_MBps": figures.rate_Bps / 1e6 if figures else None,
                        "knee": step.plan.at == enough,
                        "statistic": statistic.key,
                        "latency_us": _us(estimate.value if estimate else None),
                        "low_us": _us(estimate.low if estimate else None),
                        "high_us": _us(estimate.high if estimate else None),
                        "samples": figures.ios if figures else None,
                        "needed": estimate.needed if estimate else None,
                        "supported": bool(estimate and estimate.supported),
                    }
                )
    return Table.of(rows)


def time_table(drive: Drive) -> Table:
    """Return one row for each interval of one drive, its steps one after the other on a running clock."""
    rows: list[Row] = []
    clock_s = 0.0
    for step, figures, _ in drive.measured():
        moments = figures.moments
        if not moments:
            continue
        offset_s = clock_s - moments[0].start_s
        for moment in moments:
            rows.append(
                {
                    "drive": drive.label,
                    "step": step.plan.id,
                    "asked": step.plan.at,
                    "start_s": moment.start_s + offset_s,
                    "middle_s": (moment.start_s + moment.end_s) / 2 + offset_s,
                    "end_s": moment.end_s + offset_s,
                    "reads": moment.ios,
                    "read_iops": moment.iops,
                    "p50_us": _us(moment.p50_ns),
                    "p99_us": _us(moment.p99_ns),
                    "max_us": _us(moment.max_ns),
                    "achieved_MBps": moment.pressure_Bps / 1e6,
                }
            )
        clock_s = moments[-1].end_s + offset_s
    return Table.of(rows)


def _us(value_ns: float | None) -> float | None:
    return None if value_ns is None else value_ns / 1000


def _edges(positions: Sequence[float]) -> dict[float, tuple[float, float]]:
    """Return for each position the half-way points to its neighbours, as wide on the outside as on the inside."""
    places = sorted(set(positions))
    if len(places) == 1:
        return {places[0]: (places[0] * 0.5, places[0] * 1.5 or 1.0)}
    between = [(a + b) / 2 for a, b in itertools.pairwise(places)]
    first, last = 2 * places[0] - between[0], 2 * places[-1] - between[-1]
    bounds = [first, *between, last]
    return {place: (bounds[n], bounds[n + 1]) for n, place in enumerate(places)}
