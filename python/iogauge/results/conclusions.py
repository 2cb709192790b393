"""What a suite concludes from several steps together, as plain data: a terminal prints it, a report draws it.

Exists below suites and reports, which do not know each other: a suite fills these in, a report shows them. Nothing here
knows a suite, a review or a chart.
"""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.stats.figures import QUANTILES
from iogauge.stats.steady import RANGE
from iogauge.text import numbers


@dataclass(frozen=True)
class TextTable:
    """A table as people read it: every cell is text, units included or in ``head``."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """Each as long as ``head``; the first cell says what the row is of."""


@dataclass(frozen=True)
class Matrix:
    """A value over two axes whose places are words, such as IOPS by share of reads and block size."""

    title: str
    unit: str
    columns: str
    """What is varied from column to column."""
    rows: str
    cells: tuple[tuple[str, str, float], ...]
    """(column, row, value), in the order in which they are read; not every pair needs to be there."""

    @property
    def table(self) -> TextTable:
        """The same as a table.

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
    """A value from round to round, and the window of rounds over which it was asked whether it is steady."""

    title: str
    axis: str
    unit: str
    places: tuple[float, ...]
    """Where each value was measured, in ``axis``: rounds from 1, minutes."""
    values: tuple[float, ...]
    first: int
    """Index of the window's first value."""
    last: int
    """Index of its last one."""
    mean: float
    """Of the window."""
    slope: float
    """Of the line of best fit through the window, from one value to the next."""
    steady: bool

    @property
    def range(self) -> tuple[float, float]:
        """The lines that a steady window lies between: its mean, a tenth up and down."""
        return (1 - RANGE / 2) * self.mean, (1 + RANGE / 2) * self.mean

    @property
    def fit(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The two ends of the line of best fit: (place, value)."""
        half = self.slope * (self.last - self.first) / 2
        return (self.places[self.first], self.mean - half), (self.places[self.last], self.mean + half)


@dataclass(frozen=True)
class Conclusions:
    """All that a suite concludes from the positions of one plan."""

    findings: tuple[str, ...] = ()
    """A sentence each, without a full stop."""
    tables: tuple[TextTable, ...] = ()
    """In the order in which they are read."""
    matrices: tuple[Matrix, ...] = ()
    convergences: tuple[Convergence, ...] = ()
    quantiles: tuple[float, ...] = QUANTILES
    """Which quantiles of latency are judged besides the mean."""
