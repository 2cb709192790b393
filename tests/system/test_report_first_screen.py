"""The first screen in headless Chromium: the answer, its key figures and its chart are there without scrolling."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from iogauge.cli import main
from tests.system.pages import needs_chromium, shown

SIZES = ((1600, 900), (1280, 720), (390, 844))
FEWEST, MOST = 4, 6
LEGIBLE = 150
"""The least height of the chart's picture in pixels."""

pytestmark = needs_chromium


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_the_answer_its_figures_and_its_chart_need_no_scrolling(
    browser: Browser, report: Path, width: int, height: int
) -> None:
    page = shown(browser, report, width, height)
    for part in ("h1", ".headline", ".first .figures", ".hero [data-title]", ".hero [data-plot] svg"):
        box = page.locator(part).bounding_box()
        assert box is not None, part
        assert 0 <= box["x"] <= box["x"] + box["width"] <= width, (part, box)
        assert 0 <= box["y"] <= box["y"] + box["height"] <= height, (part, box)
    assert page.locator(".headline").inner_text().endswith(".")
    assert FEWEST <= page.locator(".first .figures > div").count() <= MOST
    assert page.locator(".hero [data-plot] svg").bounding_box()["height"] >= LEGIBLE  # type: ignore[index]
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_chart_of_the_first_screen_is_on_the_page_once(browser: Browser, report: Path) -> None:
    page = shown(browser, report, 1280, 720)
    name = page.locator(".hero").get_attribute("data-chart")
    assert page.locator(f"[data-chart='{name}']").count() == 1
    ids = page.evaluate("[...document.querySelectorAll('[id]')].map((each) => each.id)")
    assert len(set(ids)) == len(ids)


def test_findings_are_few_and_the_rest_is_folded(browser: Browser, report: Path) -> None:
    page = shown(browser, report, 1280, 720)
    lists = page.locator("ol.sentences")
    if page.get_by_text("The suite draws no conclusions.").count():
        assert lists.count() == 0
        return
    assert lists.count() == 1
    assert lists.locator("li").count() <= 7
    assert not page.locator("ul.sentences").first.is_visible()


def test_every_chart_has_its_data_as_a_table(browser: Browser, report: Path) -> None:
    page = shown(browser, report, 1280, 720)
    folded = page.locator(".hero [data-table]")
    assert folded.locator("tr").count() == 0
    folded.locator("summary").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector(".hero [data-table] td")
    assert folded.locator("thead th").first.inner_text() in ("drive", "suite", "choice")
    assert page.locator("[data-chart]").count() == page.locator("[data-table]").count()


def test_it_is_there_without_scripts(browser: Browser, report: Path) -> None:
    page = shown(browser, report, 1280, 720, scripts=False)
    assert page.locator(".headline").is_visible()
    assert page.locator(".hero svg").is_visible()


def test_its_markdown_is_short(report: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reviews = sorted(str(manifest.parent) for manifest in report.parent.glob("*/manifest.json"))
    capsys.readouterr()
    assert main(["report", *reviews, "--format=md"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("## ")
    assert "| 95 % interval |" in text
    assert len(text.encode()) <= 8000
