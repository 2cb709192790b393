"""Running measurements in a browser: shown as they come, over a restart of the server, too."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from iogauge.live.finding import FeedInfo, feeds
from tests.system.pages import PATIENCE_MS, needs_chromium
from tests.system.test_report_accessible import violations
from tests.system.web.conftest import Open, Serve

pytestmark = needs_chromium

WITHIN_S = 1.0
"""From an interval's end to its pixel."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FeedInfo]:
    """A run on a file that goes on until the module ends."""
    folder = tmp_path_factory.mktemp("run")
    job = ["--name=x", "--filename=target.bin", "--size=16m", "--rw=randrw", "--bs=4k", "--iodepth=4"]
    limits = ["--ioengine=libaio", "--time_based=1", "--runtime=3600", "--rate_iops=500"]
    command = [sys.executable, "-m", "iogauge", "run", *job, *limits]
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        yield _feed_of(process)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def _feed_of(process: subprocess.Popen[bytes]) -> FeedInfo:
    """Wait until a process has a feed."""
    while True:
        assert process.poll() is None
        if own := [feed for feed in feeds() if feed.pid == process.pid]:
            return own[0]


def _drawn(page: Page, more: int = 1) -> None:
    """Wait until so many more intervals are drawn."""
    for _ in range(more):
        before = page.evaluate("document.body.dataset.drawn ?? ''")
        page.wait_for_function("(before) => (document.body.dataset.drawn ?? '') !== before", arg=before)


def _more(feed: FeedInfo) -> None:
    """Wait until a measurement has published two more intervals."""
    reader, seq, fresh = feed.reader(), 0, -1
    while fresh < 2:
        events = reader.read(seq)
        seq = events[-1]["seq"] if events else seq
        if fresh >= 0 or not events:
            fresh = max(fresh, 0) + sum(event["event"] == "interval" for event in events)
    reader.close()


def test_intervals_are_drawn_as_they_come(serve: Serve, visit: Open, store: Path, measured: FeedInfo) -> None:
    page = visit(serve(store), f"/live/{measured.pid}")
    _drawn(page, 3)
    expect(page.locator("#headline")).to_contain_text("Running: ")
    expect(page.locator("#figures")).to_contain_text("of 500 IOPS")
    assert page.locator("#iops canvas").count() == 1
    lit = page.evaluate(
        "() => { const heat = document.getElementById('heat');"
        " return heat.getContext('2d').getImageData(0, 0, heat.width, heat.height).data.some((part) => part); }"
    )
    assert lit
    # A page that has caught up draws each interval soon after its end. A busy machine may delay some of them.
    while not float(page.evaluate("document.body.dataset.lag")) < WITHIN_S:
        _drawn(page)


def test_the_display_can_be_paused_and_the_tables_opened(
    serve: Serve, visit: Open, store: Path, measured: FeedInfo
) -> None:
    page = visit(serve(store), f"/live/{measured.pid}")
    _drawn(page)
    page.get_by_text("Rates and quantiles as a table").click()
    expect(page.locator("#intervals tr").first).to_contain_text("Reads")
    page.get_by_text("Distribution of latency as a table").click()
    expect(page.locator("#bands tbody tr").first).to_be_visible()  # it is filled once it is open
    shares = page.locator("#bands tbody tr td:nth-of-type(1)").all_inner_texts()
    assert sum(float(share.strip("<% ") or 0) for share in shares) == pytest.approx(100, abs=2)
    page.get_by_role("button", name="Pause the display").click()
    drawn = page.evaluate("document.body.dataset.drawn")
    _more(measured)
    button = page.get_by_role("button", name="Continue the display")
    expect(button).to_have_attribute("aria-pressed", "true")
    assert page.evaluate("document.body.dataset.drawn") == drawn
    page.locator("#direction").select_option("write")
    expect(page.locator("#latency-title")).to_contain_text("Writes of x")
    button.click()
    _drawn(page)
    page.locator("#span").select_option("all")
    assert "span=all" in page.url


