"""The data of charts as tidy tables. Each chart draws one table, which a reader can save as CSV.

The name of a column ends with its unit. The column ``position`` is the position of a step, in the unit of the
suite's axis.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from iogauge.report.charts.over_time.warmth import warmth
from iogauge.results.position import Position, counts_requests
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import StepPlan
from iogauge.stats.extremes import knee
from iogauge.stats.figure import Figure
from iogauge.stats.figures import StepFigures
from iogauge.stats.moments import Moment
from iogauge.text.csv_cells import csv_of


@dataclass(frozen=True)
class Statistic:
    """One figure of a step's latencies that charts and tables show; ``q`` is ``None`` for the mean."""

    key: str
    label: str
    q: float | None

    def of(self, figures: StepFigures) -> Figure | None:
        """Return this statistic of a step; ``None`` if nothing completed."""
        return figures.mean if self.q is None else figures.quantile(self.q)


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
    """Rows of the same columns. ``None`` is an unknown value; numbers have few significant digits."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    @classmethod
    def of(cls, rows: Sequence[Row], *, digits: int = 6) -> Table:
        """Return the table of ``rows``, which have the same columns in the same order.

        Numbers are rounded to ``digits`` significant digits.
        """
        columns = tuple(rows[0]) if rows else ()
        return cls(columns, tuple(tuple(_rounded(value, digits) for value in row.values()) for row in rows))

    def packed(self) -> tuple[list[str], list[list[Value | list[int]]]]:
        """Return the list of distinct texts, and the rows, in which ``[index]`` into that list replaces a text.

        A row omits its first values as long as they equal those of the row before.

        >>> Table(("drive", "us"), (("a", 1.5), ("a", 2), ("b", 2), ("b", 2))).packed()
        (['a', 'b'], [[[0], 1.5], [2], [[1], 2], []])
        """
        texts = dict.fromkeys(value for row in self.rows for value in row if isinstance(value, str))
        references: dict[str, list[int]] = {text: [index] for index, text in enumerate(texts)}
        packed: list[list[Value | list[int]]] = []
        before: Sequence[Value] = ()
        for row in self.rows:
            # 1, 1.0 and true are equal in Python, but are written differently.
            same = [
                type(value) is type(other) and value == other
                for value, other in zip(row, before, strict=False)
            ]
            first = [*same, False].index(False)
            packed.append([references[value] if isinstance(value, str) else value for value in row[first:]])
            before = row
        return list(texts), packed

    def column(self, name: str) -> list[Value]:
        """Return the values of a column; none if the table has no rows, or no such column."""
        if not self.rows or name not in self.columns:
            return []
        index = self.columns.index(name)
        return [row[index] for row in self.rows]

    def numbers(self, name: str) -> list[float]:
        """Return the numbers of a column, with 0 for unknown ones."""
        return [float(value or 0) for value in self.column(name)]

    def records(self) -> list[Row]:
        """Return the rows as Vega reads them: objects of values by column."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]

    def csv(self) -> str:
        """Return the table as CSV: a header line, empty cells for unknown values, ``true`` and ``false``.

        >>> Table.of([{"drive": "a, b", "latency_us": 12.3456789, "supported": True}]).csv()
        'drive,latency_us,supported\\n"a, b",12.3457,true\\n'
        """
        return csv_of(self.columns, self.rows)


def _rounded(value: Value, digits: int) -> Value:
    if not isinstance(value, float):
        return value
    value = float(f"{value:.{digits}g}")
    return int(value) if value.is_integer() else value


def pressure_table(drives: Iterable[SuiteResult]) -> Table:
    """Return one row for each drive, position, repeat and statistic; latencies are in microseconds, or unknown.

    ``from`` and ``to`` are the positions on the axis where the step's tread of the stair begins and ends.
    """
    rows: list[Row] = []
    for drive in drives:
        edges = _edges([position.at for position in drive.planned])
        for run in _runs(drive.planned):
            left, right = edges[run.plan.at]
            achieved: Row = {"achieved_MBps": run.figures.pressure_Bps / 1e6 if run.figures else None}
            rows += run.rows(drive, achieved, {"from": left, "to": right})
    return Table.of(rows)


def sweep_table(drives: Iterable[SuiteResult], series: str) -> Table:
    """Return one row for each drive, position, repeat and statistic of a series: rates, latencies in microseconds.

    ``knee`` marks the first position at which the drive reaches nearly its highest rate.
    """
    rows: list[Row] = []
    for drive in drives:
        positions = [position for position in drive.planned if position.series == series]
        # Shares and named positions have no direction in which a rate could grow: they have no knee.
        rates = {position.at: position.figures.rate_Bps for position in positions if position.runs}
        named = drive.plan.axis.unit == "%" or any(position.plan.label for position in positions)
        enough = None if named else knee(rates)
        for run in _runs(positions):
            achieved: Row = {
                "iops": run.figures.iops if run.figures else None,
                "rate_MBps": run.figures.rate_Bps / 1e6 if run.figures else None,
                "knee": run.plan.at == enough,
            }
            rows += run.rows(drive, {"series": series, **achieved}, {})
    return Table.of(rows)


