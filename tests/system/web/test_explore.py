"""The view that explores, in a browser: charts and what they are saved as, queries that are kept, everyone's use."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page

from tests import reviews
from tests.reviews import Drive
from tests.system.pages import PATIENCE_MS, draw, needs_chromium
from tests.system.test_report_accessible import violations
from tests.system.web.conftest import Open, Serve

pytestmark = needs_chromium

SMALL = {"seconds": 3, "reads_a_second": 400}
QUERY = "SELECT position, max(iops) AS iops FROM figures GROUP BY position ORDER BY position"


@pytest.fixture(scope="module")
def link(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("explored")
    reviews.save(directory / "a", Drive("Flash", **SMALL), pressures_MBps=(100, 400), repeats=2)
    reviews.save(
        directory / "b", Drive("Crosspoint", base_us=9, slope=0.05, **SMALL), pressures_MBps=(100, 400)
    )
    return serve(directory)


def explored(visit: Open, link: str, query: str = "", **options: object) -> Page:
    """Open the view when the index has the figures of both reviews."""
    page = visit(link, "/explore", **options)
    while "From 2 reviews." not in page.inner_text("main"):
        page.reload()
    if query:
        page.goto(page.url + query)
    return page


@pytest.mark.parametrize("query", ["", "?x=date", "?x=drive", f"?sql={quote(QUERY)}"])
@pytest.mark.parametrize(("width", "height"), [(390, 844), (1920, 1080)])
def test_the_chart_is_drawn_and_the_page_fits(
    visit: Open, link: str, query: str, width: int, height: int
) -> None:
    page = explored(visit, link, query, viewport={"width": width, "height": height})
    draw(page)
    assert page.locator("[data-plot] svg[role=img]").get_attribute("aria-label")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_chart_is_saved_as_svg_png_and_csv(visit: Open, link: str) -> None:
    page = explored(visit, link, "?metric=mean_ns")
    draw(page)
    saved = {}
    for kind in ("svg", "png", "csv"):
        with page.expect_download() as download:
            page.click(f"[data-save={kind}]")
        path = Path(download.value.path())
        saved[kind] = path.read_bytes()
        assert download.value.suggested_filename == f"mean_ns-position.{kind}"
    assert b"<svg" in saved["svg"]
    assert b"Crosspoint" in saved["svg"]
    assert saved["png"].startswith(b"\x89PNG")
    head, *rows = saved["csv"].decode().splitlines()
    assert head == "group,position,label,mean_us,mean_us_low,mean_us_high,runs,supported"
    assert len(rows) == 4


def test_the_form_makes_the_address_and_works_without_scripts(visit: Open, link: str) -> None:
    page = explored(visit, link, java_script_enabled=False)
    page.select_option("select[name=x]", "drive")
    page.select_option("select[name=metric]", "iops")
    page.click(".fields button")
    assert "x=drive" in page.url
    assert "metric=iops" in page.url
    assert "IOPS of reads at 100 MB/s" in page.inner_text(".headline")
    page.click("summary#table")
    assert "Crosspoint" in page.inner_text(".tall tbody")


def test_queries_are_kept_in_the_browser_and_removed(visit: Open, link: str) -> None:
    page = explored(visit, link)
    page.fill("#sql", QUERY)
    page.fill("#save-query input", "<b>mine</b>")
    page.click("#save-query button")
    assert page.inner_text("#own-queries a") == "<b>mine</b>"
    page.reload()
    page.click("#own-queries a")
    page.wait_for_url("**/explore?sql=*")
    assert "2 rows of 2 columns." in page.inner_text("main")
    assert page.input_value("#sql") == QUERY
    page.click("#own-queries button")
    assert page.locator("#own-queries li").count() == 0
    assert json.loads(page.evaluate("localStorage.getItem('iogauge queries')")) == []


def test_one_file_draws_without_a_server(visit: Open, link: str, tmp_path: Path) -> None:
    page = explored(visit, link)
    with page.expect_download() as download:
        page.click("text=Save as one file")
    file = tmp_path / "explore.html"
    download.value.save_as(file)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    draw(page)
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("query", ["", f"?sql={quote(QUERY)}", "?metric=nix"])
def test_axe_finds_nothing(visit: Open, link: str, scheme: str, query: str) -> None:
    page = explored(visit, link, query, color_scheme=scheme)
    page.set_default_timeout(PATIENCE_MS)
    draw(page)
    page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
    assert violations(page, charts=False) == []