KEPT = """
() => {
  const { History, columns, MOST_INTERVALS } = window.iogauge;
  const history = new History();
  const rows = [{ stage: 0, row: 0, name: "x", asked_iops: {} }];
  const none = { bytes: 0, errors: 0, p50_ns: null, p999_ns: null, p9999_ns: null, bands: [] };
  const interval = (at, p99_ns) => {
    const directions = { read: { ...none, ios: 1, p99_ns } };
    history.add({ event: "interval", stage: 0, row: 0, start_s: at, end_s: at + 1, at, ramp: false, directions });
  };
  history.add({ event: "rows", rows });
  for (let at = 0; at < MOST_INTERVALS + 1; at += 1) interval(at, at === 7 ? 900 : at === 8 ? 1 : 100);
  const long = history.rows.get("x");
  const p99 = ({ directions }) => directions.read.p99_ns;
  const drawn = columns(long.intervals, [p99])[1];
  const joined = [long.halved, Math.max(...drawn), Math.max(...long.intervals.map(p99))];
  for (let at = 0; at < 2 * MOST_INTERVALS; at += 1) {
    history.add({ event: "rows", rows });
    interval(at, 100);
  }
  const apart = history.rows.get("x");
  return [...joined, apart.dropped, apart.intervals.length <= MOST_INTERVALS];
}
"""
"""Too many intervals with one peak, then too many steps of one interval each."""


def test_what_is_kept_is_bounded_and_loses_no_peak(
    serve: Serve, visit: Open, store: Path, measured: FeedInfo
) -> None:
    assert visit(serve(store), f"/live/{measured.pid}").evaluate(KEPT) == [1, 900, 900, True, True]


RESTED = """
() => {
  const { History } = window.iogauge;
  const history = new History();
  history.add({ event: "rows", rows: [{ stage: 0, row: 0, name: "x", asked_iops: {} }] });
  const figures = { ios: 10, bytes: 0, errors: 0, p50_ns: 1, p99_ns: 1, p999_ns: 1, p9999_ns: 1, bands: [[0, 10]] };
  const interval = (start_s, end_s, directions) =>
    history.add({ event: "interval", stage: 0, row: 0, start_s, end_s, at: end_s, ramp: false, directions });
  interval(0, 1, { read: figures });
  interval(1, 2, {});
  interval(2, 3, { read: figures });
  interval(3, 3.001, {});
  interval(3.001, 3.002, { read: figures });
  const { intervals, directions } = history.rows.get("x");
  return [directions, intervals.map(({ end_s, directions }) => [end_s, directions.read?.ios ?? 0])];
}
"""
"""A second in which nothing completed, and what is left at the end: without requests, then with some."""


def test_a_second_without_requests_is_kept_and_the_end_of_a_run_has_no_rate_of_its_own(
    serve: Serve, visit: Open, store: Path, measured: FeedInfo
) -> None:
    seen = visit(serve(store), f"/live/{measured.pid}").evaluate(RESTED)
    assert seen == [["read"], [[1, 10], [2, 0], [3.002, 20]]]


def test_the_page_keeps_its_figures_when_the_run_ends(
    serve: Serve, visit: Open, store: Path, tmp_path: Path
) -> None:
    job = ["--name=x", "--filename=target.bin", "--size=1m", "--rw=randread", "--ioengine=libaio"]
    command = [sys.executable, "-m", "iogauge", "run", *job, "--time_based=1", "--runtime=3600"]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    ) as process:
        page = visit(serve(store), f"/live/{_feed_of(process).pid}")
        _drawn(page, 2)
        process.send_signal(signal.SIGINT)
    expect(page.locator("#headline")).to_contain_text("interrupted")
    expect(page.locator("#latency-title")).to_contain_text("Reads of x")
    expect(page.locator("#figures")).to_contain_text("p99 of reads")
    expect(page.locator("#rows")).to_contain_text("Reads")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_live_page_is_accessible_and_fits(
    serve: Serve, visit: Open, store: Path, measured: FeedInfo, scheme: str
) -> None:
    for width in (390, 1920):
        link = serve(store)
        options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme, "bypass_csp": True}
        page = visit(link, f"/live/{measured.pid}", **options)
        _drawn(page)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert violations(page) == []


def test_a_page_goes_on_after_the_server_was_killed_and_misses_nothing(
    visit: Open, store: Path, measured: FeedInfo
) -> None:
    command = [sys.executable, "-m", "iogauge", "web", str(store)]

    def started(port: int) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen([*command, f"--port={port}"], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    server, link = started(0)
    page = visit(link, f"/live/{measured.pid}")
    page.evaluate(
        """() => {
            window.seen = [];
            const Native = JSON.parse;
            JSON.parse = (text) => {
                const value = Native(text);
                if (value?.seq) window.seen.push(value.seq);
                return value;
            };
        }"""
    )
    _drawn(page, 2)
    server.kill()
    server.wait()
    expect(page.locator("#connection")).to_contain_text("is lost")
    port = re.search(r":(\d+)/", link)
    assert port
    server, _ = started(int(port[1]))
    try:
        expect(page.locator("#connection")).to_be_empty(timeout=PATIENCE_MS)
        _drawn(page, 2)
        seen = page.evaluate("window.seen")
        assert seen == list(range(seen[0], seen[-1] + 1))
    finally:
        server.terminate()
        server.wait()
