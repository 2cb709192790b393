"""The tables of a review in a terminal: they fit in 80 columns, with marks, wide positions and wide intervals."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.report.review_text import tables
from iogauge.results.review import load
from tests import reviews
from tests.reviews import Drive

HEAD = ["MB/s", "achieved", "read", "IOPS", "mean", "p50", "p99", "p99.9", "p99.99"]


def rows_of(path: Path, *, repeats: int, most_MBps: float = 12_345) -> list[str]:
    """Return the lines of the table of steps of a review in which high quantiles are marked."""
    few = Drive(seconds=2, reads_a_second=400)
    reviews.save(path, few, pressures_MBps=(0, 100, most_MBps), repeats=repeats)
    results = load([path])
    lines = tables(results, results[0].manifest).splitlines()[2:]
    return [line for line in lines if line.strip().startswith(("MB/s", "0 ", "100 ", f"{most_MBps:,.0f} "))]


@pytest.mark.parametrize("repeats", [1, 3])
def test_a_table_with_marks_and_wide_positions_fits(tmp_path: Path, repeats: int) -> None:
    rows = rows_of(tmp_path / "r", repeats=repeats)
    assert any("~" in row for row in rows)
    assert max(map(len, rows)) <= 80


def test_a_table_that_fits_is_in_one_part(tmp_path: Path) -> None:
    head, *steps = rows_of(tmp_path / "r", repeats=1, most_MBps=500)
    assert head.split() == HEAD
    assert len(steps) == 3


def test_latencies_of_a_wide_table_are_below_its_rates(tmp_path: Path) -> None:
    rows = rows_of(tmp_path / "r", repeats=3)
    rates, latencies = rows[: len(rows) // 2], rows[len(rows) // 2 :]
    assert rates[0].split() == HEAD[:4]
    assert latencies[0].split() == HEAD[:1] + HEAD[4:]
    assert [row.split()[0] for row in rates] == [row.split()[0] for row in latencies]
