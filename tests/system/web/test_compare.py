"""The comparison in a browser: sides added, removed and turned round, its charts drawn, its page saved."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.reviews import Drive, save
from tests.system.pages import PATIENCE_MS, needs_chromium
from tests.system.test_report_accessible import violations
from tests.system.web.conftest import Open, Serve

pytestmark = needs_chromium

HOSTILE = "<img src=x onerror=alert(1)>"
TWO = "/compare?review=flash&review=slow"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two drives, one with a hostile name, and ten reviews of others."""
    directory = tmp_path_factory.mktemp("store")
    drive = Drive(seconds=6, reads_a_second=200)
    save(directory / "flash", drive, pressures_MBps=(100, 300))
    save(
        directory / "slow",
        replace(drive, model=HOSTILE, base_us=300.0),
        pressures_MBps=(100, 300),
        pace="full",
    )
    for number in range(10):
        other = replace(drive, model=f"Other {number}", seconds=2)
        save(directory / f"other-{number}", other, pressures_MBps=(100, 300), seed=number)
    return directory


@pytest.fixture(scope="module")
def link(serve: Serve, store: Path) -> str:
    return serve(store)


def _open(visit: Open, link: str, address: str, **options: object) -> Page:
    """Open a comparison, once the index has all of its reviews."""
    page = visit(link, address, **options)
    while page.locator(".problem").count() or not page.get_by_role("heading", name="Figures").count():
        page.reload()
    return page


def test_a_comparison_is_made_from_the_search_and_turned_round(visit: Open, link: str) -> None:
    page = _open(visit, link, TWO)
    page.get_by_text("Add a review").click()
    page.get_by_label("Drive, host, suite").fill("other-3")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="Add Other 3").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Other 3")
    page.get_by_role("link", name="Make baseline other-3").click()
    expect(page.get_by_text("A is Other 3, B is Flash 9000.")).to_be_visible()
    page.get_by_role("link", name="Remove slow").click()
    expect(page.locator(".sides li")).to_have_count(2)
    assert page.url.endswith("/compare?review=flash&review=other-3&baseline=other-3")


def test_the_chart_is_drawn_and_its_figure_chosen(visit: Open, link: str) -> None:
    page = _open(visit, link, TWO)
    chart = page.locator("[data-chart]")
    chart.scroll_into_view_if_needed()
    page.locator("[data-chart][data-drawn=mean_ns] svg[role=img]").wait_for()
    chart.get_by_role("radio", name="p99", exact=True).check()
    page.locator("[data-chart][data-drawn=p99_ns] svg[role=img]").wait_for()
    page.get_by_role("link", name="100 MB/s, mean").click()
    expect(page.locator("tr:target")).to_be_visible()
    assert page.locator("main img").count() == 0


def test_a_saved_comparison_draws_its_charts_and_asks_for_nothing(
    visit: Open, link: str, tmp_path: Path
) -> None:
    page = _open(visit, link, TWO)
    with page.expect_download(timeout=PATIENCE_MS) as saving:
        page.get_by_role("link", name="Save as one file").click()
    file = tmp_path / "comparison.html"
    saving.value.save_as(file)
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(file.as_uri())
    page.locator("[data-chart]").scroll_into_view_if_needed()
    page.locator("[data-chart][data-drawn] svg[role=img]").wait_for()
    assert requested == [file.as_uri()]


@pytest.mark.parametrize("width", [390, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "address", [TWO, "/compare?" + "&".join(f"review=other-{number}" for number in range(10))]
)
def test_everyone_can_read_it(visit: Open, link: str, address: str, scheme: str, width: int) -> None:
    page = _open(visit, link, address, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.evaluate(
        "for (const folded of document.querySelectorAll('details:not([data-table])')) folded.open = true"
    )
    if address == TWO:
        page.locator("[data-chart]").scroll_into_view_if_needed()
        page.locator("[data-chart][data-drawn] svg[role=img]").wait_for()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
