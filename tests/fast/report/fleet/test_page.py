"""The page of a fleet: one file with its charts and tables, in which names are never markup."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest

from iogauge.report.fleet.page import page
from tests.fast.report.fleet.made_up import empty, fleet


@pytest.fixture(scope="module")
def source() -> str:
    return page(fleet())


def test_the_answer_comes_first_then_the_picture_of_all_drives(source: str) -> None:
    headline = re.search(r'<p class="headline">(.*?)</p>', source)
    assert headline is not None
    assert unescape(headline[1]).startswith("1 host is slow: r4 (1.180x")
    assert source.index('class="headline"') < source.index('data-chart="fleet-drives"')
    assert "r7-nvme3" in source.partition("data-plot")[2].partition("</svg>")[0]


def test_names_are_text(source: str) -> None:
    assert "PM9A3 &lt;MZQL2&gt;" in source
    assert "&lt;schedutil&gt;" in source
    assert "<MZQL2>" not in source.partition('id="charts"')[0]


def test_every_chart_has_its_data(source: str) -> None:
    charts = re.findall(r'data-chart="([^"]+)"', source)
    assert charts == ["fleet-drives", "fleet-over-time", "fleet-starts"]
    embedded = re.search(r'<script type="application/json" id="charts">(.*?)</script>', source, re.DOTALL)
    assert embedded is not None
    data = json.loads(embedded[1])["charts"]
    assert {name: len(data[name]["values"]) for name in charts} == {
        "fleet-drives": 72,
        "fleet-over-time": 60,
        "fleet-starts": 18,
    }
    assert source.count("data-table") >= 3


def test_who_is_missing_is_named_with_the_way_to_complete_it(source: str) -> None:
    assert (
        "<strong>Missing: 1 of 10 hosts.</strong> r9 (lost: no answer for 10 s, 3 steps complete)." in source
    )
    assert "iogauge fleet review --resume saved" in source


def test_it_loads_nothing(source: str) -> None:
    assert "default-src 'none'; script-src 'sha256-" in source
    page_itself = source.partition("<script>")[0]
    assert not re.search(r'(?:src|href)="(?!#)', page_itself)


def test_a_fleet_without_figures_has_a_page_without_charts() -> None:
    source = page(empty())
    assert "data-chart" not in source.partition("<script")[0]
    assert "No drive was judged: no host has measured anything." in source
    assert "Missing: 10 of 10 hosts." in source
