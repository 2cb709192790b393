"""What the drive models reach at the positions of the profiles: rows of ``references.csv``, for scale beside a verdict.

Each row is a figure of a review at the quick pace with seed 1, of a model of the ``version`` that the row names. They
are modelled, never measured. ``python -m bench.references`` makes the file anew.
"""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from pathlib import Path

FILE = Path(__file__).parent / "references.csv"


@dataclass(frozen=True, kw_only=True)
class ModelledFigure:
    """One figure of a drive model. Its fields are the columns of the file."""

    model: str
    """The name of the drive model."""
    version: int
    """The version of the model's file."""
    suite: str
    series: str
    at: float
    metric: str
    """As ``results.figures`` names it."""
    value: float
    low: float | None
    high: float | None
    supported: bool
    long_enough: bool


@functools.cache
def modelled_figures() -> tuple[ModelledFigure, ...]:
    """Return all rows of the file.

    >>> sorted({figure.model for figure in modelled_figures()})[:2]
    ['9100max-2400g', '960evo-500g']
    """
    with FILE.open(encoding="utf-8", newline="") as lines:
        return tuple(_figure(row) for row in csv.DictReader(lines))


def _figure(row: dict[str, str]) -> ModelledFigure:
    return ModelledFigure(
        model=row["model"],
        version=int(row["version"]),
        suite=row["suite"],
        series=row["series"],
        at=float(row["at"]),
        metric=row["metric"],
        value=float(row["value"]),
        low=float(row["low"]) if row["low"] else None,
        high=float(row["high"]) if row["high"] else None,
        supported=row["supported"] == "True",
        long_enough=row["long_enough"] == "True",
    )
