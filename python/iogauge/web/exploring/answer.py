"""The answer to a statement of SQL: rows as text, and a chart of them if a column holds numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from iogauge.errors import UsageError
from iogauge.text import numbers
from iogauge.web.exploring.plot import MOST_GROUPS, Kind, Plot, Point, column_of

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 10_000
"""Rows of an answer."""
MOST_SHOWN = 500
"""Rows of the page; the CSV has all."""
MOST_POINTS = 2000
MOST_NAMES = 60
LONGEST_CELL = 300
_BOUNDS = ("low", "high")


@dataclass(frozen=True)
class Answer:
    """Rows, as Python's values and as text."""

    columns: tuple[str, ...]
    values: Sequence[Sequence[Any]]
    is_cut: bool
    """Whether there are further rows."""

    @classmethod
    def of(cls, table: pa.Table) -> Answer:
        """Return the first ``MOST_ROWS`` rows of a table, whose columns may have equal names."""
        values = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        return cls(tuple(table.column_names), values[:MOST_ROWS], len(values) > MOST_ROWS)

    @property
    def texts(self) -> list[list[str]]:
        """The rows that the page shows, as text."""
        return [[cell(value) for value in row] for row in self.values[:MOST_SHOWN]]

    @cached_property
    def numeric(self) -> tuple[str, ...]:
        """The columns of numbers that a chart can show."""
        return tuple(name for name in dict.fromkeys(self.columns) if self._is_number(name))

    def plot(self, x: str, y: str) -> Plot | None:
        """Return the chart of column ``y`` over ``x``, or of those that suit if they are empty; None: nothing can be.

        Raises UsageError for columns that the answer does not have.
        """
        for axis, name, names in (("x", x, self.columns), ("y", y, self.numeric)):
            if name and name not in names:
                raise UsageError(
                    f"{axis} {name[:80]!r} is not among the columns",
                    hint=f"choose one of: {', '.join(names)}",
                )
        y = y or self._default_y(x)
        x = x or next((name for name in self.columns if name != y), "")
        if not x or not y:
            return None
        kind = self._kind(x)
        low, high = (self._bound(y, end) for end in _BOUNDS)
        group = self._group({x, y}, kind)
        points = [
            Point(
                place=_place(place, kind),
                value=float(value),
                low=_number(lowest),
                high=_number(highest),
                group="" if name is None else cell(name),
            )
            for place, value, lowest, highest, name in zip(
                self._column(x),
                self._column(y),
                self._column(low),
                self._column(high),
                self._column(group),
                strict=True,
            )
            if _is_place(place, kind) and _number(value) is not None
        ]
        points = points[: MOST_NAMES if kind == "name" else MOST_POINTS]
        if not points:
            return None
        cut = " The first points." if len(points) < len(self.values) else ""
        whiskers = " Whiskers are low and high." if low and high else ""
        return Plot(
            name="answer",
            title=f"{y} over {x}",
            subtitle=f"The answer to a query.{whiskers}{cut}",
            points=points,
            kind=kind,
            place=x,
            value=y,
            columns=(column_of(x), column_of(y)) if column_of(x) != column_of(y) else ("place", "value"),
        )

    def _column(self, name: str) -> Sequence[Any]:
        if not name:
            return [None] * len(self.values)
        index = self.columns.index(name)
        return [row[index] for row in self.values]

    def _is_number(self, name: str) -> bool:
        values = [value for value in self._column(name) if value is not None]
        return bool(values) and all(
            isinstance(value, int | float) and not isinstance(value, bool) for value in values
        )

    def _default_y(self, x: str) -> str:
        plain = [name for name in self.numeric if name != x and not _is_bound(name)]
        first = self.columns[0] if self.columns else ""
        return next((name for name in plain if name != first), plain[0] if plain else "")

    def _kind(self, x: str) -> Kind:
        if x in self.numeric:
            return "number"
        values = [value for value in self._column(x) if value is not None]
        return "date" if values and all(isinstance(value, date) for value in values) else "name"

    def _bound(self, y: str, end: str) -> str:
        name, _, unit = y.partition("_")
        candidates = (f"{y}_{end}", f"{name}_{end}_{unit}", end)
        return next((column for column in candidates if column in self.numeric and column != y), "")

    def _group(self, used: set[str], kind: Kind) -> str:
        """Return a column of a few texts, which tells points apart by colour; empty: there is none."""
        for name in self.columns if kind != "name" else ():
            values = {value for value in self._column(name) if value is not None}
            texts = name not in used and values and all(isinstance(value, str) for value in values)
            if texts and 1 < len(values) <= MOST_GROUPS:
                return name
        return ""


def cell(value: Any) -> str:
    """Return a value as text of a bounded length.

    >>> cell(None), cell(1234567), cell(0.25), cell(True), cell(["a", "b"])
    ('', '1,234,567', '0.2500', 'true', 'a, b')
    """
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.0f}" if value.is_integer() else numbers.figure(value)
        case bytes():
            return value.hex()[:LONGEST_CELL]
        case datetime():
            return value.isoformat(" ", "seconds")
        case list() | tuple():
            text = ", ".join(map(cell, value[:LONGEST_CELL]))
        case Mapping():
            text = json.dumps(value, default=str)
        case _:
            text = str(value)
    return text if len(text) <= LONGEST_CELL else f"{text[: LONGEST_CELL - 1]}…"


def _is_bound(name: str) -> bool:
    return any(end in name.split("_") for end in _BOUNDS)


def _number(value: Any) -> float | None:
    usable = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if usable else None


def _is_place(value: Any, kind: Kind) -> bool:
    """Return whether a chart can have a value: there is no place for what is missing, infinite, or no number."""
    return value is not None and (kind != "number" or _number(value) is not None)


def _place(value: Any, kind: Kind) -> float | str:
    if kind == "number":
        return float(value)
    if kind == "name":
        return cell(value)[:80]
    # A browser would take a time without a zone as one of its own.
    utc = isinstance(value, datetime) and value.tzinfo is None
    return str((value.replace(tzinfo=UTC) if utc else value).isoformat())
