"""The page of a fleet in headless Chromium: its first screen, WCAG 2.2 AA by axe-core, and tables of its charts."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser

from iogauge.report.fleet.page import page
from iogauge.store.outputs import Claims, Existing
from tests.fast.report.fleet.made_up import fleet
from tests.system.pages import draw, needs_chromium, shown
from tests.system.test_report_accessible import SHORTEN, UNFOLD, UNFOLD_FOR_AXE, violations

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fleet") / "fleet.html"
    Claims().file(path, existing=Existing.KEEP).write(page(fleet(12)).encode())
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1920, 1080)])
def test_answer_and_picture_need_no_scrolling_and_axe_finds_nothing(
    browser: Browser, file: Path, width: int, height: int, scheme: Literal["light", "dark"]
) -> None:
    opened = shown(browser, file, width, height, scheme=scheme)
    for part in ("h1", ".headline", ".first .figures", ".hero [data-title]", ".hero [data-plot] svg"):
        box = opened.locator(part).bounding_box()
        assert box is not None, part
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width, (part, box)
        assert 0 <= box["y"] <= box["y"] + box["height"] <= height, (part, box)
    draw(opened)
    assert opened.evaluate("document.documentElement.scrollWidth") <= width
    assert violations(opened) == []
    opened.evaluate(UNFOLD_FOR_AXE)
    opened.wait_for_selector(".hero [data-table] td")
    opened.evaluate(SHORTEN)
    assert violations(opened, charts=False) == []


def test_outliers_are_named_in_both_pictures(browser: Browser, file: Path) -> None:
    opened = shown(browser, file, 1280, 720)
    hero = opened.locator(".hero")
    texts = hero.locator("[data-plot] svg text")
    assert {"host r4", "r7-nvme3"} <= set(texts.all_text_contents())
    hero.get_by_label("Against its rate").check()
    opened.wait_for_selector(".hero[data-drawn=rate] svg")
    assert {"host r4", "r7-nvme3"} <= set(texts.all_text_contents())
    assert "latency against rate" in hero.locator("[data-title]").inner_text()


def test_every_chart_has_its_data_as_a_table(browser: Browser, file: Path) -> None:
    opened = shown(browser, file, 1280, 720)
    charts = opened.locator("[data-chart]").count()
    assert opened.locator("[data-chart] > details[data-table]").count() == charts == 3
    opened.evaluate(UNFOLD)
    opened.wait_for_function(
        "(all) => document.querySelectorAll('[data-table] tbody').length === all", arg=charts
    )
    assert opened.locator("[data-chart=fleet-drives] tbody tr").count() == 88


def test_it_is_read_without_scripts(browser: Browser, file: Path) -> None:
    opened = shown(browser, file, 1280, 720, scripts=False)
    assert opened.locator("[data-chart=fleet-drives] svg").is_visible()
    assert opened.locator(".headline").inner_text().startswith("1 host is slow: r4")
