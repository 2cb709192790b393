"""The CPU time in which Chromium draws every chart of a report that compares default reviews of two drive models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bench.cases import commands
from bench.pairs import Estimate
from bench.results import Finding, Row
from bench.settings import Settings, note

if TYPE_CHECKING:
    from playwright.sync_api import Browser

GOAL_MS = 3_000
WIDTHS = (400, 1600)


def drawn(settings: Settings) -> Finding:
    """Measure what the page's own thread spends from its opening until all charts are drawn that are not folded away.

    It is CPU time, because elapsed time includes what else runs on this machine.
    """
    # Only this case needs a browser.
    from playwright.sync_api import sync_playwright

    from tests.system import pages

    if pages.CHROMIUM is None:
        return Finding(skipped="there is no Chromium: apt-get install chromium-headless-shell")
    spent: dict[str, list[float]] = {}
    with commands.reviews() as folder, sync_playwright() as playwright:
        commands.run(f"report {' '.join(commands.DRIVES)} --output page.html", folder)
        browser = playwright.chromium.launch(executable_path=pages.CHROMIUM, args=["--no-sandbox"])
        for width in WIDTHS:
            label = f"a report of two, {width} wide"
            spent[label] = [spent_ms(browser, folder / "page.html", width) for _ in range(settings.pairs)]
            note(f"{label}: {', '.join(f'{one:.0f}' for one in spent[label])} ms")
        browser.close()
    medians = {label: Estimate.of(every_ms).median for label, every_ms in spent.items()}
    return Finding(
        rows=[
            Row(label, "ms of CPU", median, goal=f"< {GOAL_MS}", met=median < GOAL_MS)
            for label, median in medians.items()
        ],
        samples=spent,
    )


def spent_ms(browser: Browser, file: Path, width: int) -> float:
    """Return the CPU time of the page's thread, in milliseconds, once its charts are drawn."""
    from tests.system import pages

    context = pages.context(browser, viewport={"width": width, "height": 900})
    page = context.new_page()
    devtools = context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(file.as_uri())
    pages.draw(page)
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    context.close()
    return next(1000 * float(metric["value"]) for metric in metrics if metric["name"] == "TaskDuration")
