"""The view of what is running: the list, one measurement, and who may follow it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iogauge.live.state import State
from iogauge.schema import Direction, Job, PerDirection
from iogauge.web.app import make_app
from iogauge.web.following import stream, summary
from iogauge.web.settings import Settings
from iogauge.web.views import live
from tests import builders, report_records
from tests.fast.live import feeds
from tests.fast.web.client import TOKEN, Client
from tests.fast.web.running import messages, own_runtime

HOSTILE = "</script><script>alert(1)</script><b>"


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_runtime(tmp_path, monkeypatch)


@pytest.fixture
def client(runtime: Path) -> Client:
    return client_of()


def client_of(directory: Path = Path("/nowhere")) -> Client:
    return Client(make_app(Settings(directory=directory, token=TOKEN), None))  # type: ignore[arg-type]


@pytest.fixture
def measured(runtime: Path) -> Iterator[int]:
    """The process of a measurement that goes on, with hostile names."""
    jobs = [Job(name=HOSTILE, rate_iops=PerDirection(read=2_000, write=0, trim=0))]
    tally = builders.tally({50_000: 1_000}, block_bytes=4096)
    with feeds.feed(runtime, title=f"run of {HOSTILE}", targets=[HOSTILE]) as feed:
        feed.step(HOSTILE, expected_s=60)
        feed.started(report_records.plan(jobs))
        for second in range(3):
            feed.interval(builders.interval(second, {Direction.READ: tally}))
        feed.message(f"{HOSTILE} is slow\nhint: {HOSTILE}")
        yield os.getpid()


def data(text: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    content: dict[str, Any] = json.loads(text)
    return content


def test_without_measurements_the_list_says_so(client: Client) -> None:
    assert "No measurement is running" in client.get("/live").text


def test_the_list_has_what_runs_and_its_latest_rates(client: Client, measured: int) -> None:
    page = client.get("/live").text
    assert "One measurement is running" in page
    assert f'href="/live/{measured}"' in page
    assert "reads 1,000 IOPS, 4.096 MB/s" in page
    assert HOSTILE not in page


def test_the_page_reads_without_scripts(client: Client, measured: int) -> None:
    page = client.get(f"/live/{measured}").text
    assert HOSTILE not in page
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", page)
    assert cells[1:] == ["Reads", "1,000", "4.096", "50.0 µs", "50.0 µs", "50.0 µs", "50.0 % of 2,000", ""]
    assert re.search(r'id="headline">Running: .* About .* left\.', page)
    assert data(page)["events"] == []


def test_a_saved_page_has_the_events_and_asks_no_server(client: Client, measured: int) -> None:
    answer = client.get(f"/live/{measured}?save=1")
    assert "attachment" in answer.headers["content-disposition"]
    assert 'data-place="file"' in answer.text
    assert not re.search(r'(?:src|href)="/', answer.text)
    kinds = [event["event"] for event in data(answer.text)["events"]]
    assert kinds == ["begin", "step", "rows", "interval", "interval", "interval", "notice"]


def test_a_saved_page_of_many_events_has_those_that_explain_its_last_ones(
    client: Client, measured: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_KEPT", 2)
    events = data(client.get(f"/live/{measured}?save=1").text)["events"]
    assert [event["event"] for event in events] == ["begin", "step", "rows", "interval", "notice"]


def test_a_sum_goes_on_where_it_was_and_begins_anew_with_the_next_feed(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = stream.source_of
    read: list[int] = []
    add = State.add
    monkeypatch.setattr(State, "add", lambda state, event: read.append(event["seq"]) or add(state, event))
    with feeds.feed(runtime) as feed:
        feed.step("first", expected_s=60)
        of = source(os.getpid())
        assert of is not None
        before = summary.state_of(of)
        feed.step("second", expected_s=60)
        assert summary.state_of(of).step["label"] == "second"  # type: ignore[index]
        assert before.step["label"] == "first"  # type: ignore[index]
        assert read == sorted(set(read)), "each event is read once"
    assert summary.state_of(of).end is not None
    with feeds.feed(runtime) as feed:
        feed.step("third", expected_s=60)
        state = summary.state_of(of)
        assert (state.end, state.step["label"]) == (None, "third")  # type: ignore[index]


def test_the_stream_goes_on_where_the_browser_was(client: Client, runtime: Path) -> None:
    with feeds.feed(runtime) as feed:
        feed.step("drive", expected_s=60)
    every = [event["seq"] for event in feeds.events(runtime)]
    address = f"/live/{os.getpid()}/events"
    for target, headers, first in (
        (address, {}, 1),
        (f"{address}?after=2", {}, 3),
        (f"{address}?after=1", {"last_event_id": "3"}, 4),
        (f"{address}?after=x&start=y", {"last_event_id": "-1"}, 1),
    ):
        answer = client.get(target, **headers)
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-store"
        assert [int(number) for number, _ in messages(answer.text) if number] == every[first - 1 :]


def test_the_stream_of_another_process_with_that_number_is_over(client: Client, measured: int) -> None:
    answer = client.get(f"/live/{measured}/events?start=1")
    assert messages(answer.text) == [(None, {"event": "over"})]


def test_too_many_streams_are_refused(client: Client, measured: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream.Streams, "full", True)
    answer = client.get(f"/live/{measured}/events")
    assert answer.status == 503
    assert answer.json["hint"] == "close one of them"


@pytest.mark.parametrize("target", ["/live/1", "/live/99999999999999999999", "/live/x", "/live/1/2"])
def test_a_process_that_measures_nothing_has_no_page(client: Client, target: str) -> None:
    assert client.get(target).status == 404


def test_a_measurement_that_has_ended_says_how_and_leads_to_its_review(runtime: Path, tmp_path: Path) -> None:
    client = client_of(tmp_path)
    with feeds.feed(runtime, review=tmp_path / "saved here") as feed:
        feed.conclude("failed", "the drive vanished")
    page = client.get(f"/live/{os.getpid()}").text
    assert "It failed: the drive vanished." in page
    assert 'href="/review/saved%20here"' in page


def test_a_review_elsewhere_has_no_link(runtime: Path, tmp_path: Path) -> None:
    with feeds.feed(runtime, review=tmp_path.parent / "other"):
        assert "/review/" not in client_of(tmp_path).get(f"/live/{os.getpid()}").text


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "Step 2 of 9: 70 %. About 10 s left."),
        ({"more": True}, "Step 2 of 9 or more: 70 %. About 10 s left."),
        ({"search": True}, "A search: 70 %. About 10 s left."),
        ({"expected_s": None}, "Step 2 of 9: 70 %."),
        ({"steps": 1}, "Running: 70 %. About 10 s left."),
    ],
)
def test_the_sentence_says_where_it_is(changes: dict[str, Any], text: str) -> None:
    begin, step, *_ = feeds.measurement(steps=2)
    state = feeds.folded([begin, {**step, "number": 2, "steps": 9, "ahead_s": 0, **changes}])
    assert summary.sentence(state, 100.0, running=True) == text


def test_the_sentence_of_a_process_that_is_gone_says_so() -> None:
    state = feeds.folded(feeds.measurement())
    assert (
        summary.sentence(state, 200.0, running=False) == "Its process has ended without reporting an outcome."
    )


def test_a_review_has_an_id_only_below_the_directory(tmp_path: Path) -> None:
    assert summary.id_below(tmp_path, tmp_path / "a" / "b") == "a/b"
    assert summary.id_below(tmp_path, tmp_path) == "."
    assert summary.id_below(tmp_path, tmp_path.parent) == ""
    assert summary.id_below(tmp_path, None) == ""
