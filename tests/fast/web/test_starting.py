"""Starting reviews from pages: what is refused, what the user has to type, and the process that comes of it."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies

from iogauge.errors import IogaugeError, UsageError
from iogauge.index import Index
from iogauge.live import finding
from iogauge.live.finding import FeedInfo
from iogauge.store import Review
from iogauge.store.notes import read_notes
from iogauge.web import quiet
from iogauge.web.app import make_app
from iogauge.web.settings import Settings
from iogauge.web.starting import Starter, consent
from iogauge.web.starting import starter as starting
from iogauge.web.starting.consent import Consent
from iogauge.web.starting.requests import LONGEST, ReviewRequest
from tests import builders
from tests.fast.index.saved import STEPS, saved
from tests.fast.web.client import TOKEN, Client
from tests.fast.web.running import own_runtime

MODEL = {"targets": ["model:p4800x"], "suites": ["queue-depth"]}


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
def starter(store: Path, runtime: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Starter]:
    # On a busy machine a review may begin later than a page waits for it; its process ends or measures at some time.
    monkeypatch.setattr(starting, "BEGIN_S", float("inf"))
    made = Starter(store)
    yield made
    made.close()


@pytest.fixture
def client(store: Path, starter: Starter) -> Iterator[Client]:
    with Index.open(store) as index:
        settings = Settings(directory=store, token=TOKEN, allow_start=True)
        yield Client(make_app(settings, index, starter=starter))


def feed(*, virtual: bool) -> FeedInfo:
    return FeedInfo(1, 1, "mixed of /dev/sdx", None, (), (), virtual, 0.0, Path("none"))


# What a page may ask for.


def test_a_request_is_read_as_the_library_takes_it() -> None:
    request = ReviewRequest.read({**MODEL, "pace": "full", "size": " 4g ", "note": "a #tag", "use": []})
    assert request.options() == {"pace": "full", "suites": ("queue-depth",), "size": "4g"}
    assert (request.targets, request.note) == (("model:p4800x",), "a #tag")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": []}, "there is no target"),
        ({"targets": ["-x"]}, "the path has no directory"),
        ({"targets": "/dev/sdx"}, "is not a list"),
        ({"targets": ["/a"] * 33}, "is not a list"),
        ({"targets": ["/a\0"]}, "is not a text"),
        ({"suites": ["/tmp/mine.py"]}, "there is none of this name"),
        ({"use": ["/tmp/mine.toml"]}, "there is none of this name"),
        ({"pace": "slow"}, "there is none of this name"),
        ({"note": "a" * (LONGEST + 1)}, "is not a text"),
        ({"size": 4}, "is not a text"),
    ],
)
def test_what_a_page_may_not_ask_for(change: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        ReviewRequest.read({**MODEL, **change})
    assert refused.value.hint


JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers() | strategies.text(max_size=8),
    lambda inner: (
        strategies.lists(inner, max_size=3) | strategies.dictionaries(strategies.text(), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(
    strategies.dictionaries(
        strategies.sampled_from(["targets", "suites", "use", "pace", "size", "note"]),
        JSON | strategies.sampled_from([["/dev/null"], ["model:x"], "quick", ["mixed"]]),
    )
)
def test_any_json_is_a_request_or_is_refused(content: dict[str, Any]) -> None:
    with contextlib.suppress(UsageError):
        request = ReviewRequest.read(content)
        assert all(target.startswith(("/", "model:")) for target in request.targets)


# What a user has to type.

DRIVE = Consent("/dev/sdx", "Flash 9000", needs_serial=True, has_serial=True)


@pytest.fixture
def _serials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consent, "confirmations", lambda path: ("S3E4",) if path == "/dev/sdx" else (path,))


@pytest.mark.usefixtures("_serials")
@pytest.mark.parametrize(
    "typed", [{}, {"/dev/sdx": ""}, {"/dev/sdx": "s3e4"}, {"/dev/sdx": "/dev/sdx"}, {"x": "S3E4"}]
)
def test_content_is_given_up_by_the_serial_number_alone(typed: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="its content will be lost") as refused:
        consent.check([DRIVE], typed=typed, confirmed=True)
    assert "S3E4" not in f"{refused.value}{refused.value.hint}"


@pytest.mark.usefixtures("_serials")
def test_what_was_typed_is_what_the_review_may_destroy() -> None:
    typed = {"/dev/sdx": "S3E4", "/dev/other": "T1"}
    assert consent.check([DRIVE], typed=typed, confirmed=True) == ["S3E4"]
    file = Consent("/a", "", needs_serial=False, has_serial=False)
    assert consent.check([file], typed={}, confirmed=True) == []
    assert consent.check([file], typed={"/a": "/a"}, confirmed=True) == ["/a"]
    with pytest.raises(UsageError, match="confirm"):
        consent.check([DRIVE], typed=typed, confirmed=False)


def test_models_need_nothing_and_drives_that_are_written_do() -> None:
    writes = builders.step("a", 0, job_file="[a]\nrw=randwrite\nbs=4k\nruntime=1\ntime_based=1\nrate=1m\n")
    reads = builders.step("a", 0, job_file="[a]\nrw=randread\nbs=4k\nruntime=1\ntime_based=1\n")
    drive = builders.target("/dev/sdx", kind="block", size_bytes=10**12)

    def needed(step: Any, target: Any) -> list[Consent]:
        return consent.consents(builders.manifest([step], target=target))

    assert [part.needs_serial for part in needed(writes, drive)] == [True]
    assert needed(reads, drive) == []
    file = drive.model_copy(update={"kind": "file", "path": "/tmp/file"})
    assert [part.needs_serial for part in needed(writes, file)] == [False]


# What is refused before a process is started.


@pytest.mark.parametrize(
    ("running", "virtual", "refused"),
    [
        ([], False, False),
        ([feed(virtual=False)], False, True),
        ([feed(virtual=False)], True, True),
        ([feed(virtual=True)], True, False),
        ([feed(virtual=True)] * 2, True, True),
        ([feed(virtual=True)], False, True),
    ],
)
def test_one_real_measurement_runs_at_a_time(
    starter: Starter, monkeypatch: pytest.MonkeyPatch, running: list[FeedInfo], virtual: bool, refused: bool
) -> None:
    monkeypatch.setattr(starting, "feeds", lambda: running)
    if refused:
        with pytest.raises(IogaugeError, match="mixed of /dev/sdx") as error:
            starter._refuse_busy(virtual=virtual)
        assert error.value.hint == "wait until it has ended, or end it"
    else:
        starter._refuse_busy(virtual=virtual)


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """A file that ``stranger.py`` beside it makes when it is executed."""
    path = tmp_path / "mark"
    (tmp_path / "stranger.py").write_text(f"open({str(path)!r}, 'w').close()\n")
    return path


def of_a_stranger(starter: Starter, review: Path, suite: Path) -> None:
    """Save an incomplete review whose manifest names a file as the suite that prepares."""
    manifest = starter.plan(ReviewRequest.read(MODEL)).manifest
    (plan,) = manifest.plans
    change = {"suite": str(suite), "prepares": True}
    Review.create(review, manifest.model_copy(update={"plans": (plan.model_copy(update=change),)}))


@pytest.mark.parametrize("name", ["stranger.py", "stranger.toml"])
def test_a_review_runs_no_file_that_its_manifest_names(
    client: Client, starter: Starter, store: Path, mark: Path, name: str
) -> None:
    suite = mark.parent / name
    suite.write_text((mark.parent / "stranger.py").read_text())
    of_a_stranger(starter, store / "a", suite)
    client._app.state.web.index.refresh()  # type: ignore[attr-defined]
    page = client.get("/start?resume=a")
    assert f"has the suite {suite}" in page.text
    answer = client.post("/start/resume", {"review": "a", "confirmed": True})
    assert answer.status == 400
    assert f"has the suite {suite}" in answer.json["error"]
    assert "iogauge.review(resume=" in answer.json["hint"]
    assert not mark.exists()


@pytest.mark.slow
def test_the_process_runs_no_file_even_if_the_manifest_changes_meanwhile(
    starter: Starter, store: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_a_stranger(starter, store / "a", mark.parent / "stranger.py")
    monkeypatch.setattr(starting, "is_shipped", lambda _: True)
    # It may be seen to run before it refuses: then its end would not be waited for.
    monkeypatch.setattr(starting, "feeds", list)
    with pytest.raises(IogaugeError, match="among iogauge's own"):
        starter.resume(store / "a", typed={}, confirmed=True)
    assert not mark.exists()


def test_a_server_that_only_reads_starts_nothing(store: Path) -> None:
    with Index.open(store) as index:
        client = Client(make_app(Settings(directory=store, token=TOKEN), index))
        assert "--allow-start" in client.get("/start").text
        for name in ("plan", "run", "end", "resume"):
            answer = client.post(f"/start/{name}", MODEL)
            assert answer.status == 403
            assert "only reads" in answer.json["error"]


def test_a_get_changes_nothing(client: Client, store: Path) -> None:
    for name in ("plan", "run", "end", "resume"):
        assert client.get(f"/start/{name}?targets=model:p4800x").status == 405
    assert client.get("/start?targets=model:p4800x&suites=mixed&resume=../x").status == 200
    assert not list(store.glob("iogauge-*"))


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("plan", {"targets": ["/dev/null"]}, "character device"),
        ("plan", {**MODEL, "size": "lots"}, "size"),
        ("plan", {"targets": ["model:p4800x"], "suites": ["mixed"], "use": ["wal"]}, "chooses the suites"),
        ("run", {"targets": ["/nowhere/file"], "suites": ["mixed"], "confirmed": True}, "/nowhere"),
        ("run", {**MODEL, "destroy": ["a"]}, "destroy"),
        ("end", {"pid": 1, "start_ticks": 1}, "no measurement of process 1 is running"),
        ("end", {"pid": 1}, "start_ticks"),
        ("end", {"pid": True, "start_ticks": 1}, "pid"),
        ("resume", {"review": "../other"}, "there is no such review here"),
        ("resume", {"review": ["a"]}, "is not a text"),
    ],
)
def test_a_refusal_has_the_hint_of_the_command_line(
    client: Client, name: str, content: dict[str, Any], error: str
) -> None:
    answer = client.post(f"/start/{name}", content)
    assert answer.status == 400
    assert error in answer.json["error"]
    assert answer.json["hint"]


def test_the_page_lists_what_can_be_resumed(client: Client, store: Path) -> None:
    saved(store / "half", run=STEPS[:1])
    saved(store / "done", run=STEPS)
    saved(store / "code", suite="/tmp/mine.py")
    client_index = client._app.state.web.index  # type: ignore[attr-defined]
    client_index.refresh()
    page = client.get("/start").text
    assert 'href="/start?resume=half"' in page
    assert 'href="/start?resume=done"' not in page
    assert "1 step on" in client.get("/start?resume=half").text
    assert "has the suite /tmp/mine.py" in client.get("/start?resume=code").text


def test_the_plan_says_what_a_review_takes_and_writes(client: Client) -> None:
    plan = client.post("/start/plan", MODEL).json
    assert plan["sentence"].startswith("28 steps; most likely 35 s of virtual time and 32 GB written")
    assert plan["steps"][0] == [
        "Queue depth on model:p4800x",
        "4 KiB random reads, 1 in flight",
        "1 s",
        "-",
        "-",
    ]
    assert plan["consents"] == []


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("warning: w\nerror: /dev/x: refused\nhint: add it\n", "/dev/x: refused", "add it"),
        ("error: first\nhint: no\nerror: last\n", "last", None),
        ("killed\n", "the review ended at once", "killed"),
    ],
)
def test_an_error_is_that_of_the_review(tmp_path: Path, text: str, message: str, hint: str | None) -> None:
    (tmp_path / "log").write_text(text)
    error = starting._failure(tmp_path / "log")
    assert (str(error), error.hint) == (message, hint)


# The process.


@pytest.mark.slow
def test_a_review_has_the_priority_and_the_cpus_of_the_servers_beginning_and_can_be_ended_and_resumed(
    starter: Starter, store: Path
) -> None:
    seen: list[Any] = []

    def serve() -> None:
        os.setpriority(os.PRIO_PROCESS, 0, quiet.NICE)
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        request = ReviewRequest.read(
            {**MODEL, "pace": "full", "suites": ["pts-iops"], "note": "a #tag; $(id)"}
        )
        begun = starter.start(request, typed={}, confirmed=False)
        seen.append(begun)
        seen.append((os.getpriority(os.PRIO_PROCESS, begun.pid), os.sched_getaffinity(begun.pid)))
        seen.append(os.getsid(begun.pid))

    before = os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0)
    thread = threading.Thread(target=serve)
    thread.start()
    thread.join()
    begun, of_child, session = seen
    assert begun.running
    assert of_child == before
    assert session == begun.pid
    assert begun.review.parent == store
    assert read_notes(begun.review).text == "a #tag; $(id)"
    (feed,) = finding.feeds()
    with pytest.raises(IogaugeError, match="no measurement"):
        starter.end(begun.pid, feed.start_ticks + 1)
    assert starter.end(begun.pid, feed.start_ticks).pid == begun.pid
    os.waitpid(begun.pid, 0)
    review = Review.open(begun.review)
    again = starter.resume(begun.review, typed={}, confirmed=False)
    assert again.running
    (feed,) = finding.feeds()
    starter.end(again.pid, feed.start_ticks)
    os.waitpid(again.pid, 0)
    assert Review.open(begun.review).manifest.id == review.manifest.id


@pytest.mark.slow
def test_a_review_that_is_refused_says_why(starter: Starter, tmp_path: Path) -> None:
    file = tmp_path / "mine.txt"
    file.write_text("mine")
    request = replace(ReviewRequest.read(MODEL), targets=(str(file),))
    with pytest.raises(IogaugeError, match="iogauge did not make it") as refused:
        starter.start(request, typed={}, confirmed=True)
    assert refused.value.hint
    assert file.read_text() == "mine"
