"""Starting a review from the pages, in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import expect

from iogauge.store import Review
from tests.system.pages import needs_chromium
from tests.system.web.conftest import Open, Serve

pytestmark = needs_chromium


@pytest.mark.slow
def test_a_review_is_planned_started_and_ended_from_the_pages(
    serve: Serve, visit: Open, tmp_path: Path
) -> None:
    link = serve(tmp_path, "--allow-start")
    page = visit(link, "/start?targets=model:p4800x&suites=pts-iops&pace=full")
    while True:  # until what other tests measure lets it
        page.get_by_role("button", name="Plan").click()
        expect(page.locator("#plan-sentence")).to_contain_text("virtual time")
        page.locator("#run button").click()
        page.wait_for_function(
            "() => location.pathname.startsWith('/live/') || document.querySelector('.said.failed')"
        )
        if "/live/" in page.url:
            break
        expect(page.locator("[data-said]")).to_contain_text("disturb each other")
    page.get_by_role("button", name="End; resume later").click()
    expect(page.get_by_role("link", name="Open its report")).to_be_visible()
    page.get_by_role("link", name="Open its report").click()
    expect(
        page.get_by_text("no report yet").or_(page.get_by_text("steps are complete")).first
    ).to_be_visible()
    (path,) = [path for path in tmp_path.iterdir() if path.name.startswith("iogauge-")]
    assert Review.open(path).manifest.pace == "full"
