"""The views of models in a browser: a question from the form to its chart, everyone's use, and one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.system.pages import draw, needs_chromium
from tests.system.test_report_accessible import violations
from tests.system.web.conftest import Open, Serve

pytestmark = needs_chromium

QUESTION = "/models/p4800x?rw=randrw&bs=4k&iodepth=4&numjobs=1&requests=2000&set=media.turnaround_ns%3D0"


@pytest.fixture(scope="module")
def link(serve: Serve, tmp_path_factory: pytest.TempPathFactory) -> str:
    return serve(tmp_path_factory.mktemp("empty"))


def test_a_question_is_asked_by_the_form(visit: Open, link: str) -> None:
    page = visit(link, "/models")
    page.click("text=Intel Optane SSD DC P4800X 375GB")
    page.click("text=What if media.turnaround_ns were another")
    assert page.input_value("[name=set] >> nth=0") == "media.turnaround_ns=566"
    page.fill("[name=set] >> nth=0", "media.turnaround_ns=0")
    page.fill("[name=requests]", "2000")
    page.select_option("[name=rw]", "randrw")
    page.click("text=Run the model")
    page.wait_for_selector(".answer")
    assert "With media.turnaround_ns=0, the mean is" in page.inner_text(".answer")
    draw(page)
    assert page.locator("[data-chart=side-by-side] svg[role=img]").count() == 1
    assert "set=media.turnaround_ns" in page.url


def test_a_wrong_question_is_a_sentence_with_a_hint(visit: Open, link: str) -> None:
    page = visit(link, "/models/p4800x?rw=randread&set=media.chanels%3D3")
    assert "has no media.chanels" in page.inner_text(".problem")
    assert "hint: did you mean media.channels" in page.inner_text(".problem")
    assert page.input_value("[name=set] >> nth=0") == "media.chanels=3"


@pytest.mark.parametrize("address", ["/models", "/models/960evo-250g", QUESTION])
@pytest.mark.parametrize(
    ("width", "height", "scheme"),
    [(390, 844, "light"), (390, 844, "dark"), (1920, 1080, "light"), (1920, 1080, "dark")],
)
def test_the_page_fits_and_axe_finds_nothing(
    visit: Open, link: str, address: str, width: int, height: int, scheme: str
) -> None:
    page = visit(link, address, viewport={"width": width, "height": height}, color_scheme=scheme)
    draw(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.evaluate("for (const folded of document.querySelectorAll('details')) folded.open = true")
    assert violations(page, charts=False) == []


def test_one_file_draws_without_a_server(visit: Open, link: str, tmp_path: Path) -> None:
    page = visit(link, QUESTION)
    with page.expect_download() as download:
        page.click("text=Save as one file")
    file = tmp_path / "model.html"
    download.value.save_as(file)
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.goto(file.as_uri())
    draw(page)
    assert "With media.turnaround_ns=0, the mean is" in page.inner_text(".answer")
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
