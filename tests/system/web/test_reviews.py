"""The list of reviews in a browser: rows come where the reader is, filters as one types, choices stay."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from iogauge.store import Review
from iogauge.store.notes import read_notes, write_notes
from tests.reviews import Drive, save
from tests.system.pages import PATIENCE_MS, context, needs_chromium
from tests.system.test_report_accessible import violations
from tests.system.web.conftest import Open, Serve

pytestmark = needs_chromium

HOSTILE = "<img src=x onerror=alert(1)>"
REVIEWS = 450
ROWS = "tr[data-review]"
MOST_ROWS = 400


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many reviews of drives with different names, the newest of a hostile one; every tenth has a tag."""
    directory = tmp_path_factory.mktemp("store")
    model = directory / "0000"
    save(model, Drive(seconds=2, reads_a_second=100), pressures_MBps=(100, 300))
    manifest = Review.open(model).manifest
    for number in range(1, REVIEWS):
        name = HOSTILE if number == REVIEWS - 1 else f"Flash {number % 7}"
        targets = tuple(target.model_copy(update={"model": name}) for target in manifest.targets)
        created = f"2026-0{1 + number // 225}-{1 + number % 225 // 9:02d}T{number % 24:02d}:00:00+00:00"
        if number == REVIEWS - 1:
            created = "2026-09-01T00:00:00+00:00"
        path = directory / f"{number:04d}"
        Review.create(path, manifest.model_copy(update={"targets": targets, "created_at": created}))
        shutil.copytree(model / "steps", path / "steps", dirs_exist_ok=True)
        if number % 10 == 0:
            write_notes(path, f"#tenth number {number}")
    return directory


@pytest.fixture(scope="module")
def link(serve: Serve, store: Path) -> str:
    return serve(store, "--allow-start")


@pytest.fixture
def page(link: str, visit: Open) -> Page:
    return _listing(visit, link)


def _listing(visit: Open, link: str, **options: object) -> Page:
    page = visit(link, "/", **options)
    _wait_for_all(page)
    return page


def _wait_for_all(page: Page) -> None:
    """Wait until the index has every review with its figure."""
    heading = page.get_by_role("heading", name=f"{REVIEWS} reviews")
    while not heading.count() or page.locator(".list .figure small").count() < 50:
        page.reload()


def test_rows_come_where_the_reader_is_and_leave_again(page: Page) -> None:
    assert page.get_attribute("table", "aria-rowcount") == str(REVIEWS + 1)
    assert page.locator(ROWS).count() <= MOST_ROWS
    page.keyboard.press("End")
    last = page.locator(f'{ROWS}[aria-rowindex="{REVIEWS + 1}"]')
    expect(last).to_be_visible()
    assert page.locator(ROWS).count() <= MOST_ROWS
    expect(page.locator(f'{ROWS}[aria-rowindex="2"]')).to_have_count(0)
    page.keyboard.press("Home")
    expect(page.locator(f'{ROWS}[aria-rowindex="2"]')).to_be_visible()


def test_the_list_narrows_as_one_types_and_its_address_brings_it_back(page: Page) -> None:
    page.get_by_label("Search").press_sequentially("tenth 440")
    expect(page.locator("#count")).to_have_text("1 review matches")
    expect(page.locator(ROWS)).to_have_count(1)
    assert page.url.endswith("/?search=tenth+440")
    page.reload()
    expect(page.locator(ROWS)).to_have_count(1)
    page.get_by_role("link", name="Clear").click()
    expect(page.locator("#count")).to_have_text(f"{REVIEWS} reviews")


def test_choices_stay_while_scrolling_and_filtering_and_lead_to_a_comparison(page: Page) -> None:
    chosen = []
    for key in ("Home", "End"):
        page.keyboard.press(key)
        index = 3 if key == "Home" else REVIEWS
        row = page.locator(f'{ROWS}[aria-rowindex="{index}"]')
        row.get_by_role("checkbox").check()
        chosen.append(row.get_attribute("data-review"))
    page.get_by_label("Search").fill("nothing-has-this")
    expect(page.locator("#count")).to_have_text("0 reviews match")
    assert page.url.endswith("&".join(["/?search=nothing-has-this", *(f"review={name}" for name in chosen)]))
    page.reload()
    expect(page.locator("#chosen input:checked")).to_have_count(2)
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url(re.compile("/compare"))
    assert page.url.endswith("/compare?" + "&".join(f"review={name}" for name in chosen))
    expect(page.get_by_role("heading", name="Differences in setup")).to_be_visible()


def test_notes_are_written_by_the_keyboard_alone(page: Page, store: Path) -> None:
    button = page.get_by_role("button", name="Edit notes of 0440")
    page.get_by_label("Search").fill("tenth 440")
    expect(page.locator(ROWS)).to_have_count(1)
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Control+End")
    page.keyboard.type(f" #later {HOSTILE}")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("link", name="#later")).to_be_visible()
    assert read_notes(store / "0440").text == f"#tenth number 440 #later {HOSTILE}"
    assert page.evaluate("document.activeElement.hasAttribute('data-edit')"), "where the reader was"
    assert page.locator(".list img").count() == 0


def test_without_scripts_pages_lead_on_and_choices_stay(browser: Browser, page: Page) -> None:
    signed_in = page.context.storage_state()
    origin = page.url
    page = context(browser, java_script_enabled=False, storage_state=signed_in).new_page()
    page.goto(origin)
    expect(page.locator(ROWS)).to_have_count(100)
    first = page.locator(ROWS).nth(0).get_attribute("data-review")
    page.locator(ROWS).nth(0).get_by_role("checkbox").check()
    page.get_by_role("button", name="Filter").click()
    page.get_by_role("link", name="Next 100").click()
    expect(page.locator(f'{ROWS}[aria-rowindex="102"]')).to_be_visible()
    expect(page.locator("#chosen input:checked")).to_have_value(first or "")


@pytest.mark.parametrize("width", [390, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everyone_can_read_it(link: str, visit: Open, width: int, scheme: str) -> None:
    page = _listing(visit, link, viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
    page.locator(ROWS).nth(1).get_by_role("checkbox").check()
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("[data-edit]").nth(0).click()
    expect(page.get_by_role("dialog")).to_be_visible()
    assert violations(page) == []


def test_a_saved_list_asks_for_nothing(page: Page, tmp_path: Path) -> None:
    with page.expect_download(timeout=PATIENCE_MS) as saving:
        page.get_by_role("link", name="Save as one file").click()
    file = tmp_path / "reviews.html"
    saving.value.save_as(file)
    requested: list[str] = []
    page.on("request", lambda request: requested.append(request.url))
    page.goto(file.as_uri())
    expect(page.locator(ROWS)).to_have_count(REVIEWS)
    assert requested == [file.as_uri()]