def rows_table(drives: Iterable[SuiteResult]) -> Table:
    """Return one row for each drive, row of its table, repeat and statistic: its rate, and a latency in microseconds.

    The rate of small requests is in IOPS, that of large ones in MB/s; ``unit`` says which.
    """
    rows: list[Row] = []
    for drive in drives:
        for run in _runs(drive.planned):
            rows += run.rows(drive, _rate(run.figures), {})
    return Table.of(rows)


def _rate(figures: StepFigures | None) -> Row:
    if figures is None:
        return dict.fromkeys(("unit", "rate", "rate_low", "rate_high"))
    small = counts_requests([figures])
    rate, scale = (figures.iops_figure, 1.0) if small else (figures.rate_figure, 1e6)
    low, high = (None if bound is None else bound / scale for bound in (rate.low, rate.high))
    return {
        "unit": "IOPS" if small else "MB/s",
        "rate": rate.value / scale,
        "rate_low": low,
        "rate_high": high,
    }


@dataclass(frozen=True)
class _Run:
    """One run of a position, or all its repeats merged (``repeat`` is then ``None``)."""

    plan: StepPlan
    repeat: int | None
    figures: StepFigures | None

    def rows(self, drive: SuiteResult, achieved: Row, more: Row) -> Iterator[Row]:
        """Yield one row for each statistic."""
        figures = self.figures
        for statistic in STATISTICS:
            estimate = statistic.of(figures) if figures else None
            yield {
                "drive": drive.label,
                "step": self.plan.id,
                "repeat": self.repeat,
                "label": self.plan.label,
                "position": self.plan.at,
                **achieved,
                "statistic": statistic.key,
                "latency_us": us(estimate.value if estimate else None),
                "low_us": us(estimate.low if estimate else None),
                "high_us": us(estimate.high if estimate else None),
                "samples": figures.ios if figures else None,
                "needed": estimate.needed if estimate else None,
                "supported": bool(estimate and estimate.supported),
                "long_enough": bool(estimate and estimate.long_enough),
                **more,
            }


def _runs(positions: Iterable[Position]) -> Iterator[_Run]:
    """Yield each position's runs merged and, if there are several, also one by one, numbered from 1."""
    for position in positions:
        yield _Run(position.planned[0], None, position.figures if position.runs else None)
        if len(position.planned) > 1:
            for step, run in position.by_repeat:
                yield _Run(step, step.repeat + 1, run.figures if run else None)


def time_table(drive: SuiteResult) -> Table:
    """Return one row for each interval of one drive. Its steps follow one another on one clock.

    If the drive was sampled, the last columns have its temperature, whether it was ``throttled`` or ``hot``, and the
    number of the spell of equal heat, which counts from 1.
    """
    rows = _time_rows(drive)
    states = [state for run in drive.runs for state in warmth(run)]
    if any(state.temperature_C is not None or state.heat for state in states):
        spell = 0
        for row, state, before in zip(rows, states, [None, *states], strict=False):
            same_step = row["start_s"] and before is not None and before.heat == state.heat
            spell += bool(state.heat) and not same_step
            row |= {
                "temperature_C": state.temperature_C,
                "heat": state.heat,
                "spell": spell if state.heat else None,
            }
    return Table.of(rows)


def _time_rows(drive: SuiteResult) -> list[Row]:
    return [
        {
            "drive": drive.label,
            "step": step.id,
            "position": step.at,
            "start_s": start_s,
            "middle_s": (start_s + end_s) / 2,
            "end_s": end_s,
            "reads": moment.ios,
            "read_iops": moment.iops,
            "p50_us": us(moment.p50_ns),
            "p99_us": us(moment.p99_ns),
            "max_us": us(moment.max_ns),
            "achieved_MBps": moment.pressure_Bps / 1e6,
        }
        for step, moment, start_s, end_s in on_one_clock(drive)
    ]


def on_one_clock(drive: SuiteResult) -> Iterator[tuple[StepPlan, Moment, float, float]]:
    """Yield each interval of a drive's steps, with its start and end on a clock without the pauses between steps."""
    clock_s = 0.0
    for run in drive.runs:
        figures = run.figures
        if not figures.moments:
            continue
        offset_s = clock_s - figures.moments[0].start_s
        for moment in figures.moments:
            yield run.plan, moment, moment.start_s + offset_s, moment.end_s + offset_s
        clock_s = figures.moments[-1].end_s + offset_s


def us(value_ns: float | None) -> float | None:
    """Return nanoseconds as microseconds; ``None`` stays ``None``."""
    return None if value_ns is None else value_ns / 1000


def _edges(positions: Sequence[float]) -> dict[float, tuple[float, float]]:
    """Return for each position the half-way points to its neighbours; the outermost are as wide outside as inside."""
    places = sorted(set(positions))
    if len(places) == 1:
        return {places[0]: (places[0] * 0.5, places[0] * 1.5 or 1.0)}
    between = [(a + b) / 2 for a, b in itertools.pairwise(places)]
    first, last = 2 * places[0] - between[0], 2 * places[-1] - between[-1]
    bounds = [first, *between, last]
    return {place: (bounds[n], bounds[n + 1]) for n, place in enumerate(places)}
