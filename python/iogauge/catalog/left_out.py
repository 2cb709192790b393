"""What the models show for published rows with and without their tables in the fit: rows of ``left_out.csv``.

``iogauge model compare --left-out`` makes the file. ``former.csv`` has what the models showed before 3D XPoint had
channels behind its pipe, as docs/accuracy.md said at that time: a row's number, the figure, and how the row was used.
Those models were run again for the rows from 251 on, which they had not seen.
"""

from __future__ import annotations

import csv
import functools
import io
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

FILE = Path(__file__).parent / "left_out.csv"
_FORMER = Path(__file__).parent / "former.csv"


@dataclass(frozen=True, kw_only=True)
class PredictedRow:
    """One published row. Its fields are the columns of the file."""

    row: int
    """The row's number in ``published_points.csv``."""
    source: str
    drive: str
    host: str
    figure: str
    unit: str
    published: float
    part: str
    """How the shipped models used it: ``fitted``, ``predicted``, ``stated`` or ``bound``."""
    fitted: float
    """What the shipped models show."""
    left_out: float
    """What models show that were fitted without the row's source."""
    models: str
    """A digest of the shipped models, the rows and the effort of the fits."""


@dataclass(frozen=True, kw_only=True)
class FormerFigure:
    """What the former models showed for a row."""

    row: int
    modelled: float
    part: str


def read(path: Path = FILE) -> list[PredictedRow]:
    """Return the rows of a file; none if it does not exist. Raises ValueError if it is no such file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        reader = csv.DictReader(lines)
        if reader.fieldnames is None:
            return []
        if list(reader.fieldnames) != [field.name for field in fields(PredictedRow)]:
            raise ValueError("its columns are others")
        return [
            PredictedRow(
                row=int(row["row"]),
                source=row["source"],
                drive=row["drive"],
                host=row["host"],
                figure=row["figure"],
                unit=row["unit"],
                published=float(row["published"]),
                part=row["part"],
                fitted=float(row["fitted"]),
                left_out=float(row["left_out"]),
                models=row["models"],
            )
            for row in reader
        ]


def text(rows: Iterable[PredictedRow]) -> str:
    """Return the text of a file, in the order of the published rows; reading it gives the same rows.

    >>> text([])[:17]
    'row,source,drive,'
    """
    out = io.StringIO(newline="")
    names = [field.name for field in fields(PredictedRow)]
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in sorted(rows, key=lambda row: row.row):
        writer.writerow([getattr(row, name) for name in names])
    return out.getvalue()


@functools.cache
def former() -> dict[int, FormerFigure]:
    """Return what the former models showed, by row.

    >>> former()[1].modelled
    584300.0
    """
    with _FORMER.open(encoding="utf-8", newline="") as lines:
        figures = [
            FormerFigure(row=int(row["row"]), modelled=float(row["modelled"]), part=row["part"])
            for row in csv.DictReader(lines)
        ]
    return {figure.row: figure for figure in figures}
