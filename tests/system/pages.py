"""Reports to look at in headless Chromium: the kinds of reviews that there are, small, and how a page is opened."""

from __future__ import annotations

import fcntl
import os
import shutil
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from iogauge.cli import main

# The headless shell draws no window, so a page costs a third of the CPU time.
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None
)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="there is no Chromium: apt-get install chromium-headless-shell"
)

PATIENCE_MS = 600_000
"""A busy machine may need this long for what an idle one does in a second."""

LONGEST_KIND = "a default review"
"""It takes a minute to measure, and another to look at."""
KINDS = (
    LONGEST_KIND, "demo", "a comparison", "a SNIA test", "a suite of your own", "a search", "a minute", "for a use",
)  # fmt: skip

COMPARED = ("mixed", "queue-depth", "write-pressure")
"""The suites of the comparison."""
_QUICK = ("--seed=1", "--runtime=100ms")
_DEMO = ("model:p4800x", "model:p3700-800g")
_MEASURED = {
    "a default review": ("review", "model:p4800x"),
    "a comparison": ("review", "model:p4800x", "model:p3700", *(f"--suite={suite}" for suite in COMPARED)),
    "a default comparison": ("review", "model:p4800x", "model:p3700"),
    "a SNIA test": ("review", "model:p4800x", "--suite=pts-iops"),
    "a suite of your own": ("review", "model:p4800x", "--plan=examples/plan.toml"),
    "a search": ("find", "model:p4800x", "--limit=read.p99 < 100us"),
    "a minute": ("quick", "model:p4800x"),
    "for a use": ("review", "model:p4800x", "--for=wal"),
}


def report(kind: str, temporary: pytest.TempPathFactory) -> Path:
    """Return the page of a kind of report. The first process of pytest-xdist that needs it measures it for all."""
    base = temporary.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    folder = shared / f"report of {kind}"
    folder.mkdir(exist_ok=True)
    page = folder / "report.html"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not page.exists():
            _measure(kind, folder, page)
    return page


def _measure(kind: str, folder: Path, page: Path) -> None:
    if kind == "demo":
        # As `make demo`: a file and two models under write pressure.
        targets = (f"{folder}/target.bin", *_DEMO)
        reviews = [f"{folder}/{number}" for number, _ in enumerate(targets)]
        for target, output in zip(targets, reviews, strict=True):
            size = () if target.startswith("model:") else ("--size=16m",)
            measured = ["review", target, "--suite=write-pressure", *size, *_QUICK, f"--output={output}"]
            assert main(measured) == 0
    else:
        reviews = [f"{folder}/review"]
        assert main([*_MEASURED[kind], *_QUICK, f"--output={folder}/review"]) == 0
    assert main(["report", *reviews, f"--output={page}"]) == 0


def context(browser: Browser, **options: Any) -> BrowserContext:
    """Return a context with Playwright's options whose pages are waited for as long as a busy machine needs."""
    made = browser.new_context(**options)
    made.set_default_timeout(PATIENCE_MS)
    return made


def draw(page: Page) -> None:
    """Wait until every chart that is not folded away is drawn, as it is when one has read the page."""
    page.evaluate(
        """async (patience) => {
            const charts = [...document.querySelectorAll("[data-chart]")].filter((each) => each.checkVisibility());
            for (const chart of charts) {
                chart.scrollIntoView();
                const begun = performance.now();
                while (!chart.dataset.drawn) {
                    if (performance.now() > begun + patience) throw new Error(`${chart.dataset.chart} is not drawn`);
                    await new Promise(requestAnimationFrame);
                }
            }
        }""",
        PATIENCE_MS,
    )


def shown(
    browser: Browser,
    file: Path,
    width: int,
    height: int,
    *,
    scripts: bool = True,
    scheme: Literal["light", "dark"] = "light",
) -> Page:
    """Open a page in a window of this size, and wait until its first chart is drawn."""
    viewport = {"width": width, "height": height}
    page = context(browser, viewport=viewport, java_script_enabled=scripts, color_scheme=scheme).new_page()
    page.goto(file.as_uri())
    if scripts:
        page.wait_for_selector(".hero[data-drawn] svg")
    return page
