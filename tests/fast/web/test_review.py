"""The view of one review: its report in a frame, why there is none, and what is kept of it."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from iogauge.index import Index
from iogauge.library.reading.report import read_report, written
from iogauge.store.notes import write_notes
from iogauge.text.option import command_line
from iogauge.web import reports
from iogauge.web.app import make_app
from iogauge.web.export import _review_files
from iogauge.web.settings import Settings
from tests.fast.index.saved import STEPS, complete, saved
from tests.fast.live import feeds
from tests.fast.web.client import TOKEN, Client
from tests.fast.web.running import own_runtime

HOSTILE = '<img src=x onerror="alert(1)"> & <!--iogauge:top-->'


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "run").mkdir()
    return own_runtime(tmp_path / "run", monkeypatch)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    directory = tmp_path / "store"
    directory.mkdir()
    return directory


@pytest.fixture
def served(store: Path, runtime: Path) -> Iterator[Callable[[], Client]]:
    """Call it when the reviews are there: it returns a browser."""
    with command_line(), Index.open(store) as index:  # as the command serves it
        app = make_app(Settings(directory=store, token=TOKEN), index)

        def client() -> Client:
            index.refresh()
            return Client(app)

        yield client


def test_the_report_stands_in_the_servers_frame(store: Path, served: Callable[[], Client]) -> None:
    saved(store / "a b", run=STEPS)
    answer = served().get("/review/a%20b")
    assert answer.status == 200
    assert re.search(r'<nav class="views".*<section class="about".*<h1>', answer.text, re.DOTALL)
    assert re.findall(r'<script src="/static/([a-z]+\.js)', answer.text) == [
        "address.js",
        "vega.js",
        "report.js",
    ]
    assert "iogauge:" not in answer.text
    assert 'href="/compare?review=a+b"' in answer.text
    # The server's headers say what may be loaded; the page's own policy would forbid the server's scripts.
    assert 'http-equiv="Content-Security-Policy"' not in answer.text
    assert not re.search(r"<script(?! src=| type=\"application/json\")", answer.text)


def test_texts_of_a_review_are_text(store: Path, served: Callable[[], Client]) -> None:
    review = saved(store / "<b>x", run=STEPS, model=HOSTILE)
    write_notes(review.path, f"{HOSTILE} #tag")
    page = served().get("/review/%3Cb%3Ex").text
    assert HOSTILE not in page
    assert "<img" not in page
    assert "#tag" in page
    assert page.count('<section class="about"') == 1


def test_one_file_is_the_librarys_own_report(store: Path, served: Callable[[], Client]) -> None:
    review = saved(store / "a", run=STEPS)
    answer = served().get("/review/a?save=1")
    assert answer.text == written(read_report([review.path]), format="html")
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''a.html"


def test_an_incomplete_review_says_how_it_is_completed(store: Path, served: Callable[[], Client]) -> None:
    saved(store / "a", run=STEPS[:1])
    page = served().get("/review/a").text
    assert "1 of 2 steps are complete" in page
    assert f"iogauge review --resume {store}/a</code>" in page


def test_a_review_without_complete_steps_has_a_sentence(store: Path, served: Callable[[], Client]) -> None:
    saved(store / "a")
    client = served()
    for target in ("/review/a", "/review/a?save=1"):
        page = client.get(target).text
        assert "No step of this review is complete, so it has no report yet" in page
        assert "iogauge review --resume" in page


def test_a_damaged_review_is_a_sentence_with_a_hint(store: Path, served: Callable[[], Client]) -> None:
    saved(store / "manifest", run=STEPS)
    (store / "manifest" / "manifest.json").write_text("{")
    review = saved(store / "step", run=STEPS)
    (review.step_path(STEPS[0]) / "totals.parquet").write_bytes(b"x")
    client = served()
    for name in ("manifest", "step"):
        answer = client.get(f"/review/{name}")
        assert answer.status == 200
        assert re.search(r'class="problem">.*damaged', answer.text)
        assert "hint: iogauge leaves no such file" in answer.text


def test_only_reviews_of_the_index_are_opened(store: Path, served: Callable[[], Client]) -> None:
    saved(store / "a", run=STEPS)
    client = served()
    targets = (
        "nothing", "..", "../store/a", "%2e%2e/store/a", "a/steps", "/etc", "a%00", "a/", "%ff", "a%2f..%2fa",
    )  # fmt: skip
    assert {target: client.get(f"/review/{target}").status for target in targets} == dict.fromkeys(
        targets, 404
    )


def test_the_served_directory_itself_can_be_a_review(store: Path, served: Callable[[], Client]) -> None:
    for part in saved(store / "a", run=STEPS).path.iterdir():
        part.rename(store / part.name)
    (store / "a").rmdir()
    answer = served().get("/review/")
    assert answer.status == 200
    assert 'href="/compare?review=."' in answer.text


def test_a_running_review_has_a_panel(store: Path, served: Callable[[], Client], runtime: Path) -> None:
    review = saved(store / "a", run=STEPS[:1])
    client = served()
    with feeds.feed(runtime, review=review.path) as feed:
        feed.step("70 %", expected_s=10, ahead=1)
        page = client.get("/review/a").text
        assert "Step 1 of 2: 70 %." in page
        assert "Open it on the Running page" in page
        assert "--resume" not in page.partition('<section class="about"')[2].partition("</section>")[0]
        assert "running.js" in page
    assert "running.js" not in client.get("/review/a").text


def test_a_saved_page_of_a_running_review_asks_no_server(
    store: Path, served: Callable[[], Client], runtime: Path
) -> None:
    review = saved(store / "a")
    client = served()
    with feeds.feed(runtime, review=review.path) as feed:
        feed.step("70 %", expected_s=10, ahead=1)
        page = client.get("/review/a?save=1").text
    assert "Step 1 of 2: 70 %." in page
    assert 'id="running"' not in page
    assert "EventSource" not in page


@pytest.mark.parametrize("kind", ["pipe", "link"])
def test_a_review_with_a_pipe_or_a_link_is_not_read(
    store: Path, served: Callable[[], Client], kind: str
) -> None:
    step = (review := saved(store / "a", run=STEPS)).step_path(STEPS[0])
    saved(store / "b", run=STEPS)
    client = served()
    (step / "totals.parquet").rename(store / "outside")
    os.mkfifo(step / "totals.parquet") if kind == "pipe" else (step / "totals.parquet").symlink_to(
        store / "outside"
    )
    review.path.joinpath("steps").touch()
    for target in ("/review/a", "/review/a?save=1", "/compare?review=a&review=b"):
        page = client.get(target).text
        assert "totals.parquet: neither a file nor a directory" in page
        assert "remove it" in page


def test_a_slow_report_holds_up_no_page_that_is_there(
    store: Path, served: Callable[[], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("quick", "slow"):
        saved(store / name, run=STEPS)
    client = served()
    client.get("/review/quick")
    began, go_on = threading.Event(), threading.Event()
    make = reports._framed

    def slow(review: Path) -> str:
        began.set()
        go_on.wait()
        return make(review)

    monkeypatch.setattr(reports, "_framed", slow)
    making = threading.Thread(target=client.get, args=("/review/slow",))
    making.start()
    began.wait()
    try:
        assert client.get("/review/quick").status == 200
    finally:
        go_on.set()
        making.join()


def counted(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Return the reviews whose page was made, in order."""
    made: list[Path] = []
    make = reports._framed
    monkeypatch.setattr(reports, "_framed", lambda review: made.append(review) or make(review))
    return made


