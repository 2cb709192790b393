"""The page in headless Chromium: what it draws, how its controls work, and that it requests nothing.

The report compares two drives, as `iogauge report` makes it. The bound of its size is a goal of the project.
"""

from __future__ import annotations

import base64
import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

from iogauge.cli import main
from tests import reviews
from tests.reviews import Drive
from tests.system import pages
from tests.system.pages import needs_chromium

MOST_BYTES = 5_000_000
WIDTHS = (400, 1600)
READABLE = 4.5
"""WCAG 2.1, 1.4.3: contrast of text to its background."""
HOSTILE = "<img src=x onerror=window.hacked=1>"

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pages.report("a comparison", tmp_path_factory)


class Opened:
    """A page in the browser, and what went wrong in it or left it."""

    def __init__(self, context: BrowserContext, file: Path) -> None:
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self.page: Page = context.new_page()
        self.page.on("console", self._add_message)
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.on("request", self._add_request)
        self.page.goto(file.as_uri())

    def _add_message(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.troubles.append(message.text)

    def _add_request(self, request: Request) -> None:
        self.requests.append(request.url)

    def drawn(self) -> None:
        """Wait until every chart that is not folded away is drawn, as it is when one has read the page."""
        pages.draw(self.page)


def opened(browser: Browser, file: Path, *, width: int = 1280, dark: bool = False) -> Opened:
    scheme = "dark" if dark else "light"
    context = pages.context(browser, viewport={"width": width, "height": 900}, color_scheme=scheme)
    return Opened(context, file)


@pytest.mark.parametrize(
    "kind", ["a comparison", pytest.param("a default comparison", marks=pytest.mark.release)]
)
def test_the_file_is_small_enough_to_send(kind: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert pages.report(kind, tmp_path_factory).stat().st_size < MOST_BYTES


@pytest.mark.parametrize("width", WIDTHS)
def test_all_charts_are_drawn_within_the_page_and_nothing_goes_wrong(
    browser: Browser, file: Path, width: int
) -> None:
    view = opened(browser, file, width=width)
    view.drawn()
    view.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    view.drawn()
    marks = view.page.evaluate(
        """() => Object.fromEntries([...document.querySelectorAll("[data-chart]")].map((chart) => [
            chart.dataset.chart,
            chart.querySelectorAll("[data-plot] svg :is(.mark-symbol, .mark-line, .mark-rect) path").length,
        ]))"""
    )
    for suite in pages.COMPARED:
        kinds = ("percentiles", "over-time-1", "over-time-2", "heat-1", "heat-2")
        assert {f"{suite}-{kind}" for kind in kinds} <= set(marks)
        assert f"compared-1-{suite}-1" in marks
    assert [name for name, count in marks.items() if count < 2] == []
    assert view.page.evaluate("document.documentElement.scrollWidth") <= width
    # A chart is not wider than the place that it has.
    assert view.page.evaluate(
        """() => [...document.querySelectorAll("[data-plot]")]
            .filter((plot) => plot.querySelector("svg").getBoundingClientRect().width > plot.clientWidth + 1)
            .map((plot) => plot.parentElement.dataset.chart)"""
    ) == []  # fmt: skip
    assert view.troubles == []
    assert [url for url in view.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert [url for url in view.requests if url.startswith("file:")] == [file.as_uri()]


def test_findings_come_first_and_lead_to_their_ratios(browser: Browser, file: Path) -> None:
    page = opened(browser, file).page
    headline = page.locator(".headline a")
    first = page.locator("ol.sentences li").first
    assert headline.get_attribute("href") == f"#{first.get_attribute('id')}"
    # The headline is the finding without its remarks: its words, in their order.
    words = iter(first.inner_text().split())
    assert all(word in words for word in headline.inner_text().rstrip(".").split())
    assert "P3700 800 GB (model)" in headline.inner_text()
    link = page.locator("ol.sentences a[href^='#compared-1-']").first
    target = link.get_attribute("href")
    assert target is not None
    assert not page.locator(target).is_visible()
    link.click()
    page.wait_for_function("document.querySelector(':target').checkVisibility()")
    assert page.locator(f"{target} td").count() > 3


def test_a_forest_plot_shows_each_figure(browser: Browser, file: Path) -> None:
    page = opened(browser, file).page
    chart = page.locator("[data-chart=compared-1-mixed-1]")
    chart.scroll_into_view_if_needed()
    page.wait_for_selector("[data-chart=compared-1-mixed-1][data-drawn=iops] svg")
    points = ".mark-symbol[role='graphics-object'] path, .mark-symbol path"
    assert chart.locator(points).count() >= 11
    chart.locator("input[value=p99_ns]").check()
    page.wait_for_selector("[data-chart=compared-1-mixed-1][data-drawn=p99_ns] svg")
    assert "p99 of P3700 800 GB, model" in chart.locator("[data-title]").inner_text()


def test_controls_change_what_is_drawn(browser: Browser, file: Path) -> None:
    page = opened(browser, file).page
    chart = page.locator("[data-chart=queue-depth-1]")
    chart.scroll_into_view_if_needed()
    page.wait_for_selector("[data-chart=queue-depth-1][data-drawn=mean] svg")
    before = chart.locator("svg").inner_html()
    chart.locator("input[value=p99]").check()
    page.wait_for_selector("[data-chart=queue-depth-1][data-drawn=p99]")
    assert chart.locator("[data-title]").inner_text() == "4 KiB random reads: rate and p99 I/O latency"
    assert chart.locator("svg").inner_html() != before
    by_scale = {}
    for scale in ("linear", "log"):
        chart.locator(f"[data-control=scale] input[value={scale}]").check()
        page.wait_for_selector(f"[data-chart=queue-depth-1][data-scale={scale}]")
        by_scale[scale] = chart.locator("svg").inner_html()
    assert by_scale["linear"] != by_scale["log"]
    curves = page.locator("[data-chart=queue-depth-percentiles]")
    curves.scroll_into_view_if_needed()
    curves.locator("select").select_option(label="128 KiB sequential reads, 8 in flight")
    page.wait_for_selector("[data-chart=queue-depth-percentiles]:not([data-drawn=step-1])[data-drawn]")
    assert curves.locator("[data-title]").inner_text().endswith("128 KiB sequential reads, 8 in flight")


def test_charts_are_saved_from_the_page(browser: Browser, file: Path) -> None:
    page = opened(browser, file).page
    chart = page.locator("[data-chart=mixed]")
    for kind, begins in (("SVG", b"<svg"), ("PNG", b"\x89PNG"), ("CSV", b"drive,")):
        with page.expect_download() as download:
            chart.get_by_role("button", name=f"Save as {kind}").click()
        saved = Path(download.value.path()).read_bytes()
        assert saved.startswith(begins)
    assert "P4800X 375 GB, model" in saved.decode()


def test_the_keyboard_reaches_contents_and_controls(browser: Browser, file: Path) -> None:
    page = opened(browser, file).page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Contents"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    reached = set()
    for _ in range(120):
        reached.add(
            page.evaluate(
                "(document.activeElement.closest('nav') ? 'nav ' : '') + document.activeElement.tagName"
                " + ' ' + (document.activeElement.type || '')"
            )
        )
        page.keyboard.press("Tab")
    assert {"nav A ", "INPUT radio", "BUTTON button"} <= reached
    page.locator("[data-chart=queue-depth-1] input").first.focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("[data-chart=queue-depth-1][data-drawn=median]")
    page.locator("#queue-depth summary").first.focus()
    before = page.evaluate("document.activeElement.parentElement.open")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.parentElement.open") is not before


def test_a_link_opens_what_it_leads_to(browser: Browser, file: Path) -> None:
    page = opened(browser, file).page
    row = page.locator("tr[id^=queue-depth-1-]").first
    assert not row.is_visible()
    page.get_by_text("All findings").click()
    page.locator("ul.sentences a[href^='#queue-depth-1-']").first.click()
    page.wait_for_function("document.querySelector(':target').checkVisibility()")
    assert page.locator(":target").is_visible()


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def test_contrast_is_reckoned_as_the_guidelines_do() -> None:
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("rgb(119, 119, 119)", "rgb(255, 255, 255)") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("dark", [False, True])
def test_text_can_be_read_on_its_background(browser: Browser, file: Path, dark: bool) -> None:
    view = opened(browser, file, dark=dark)
    view.drawn()
    colours: list[tuple[str, str, str]] = view.page.evaluate(
        """() => {
            const behind = (element) => {
                for (let each = element; each; each = each.parentElement) {
                    const colour = getComputedStyle(each).backgroundColor;
                    if (!colour.startsWith("rgba(0, 0, 0, 0")) return colour;
                }
                return "rgb(255, 255, 255)";
            };
            const words = "h1, h2, h3, h4, p, li, dt, dd, th, td, small, a, summary, legend, label span, button";
            const found = [...document.querySelectorAll(words)].filter((each) => each.textContent.trim());
            return [
                ...found.map((each) => [each.tagName, getComputedStyle(each).color, behind(each)]),
                ...[...document.querySelectorAll("[data-plot] svg text")]
                    .map((each) => ["text", getComputedStyle(each).fill, behind(each.closest("[data-plot]"))]),
            ];
        }"""
    )
    assert {name for name, _, _ in colours} >= {"H1", "TD", "text", "BUTTON"}
    assert {text for text in map(tuple, colours) if contrast(text[1], text[2]) < READABLE} == set()
    paper = view.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (luminance(paper) < 0.1) == dark


def test_it_prints_all_of_itself(browser: Browser, file: Path) -> None:
    view = opened(browser, file)
    view.drawn()
    printed = view.page.pdf(format="A4")
    assert printed.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) > 5
    # What was folded is folded again.
    assert (
        view.page.locator("#queue-depth details[open]").count()
        < view.page.locator("#queue-depth details").count()
    )


def test_without_scripts_it_can_be_read(browser: Browser, file: Path) -> None:
    context = pages.context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("[data-chart=queue-depth-1] svg").is_visible()
    assert not page.locator("[data-chart=queue-depth-1] button").first.is_visible()


def test_markup_in_a_name_stays_text(browser: Browser, tmp_path: Path) -> None:
    reviews.save(tmp_path / "r", Drive(HOSTILE, seconds=3, reads_a_second=200), pressures_MBps=(0, 100))
    assert main(["report", str(tmp_path / "r")]) == 0
    view = opened(browser, tmp_path / "r" / "report.html")
    view.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    view.drawn()
    assert view.page.locator("h1").inner_text() == HOSTILE
    assert view.page.evaluate("window.hacked") is None
    assert view.page.locator("img").count() == 0
    assert view.troubles == []


def test_markup_in_compared_names_stays_text(browser: Browser, tmp_path: Path) -> None:
    """A comparison's page, with published figures: names are in its charts, its tables and its legends."""
    for place, name in enumerate((HOSTILE, "B</script><b>")):
        drive = Drive(name, seconds=3, reads_a_second=200, base_us=80 / (1 + 3 * place))
        reviews.save(tmp_path / f"{place}", drive, pressures_MBps=(0, 100), seed=place)
    page = f"{tmp_path}/page.html"
    reviewed = [f"{tmp_path}/{place}" for place in (0, 1)]
    assert main(["compare", *reviewed, "published", "--format=html", f"--output={page}"]) == 0
    view = opened(browser, Path(page))
    view.page.evaluate("for (const each of document.querySelectorAll('details')) each.open = true")
    view.drawn()
    assert view.page.evaluate("window.hacked") is None
    assert view.page.locator("img, main b:has-text('against')").count() == 0
    assert f"B</script><b> against {HOSTILE}" in view.page.locator("main h3").all_inner_texts()
    assert view.troubles == []
    assert [url for url in view.requests if not url.startswith(("file:", "data:", "blob:"))] == []


def test_a_picture_of_the_page_shows_ink(browser: Browser, file: Path) -> None:
    """Drawn marks may still be out of sight: the first chart's own pixels differ from its paper."""
    page = opened(browser, file).page
    page.wait_for_selector("[data-chart=queue-depth-1]")
    page.locator("[data-chart=queue-depth-1]").scroll_into_view_if_needed()
    page.wait_for_selector("[data-chart=queue-depth-1][data-drawn]")
    shot = base64.b64encode(page.locator("[data-chart=queue-depth-1] [data-plot]").screenshot()).decode()
    inked = page.evaluate(
        """async (shot) => {
            const image = new Image();
            image.src = `data:image/png;base64,${shot}`;
            await image.decode();
            const canvas = new OffscreenCanvas(image.width, image.height);
            const context = canvas.getContext("2d");
            context.drawImage(image, 0, 0);
            const { data } = context.getImageData(0, 0, image.width, image.height);
            let blue = 0;
            for (let at = 0; at < data.length; at += 4) blue += data[at + 2] > data[at] + 80;
            return blue;
        }""",
        shot,
    )
    assert inked > 200
