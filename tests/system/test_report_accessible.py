"""The page for everyone: WCAG 2.2 AA by axe-core, every control by keyboard alone, every chart's data as a table."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.system import pages
from tests.system.pages import needs_chromium, shown

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa")
GOOD_HABITS = ("heading-order", "empty-table-header", "page-has-heading-one", "region")
UNFOLD = "for (const folded of document.querySelectorAll('details')) folded.open = true"
# All tables of data, all drawings and the rows of a table are alike, and axe needs minutes for thousands of them.
UNFOLD_FOR_AXE = UNFOLD.replace("'details'", "'details:not([data-table]), .hero details'")
SHORTEN = "for (const body of document.querySelectorAll('tbody')) [...body.rows].slice(8).map((row) => row.remove())"
CONTROLS = "a[href], button, input, select, summary, [tabindex='0']"

pytestmark = needs_chromium


def violations(page: Page, *, charts: bool = True, rule: str | None = None) -> list[str]:
    """Return each violation: its rule, and the elements that break it.

    Without ``charts``, drawings are left out; with a ``rule``, the others.
    """
    context = None if charts else {"exclude": [["[data-plot]"]]}
    options: dict[str, object] = {
        "runOnly": {"type": "tag", "values": list(RULES)},
        "resultTypes": ["violations"],
    }
    if rule is None:
        options["rules"] = {habit: {"enabled": True} for habit in GOOD_HABITS}
    else:
        options["runOnly"] = {"type": "rule", "values": [rule]}
    violations = Axe().run(page, context=context, options=options).response["violations"]
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:200]} ({len(rule['nodes'])})" for rule in violations]


def test_axe_sees_what_is_wrong(browser: Browser) -> None:
    page = browser.new_page()
    page.set_content("<p style='color: #999; background: #fff'>pale</p><img src='data:,'>")
    broken = {violation.partition(":")[0] for violation in violations(page)}
    assert {"color-contrast", "image-alt", "document-title"} <= broken


OF_EVERY_PART = ("demo", "a comparison", "a SNIA test", "for a use")
"""Reports that together have every part of a page, but for the further panels of charts of the longest kind."""


def looked_at(*released: str) -> list[Any]:
    """Return the kinds to look at, of which some are left to a release: with many charts, they take minutes."""
    return [
        pytest.param(kind, marks=pytest.mark.release if kind in released else ())
        for kind in (*OF_EVERY_PART, pages.LONGEST_KIND)
    ]


LOOKED_AT = looked_at(pages.LONGEST_KIND)
LOOKED_AT_AGAIN = looked_at(pages.LONGEST_KIND, "a comparison")
"""In other colours and on a phone."""
NUMBERED = re.compile(r"layer_\d+_")
"""How the marks of a chart's layers are called; a chart of more layers has the same marks more often."""


class Parts(HTMLParser):
    """What a page is made of: which elements have which classes and attributes."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.feed(file.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            self.names.add(f"{tag}[{name}]")
            if name == "class":
                self.names |= {f"{tag}.{NUMBERED.sub('', word)}" for word in (value or "").split()}


def test_few_reports_have_every_part_of_the_others(tmp_path_factory: pytest.TempPathFactory) -> None:
    """So what is looked at in these alone is looked at in all but the longest, which a release looks at, too."""
    kinds = set(pages.KINDS) - {pages.LONGEST_KIND}
    parts = {kind: Parts(pages.report(kind, tmp_path_factory)).names for kind in kinds}
    few = set[str]().union(*(parts[kind] for kind in OF_EVERY_PART))
    assert "figure.hero" in few
    assert {kind: names - few for kind, names in parts.items() if names - few} == {}


def unfold(page: Page) -> None:
    page.evaluate(UNFOLD_FOR_AXE)
    page.wait_for_selector(".hero [data-table] td")
    page.evaluate(SHORTEN)


@pytest.mark.parametrize("report", LOOKED_AT, indirect=True)
def test_axe_finds_nothing_folded_or_unfolded(browser: Browser, report: Path) -> None:
    page = shown(browser, report, 1280, 720)
    assert violations(page) == []
    unfold(page)
    assert violations(page, charts=False) == []


@pytest.mark.parametrize("report", LOOKED_AT_AGAIN, indirect=True)
def test_the_dark_page_has_contrast(browser: Browser, report: Path) -> None:
    """A scheme changes only colours."""
    page = shown(browser, report, 1280, 720, scheme="dark")
    assert violations(page, rule="color-contrast") == []
    unfold(page)
    assert violations(page, charts=False, rule="color-contrast") == []


@pytest.mark.parametrize("report", LOOKED_AT_AGAIN, indirect=True)
def test_axe_finds_nothing_on_a_phone(browser: Browser, report: Path) -> None:
    assert violations(shown(browser, report, 390, 844)) == []


def test_the_keyboard_reaches_everything_and_shows_where_it_is(browser: Browser, report: Path) -> None:
    page = shown(browser, report, 1280, 720)
    # One of a group of radio buttons takes the focus; arrow keys choose among them.
    expected = page.evaluate(
        """(controls) => {
            const groups = new Set();
            const stops = [...document.querySelectorAll(controls)].filter((element) => {
                if (!element.checkVisibility()) return false;
                if (element.type !== "radio") return true;
                return !groups.has(element.name) && groups.add(element.name);
            });
            stops.forEach((element, index) => (element.dataset.stop = element.name || index));
            return stops.length;
        }""",
        CONTROLS,
    )
    reached, unseen = set(), []
    for _ in range(expected):
        page.keyboard.press("Tab")
        name, outlined, html = page.evaluate(
            """() => {
                const element = document.activeElement;
                const drawn = element.type === "radio" ? element.nextElementSibling : element;
                const { outlineStyle, outlineWidth } = getComputedStyle(drawn);
                const stop = element.type === "radio" ? element.name : element.dataset.stop;
                const outlined = outlineStyle !== "none" && parseFloat(outlineWidth) >= 2;
                return [stop, outlined, element.outerHTML.slice(0, 120)];
            }"""
        )
        reached.add(name)
        if not outlined:
            unseen.append(html)
    assert len(reached) == expected
    assert unseen == []


def test_the_data_of_every_chart_is_a_table_beside_it(browser: Browser, report: Path) -> None:
    page = shown(browser, report, 1280, 720)
    charts = page.locator("[data-chart]").count()
    tables = page.locator("[data-chart] > details[data-table]")
    assert tables.count() == charts > 0
    assert not page.locator("[data-table] table").first.is_visible()
    page.evaluate(UNFOLD)
    page.wait_for_function(
        "(all) => document.querySelectorAll('[data-table] tbody').length === all", arg=charts
    )
    rows = page.evaluate(
        "[...document.querySelectorAll('[data-table]')].map((each) => each.querySelectorAll('tbody tr').length)"
    )
    assert min(rows) > 0
    heads = page.evaluate("[...document.querySelectorAll('[data-table] th')].every((head) => head.scope)")
    assert heads
