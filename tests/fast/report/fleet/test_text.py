"""A fleet as text: one screen of 80 columns, and all of it."""

from __future__ import annotations

import pytest

from iogauge.cli.brief.fleet import LINES, fleet_lines
from iogauge.report.fleet.text import fleet_text
from iogauge.report.fleet.view import FleetView
from tests.fast.report.fleet.made_up import empty, fleet, healthy

LAST = ("everything: iogauge fleet show saved -v", "next: iogauge fleet report saved")
VIEWS = {"small": fleet(), "large": fleet(60, 24, 2), "healthy": healthy(), "empty": empty()}


@pytest.mark.parametrize("columns", [80, 200])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_everything_fits_the_screen(view: FleetView, columns: int) -> None:
    lines = fleet_lines(view, columns=columns, last=LAST)
    assert len(lines) <= LINES
    assert tuple(lines[-2:]) == LAST
    assert max(map(len, lines)) <= columns
    assert max(map(len, fleet_text(view, columns=columns).splitlines())) <= columns


def test_the_screen_begins_with_the_answer_and_counts_what_it_leaves_out() -> None:
    lines = fleet_lines(fleet(), columns=80, last=LAST)
    assert lines[0].startswith("1 host is slow: r4")
    assert "... 5 more rows" in lines
    assert "hosts differ in: kernel; governor" in lines


def test_all_of_it_has_every_drive_host_and_event() -> None:
    text = fleet_text(fleet(), columns=200)
    assert text.count("of a slow host") == 8
    assert "EPYC 7543" in text
    assert "kernel: 6.1.0-18 (8 of 10 hosts); 6.8.4 (r9, r10)" in text
    assert "02:03:20 r9 is lost: no answer for 10 s" in text


def test_a_narrow_terminal_keeps_what_matters() -> None:
    head = next(line for line in fleet_text(fleet()).splitlines() if line.startswith("drive "))
    figures = [word for figure in ("latency", "p99", "rate") for word in (figure, "/", "peers")]
    assert head.split() == ["drive", "host", "why", *figures]
