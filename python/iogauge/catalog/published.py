"""Published measurements of real drives: the rows of ``published_points.csv``.

``use`` tells the use of a row: ``fit`` (a figure that a model should meet), ``bound`` (a relation that should hold),
``context`` (not comparable: maxima, superseded specifications, other machines). Every row names its source.
"""

from __future__ import annotations

import csv
import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HELD_OUT = 5
"""One of this many rows of a drive is kept from the fit and predicted."""

_FILE = Path(__file__).parent / "published_points.csv"
_SPAN = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?)\.\.(\d+(?:\.\d+)?)")
_OPERATOR = re.compile(r"^(<=|>=|<|>>|>|~)")


@dataclass(frozen=True, kw_only=True)
class Point:
    """One published figure."""

    row: int
    """Its number in the file, from 1."""
    drive: str
    host: str
    """Machine, system and driver; empty if the source does not name them, as in a specification."""
    workload: str
    block_bytes: int | None
    read_percent: int | None
    threads: int | None
    depth: int | None
    """Depth of each thread."""
    metric: str
    unit: str
    value: float
    """The figure; the middle of a range."""
    span: tuple[float, float] | None
    """The range, if the source gives one or its words imply one."""
    relation: str | None
    """The relation of a bound: ``<``, ``<=``, ``>``, ``>=``, ``>>`` or ``~``."""
    use: str
    note: str
    source: str

    @property
    def label(self) -> str:
        """The row in a few words."""
        mix = "" if self.read_percent in (None, 100, 0) else f" {self.read_percent}/{100 - self.read_percent}"
        way = (
            {100: " read", 0: " write"}.get(self.read_percent or 0, "")
            if self.read_percent is not None
            else ""
        )
        size = "" if self.block_bytes is None else f" {self.block_bytes // 1024} KiB"
        depth = "" if None in (self.threads, self.depth) else f" {self.threads}x{self.depth}"
        return f"{self.workload}{size}{way}{mix}{depth} {self.metric}"


@functools.cache
def points() -> tuple[Point, ...]:
    """Return all rows.

    >>> len(points())
    268
    """
    with _FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(_point(number, row) for number, row in enumerate(csv.DictReader(lines), 1))


def of_drives(names: Sequence[str]) -> list[Point]:
    """Return the rows about drives of these names, without those for context."""
    return [point for point in points() if point.drive in names and point.use != "context"]


def held_out(rows: Sequence[Point]) -> frozenset[int]:
    """Return the rows of a drive that are predicted instead of fitted: every fifth row of use ``fit``.

    >>> rows = of_drives(["Intel SSD DC P3700 800GB"])
    >>> len(held_out(rows)), sum(row.use == "fit" for row in rows)
    (3, 15)
    """
    fitted = [point.row for point in rows if point.use == "fit"]
    return frozenset(fitted[HELD_OUT - 1 :: HELD_OUT])


def _point(number: int, row: dict[str, str]) -> Point:
    note = row["tolerance_note"]
    value, span = _number(row["value"])
    words = _SPAN.search(note)
    relation = _OPERATOR.match(note)
    return Point(
        row=number,
        drive=row["drive"],
        host=row["host"].lower(),
        workload=row["workload"],
        block_bytes=_whole(row["blocksize"]),
        read_percent=_whole(row["rw_mix_read_pct"]),
        threads=_whole(row["threads"]),
        depth=_whole(row["qd_per_thread"]),
        metric=row["metric"],
        unit=row["unit"],
        value=value,
        span=(float(words[1]), float(words[2])) if words else span,
        relation=relation[1] if relation and row["use"] == "bound" else None,
        use=row["use"],
        note=note,
        source=row["source"],
    )


def _number(text: str) -> tuple[float, tuple[float, float] | None]:
    low, dash, high = text.partition("-")
    if dash and low:
        return (float(low) + float(high)) / 2, (float(low), float(high))
    return float(text), None


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
