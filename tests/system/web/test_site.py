"""The pages as files: every link leads to a file, every chart is drawn, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from iogauge.cli import main
from tests.reviews import Drive, save
from tests.system.pages import PATIENCE_MS, context, needs_chromium
from tests.system.test_report_accessible import violations

pytestmark = needs_chromium

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    for name, drive in (("a", "Flash"), ("deep/b c", HOSTILE), ("left out", "Other")):
        path = directory / "reviews" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        save(path, Drive(drive, seconds=2, reads_a_second=200), pressures_MBps=(100, 300))
    saved = directory / "reviews"
    chosen = [f"--review={saved / name}" for name in ("a", "deep/b c")]
    assert main(["web", str(saved), "--export", str(directory / "site"), *chosen]) == 0
    return directory / "site"


def pages(site: Path) -> list[str]:
    return sorted(path.name for path in site.glob("*.html"))


def test_it_has_the_chosen_reviews_and_no_others(site: Path) -> None:
    assert {"index.html", "compare.html", "explore.html", "models.html"} <= set(pages(site))
    assert [name for name in pages(site) if name.startswith("review-")] == [
        "review-a.html",
        "review-deep-b-c.html",
    ]
    assert "Other" not in (site / "index.html").read_text()


def test_every_link_leads_somewhere(site: Path) -> None:
    for name in pages(site):
        text = (site / name).read_text()
        for address in re.findall(r'(?:href|src)="([^"#]*)', text):
            if address and not address.startswith("data:"):
                assert (site / address.partition("?")[0]).is_file(), (name, address)


def test_pages_work_from_a_disk_and_load_nothing_else(site: Path, browser: Browser) -> None:
    page = context(browser).new_page()
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", lambda dialog: wrong.append(dialog.message))
    page.on(
        "request",
        lambda request: (
            None if request.url.startswith(("file:", "data:", "blob:")) else wrong.append(request.url)
        ),
    )
    for name in ("index.html", "review-deep-b-c.html", "compare.html", "explore.html", "models.html"):
        page.goto((site / name).as_uri())
        if page.locator("[data-chart]").count():
            page.wait_for_selector("[data-chart] [data-plot] svg", timeout=PATIENCE_MS)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
    assert wrong == []


def test_pages_are_accessible(site: Path, browser: Browser) -> None:
    page = context(browser).new_page()
    for name in ("index.html", "review-a.html", "compare.html", "explore.html", "models.html"):
        page.goto((site / name).as_uri())
        if page.locator("[data-chart]").count():
            page.wait_for_selector("[data-chart] [data-plot] svg", timeout=PATIENCE_MS)
        assert violations(page) == [], name


def test_its_list_is_searched_without_a_server(site: Path, browser: Browser) -> None:
    page = context(browser).new_page()
    page.goto((site / "index.html").as_uri())
    rows = page.locator("tr[data-review]:visible")
    assert rows.count() == 2
    page.get_by_label("Search").fill("flash")
    assert rows.count() == 1
    assert page.locator("#count").inner_text() == "1 of 2 reviews"


def test_files_of_others_stay(site: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "site" / "index.html"
    own.parent.mkdir()
    own.write_text("mine")
    assert main(["web", str(site.parent / "reviews"), "--export", str(own.parent)]) != 0
    assert own.read_text() == "mine"
    assert "hint:" in capsys.readouterr().err


def test_a_directory_without_reviews_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["web", str(tmp_path), "--export", str(tmp_path / "site")]) != 0
    assert "no review is saved here" in capsys.readouterr().err
    assert not (tmp_path / "site").exists()