def test_a_page_is_made_again_only_if_its_review_has_changed(
    store: Path, served: Callable[[], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = counted(monkeypatch)
    review = saved(store / "a", run=STEPS[:1])
    client = served()
    first = client.get("/review/a").text
    write_notes(review.path, "a note")
    assert "a note" in served().get("/review/a").text
    assert len(made) == 1
    complete(review, STEPS[1])
    assert served().get("/review/a").text != first
    assert len(made) == 2


def test_what_is_kept_is_bounded(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = counted(monkeypatch)
    paths = [saved(store / name, run=STEPS).path for name in "abc"]
    frame = reports.Frame(*(reports.Markup(""),) * 3)
    size = len(reports.Reports().framed(paths[0], frame))
    made.clear()
    kept = reports.Reports(most_bytes=5 * size // 2)
    for index in (0, 1, 0, 2, 0, 1):
        kept.framed(paths[index], frame)
    assert made == [paths[index] for index in (0, 1, 2, 1)]


def test_names_that_differ_in_case_alone_are_different_files() -> None:
    rows: list[Any] = [SimpleNamespace(id=name) for name in ("A", "a", "a/", "b c", "b-c")]
    files = [*_review_files(rows).values()]
    assert files == [
        "review-A.html",
        "review-a-2.html",
        "review-a-3.html",
        "review-b-c.html",
        "review-b-c-2.html",
    ]
