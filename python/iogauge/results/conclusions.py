"""Conclusions of a suite from several steps, as plain data that a terminal prints and a report draws.

A suite creates these objects and a report shows them, so that suites and reports need not know each other. Nothing
here knows a suite, a review or a chart.
"""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.stats.figure import QUANTILES, Figure
from iogauge.stats.steady import RANGE
from iogauge.text import numbers


@dataclass(frozen=True)
class TextTable:
    """A table of text: units are in the cells or in ``head``."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Each as long as ``head``; the first cell names the row."""


@dataclass(frozen=True)
class Matrix:
    """A value over two axes of named positions, such as IOPS by share of reads and block size."""

    title: str
    unit: str
    columns: str
    """What varies from column to column."""
    rows: str
    cells: tuple[tuple[str, str, float], ...]
    """(column, row, value), in reading order; pairs may be missing."""

    @property
    def table(self) -> TextTable:
        """The matrix as a table.

        >>> cells = (("100/0", "4 KiB", 5.0), ("0/100", "4 KiB", 3.0))
        >>> Matrix("IOPS", "IOPS", "reads/writes", "block", cells).table.rows
        (('4 KiB', '5.000', '3.000'),)
        """
        columns = tuple(dict.fromkeys(column for column, _, _ in self.cells))
        rows = dict.fromkeys(row for _, row, _ in self.cells)
        values = {(column, row): value for column, row, value in self.cells}
        return TextTable(
            title=self.title,
            head=(f"{self.rows} \\ {self.columns}", *columns),
            rows=tuple(
                (
                    row,
                    *(
                        numbers.figure(values[column, row]) if (column, row) in values else "-"
                        for column in columns
                    ),
                )
                for row in rows
            ),
        )


@dataclass(frozen=True)
class Convergence:
    """A value from round to round, and the window of rounds that decides whether it is steady."""

    title: str
    axis: str
    unit: str
    places: tuple[float, ...]
    """Position of each value on ``axis``: rounds from 1, seconds."""
    values: tuple[float, ...]
    first: int
    """Index of the window's first value."""
    last: int
    """Index of the window's last value."""
    mean: float
    """Mean over the window."""
    slope: float
    """Slope of the line of best fit through the window, from one value to the next."""
    steady: bool

    @property
    def range(self) -> tuple[float, float]:
        """The band that holds a steady window: its mean, plus and minus a tenth."""
        return (1 - RANGE / 2) * self.mean, (1 + RANGE / 2) * self.mean

    @property
    def fit(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The two ends of the line of best fit: (position, value)."""
        half = self.slope * (self.last - self.first) / 2
        return (self.places[self.first], self.mean - half), (self.places[self.last], self.mean + half)


@dataclass(frozen=True)
class EffectRow:
    """How much one tuning changes a figure, in the unit of its ``Effects``."""

    name: str
    against: str
    """The tuning with which it is compared."""
    value: float
    low: float | None
    """The lower bound of the 95 % interval; None: not known."""
    high: float | None
    established: bool
    """Whether the difference is significant among all rows."""
    supported: bool
    """Whether the samples of both sides support the figure."""
    published: float | None
    """The published difference; None: there is none."""


@dataclass(frozen=True)
class Effects:
    """What each of several tunings changes of one figure."""

    title: str
    unit: str
    rows: tuple[EffectRow, ...]


@dataclass(frozen=True)
class TriedLoad:
    """A load that a search tried."""

    at: float
    effort: int
    """Its length as a multiple of the usual one: a load runs again for longer if a run shows nothing, or to confirm."""
    outcome: str
    """``met``, ``missed`` or ``not shown``."""
    served: bool
    """Whether the drive served the requested rate."""
    rate: Figure
    """IOPS or bytes a second, as the search looks for."""
    latencies: tuple[Figure | None, ...]
    """The limited latencies, in the order of the limits; None: nothing completed."""

    @property
    def verdict(self) -> str:
        """Whether it keeps the limits, in a word or two: kept, missed or not shown."""
        return {"met": "kept", "missed": "missed"}.get(self.outcome, "not shown")


@dataclass(frozen=True)
class SearchResult:
    """The most load that keeps limits."""

    limits: tuple[str, ...]
    unit: str
    """The unit of loads."""
    estimate: float | None
    """The load at which the limits end: the geometric mean of ``holds`` and ``breaks``; None: one of them is unknown.

    For whole numbers, such as depths, it is ``holds``.
    """
    holds: float | None
    """The highest load that keeps the limits; None: none is shown to."""
    breaks: float | None
    """The lowest load that misses them; None: none was tried."""
    most: Figure | None
    """The highest rate of a load that keeps them: IOPS or bytes a second."""
    loads: tuple[TriedLoad, ...]
    """All loads, the lowest first; of one load, the shortest run first."""
    ended: bool
    """Whether the search has ended."""

    @property
    def deciding(self) -> tuple[TriedLoad, ...]:
        """The longest run of each load, which decides; the lowest load first."""
        return tuple({load.at: load for load in self.loads}.values())


@dataclass(frozen=True)
class Conclusions:
    """Everything that a suite concludes from the positions of one plan."""

    findings: tuple[str, ...] = ()
    """One sentence each, without a full stop."""
    tables: tuple[TextTable, ...] = ()
    """In reading order."""
    matrices: tuple[Matrix, ...] = ()
    convergences: tuple[Convergence, ...] = ()
    effects: tuple[Effects, ...] = ()
    search: SearchResult | None = None
    """What a search found; None: the suite searches for nothing."""
    quantiles: tuple[float, ...] = QUANTILES
    """The quantiles of latency that are judged besides the mean."""
