"""What a spreadsheet would run stays text, and numbers stay numbers, in every CSV that iogauge writes."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.report.charts.data import Table
from iogauge.report.tables_text import csv_text
from iogauge.text.csv_cells import csv_of

FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "=",
    "-",
    "+1x",
    "-" + "1" * 10**5 + "x",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_quoted_by_every_writer(text: str) -> None:
    for written in (csv_text(pa.table({"drive": [text]})), Table.of([{"drive": text}]).csv()):
        _, (cell,) = list(csv.reader(io.StringIO(written, newline="")))
        assert cell == f"'{text}".replace("\r", " ")


@pytest.mark.parametrize("value", [-1, -1.5, 0, 7, 1e-9, "-5", "+3", "-1.5e-3", ".5"])
def test_a_number_stays_a_number(value: float | str) -> None:
    assert csv_of(["value"], [[value]]) == f"value\n{value}\n"


@given(st.lists(st.text(), min_size=1))
def test_no_cell_begins_a_formula(cells: list[str]) -> None:
    for cell in list(csv.reader(io.StringIO(csv_of(["a"] * len(cells), [cells]), newline="")))[-1]:
        try:
            float(cell)
        except ValueError:
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
