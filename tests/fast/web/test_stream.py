"""The stream of a feed's events: each once and in order, whoever is slow, leaves, or comes back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from iogauge.live.feed import Feed
from iogauge.live.places import Writer
from iogauge.schema import Direction, Job
from iogauge.web.following import stream
from iogauge.web.following.stream import EventStream, Source, Streams, source_of
from tests import builders, report_records
from tests.fast.live import feeds
from tests.fast.web.running import messages, own_runtime


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return own_runtime(tmp_path, monkeypatch)


class Client:
    """Reads a stream. It takes nothing while ``takes`` is cleared, and leaves when ``left`` is set."""

    def __init__(
        self, streams: Streams, source: Source | None, *, after: int = 0, method: str = "GET"
    ) -> None:
        self.takes, self.left = asyncio.Event(), asyncio.Event()
        self.takes.set()
        self.text = ""
        self.sent: list[Any] = []
        self._news = asyncio.Condition()
        response = EventStream(streams, source, after)
        self.task = asyncio.create_task(
            response({"type": "http", "method": method}, self._receive, self._send)
        )

    async def _receive(self) -> Any:
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        await self.takes.wait()
        self.sent.append(message)
        async with self._news:
            self.text += message.get("body", b"").decode()
            self._news.notify_all()

    async def until(self, part: str) -> None:
        """Wait until the stream has a text."""
        async with self._news:
            await self._news.wait_for(lambda: part in self.text)

    @property
    def numbers(self) -> list[int]:
        return [int(number) for number, _ in messages(self.text) if number is not None]


def begin(feed: Feed) -> None:
    feed.step("drive", expected_s=60)
    feed.started(report_records.plan([Job(name="reader")]))


def write(feed: Feed, first: int, last: int) -> None:
    """Write an interval of a second each."""
    for index in range(first, last):
        tally = builders.tally({50_000: 1_000 + index}, block_bytes=4096)
        feed.interval(builders.interval(index, {Direction.READ: tally}))


def run(scenario: Callable[[Streams], Awaitable[None]]) -> None:
    async def main() -> None:
        streams = Streams()
        await scenario(streams)
        assert streams.open == 0

    asyncio.run(main())


def own_source(runtime: Path) -> Source:
    return Source(runtime, Writer.of_this_process())


def test_each_event_comes_once_wherever_the_connection_broke(runtime: Path) -> None:
    with feeds.feed(runtime) as feed:
        begin(feed)
        write(feed, 0, 5)
    every = [event["seq"] for event in feeds.events(runtime)]

    async def scenario(streams: Streams) -> None:
        for seen in range(len(every)):
            client = Client(streams, own_source(runtime), after=seen)
            await client.task
            assert client.numbers == every[seen:]
            assert messages(client.text)[-1] == (None, {"event": "over"})

    run(scenario)


def test_events_come_as_they_are_written(runtime: Path) -> None:
    async def scenario(streams: Streams) -> None:
        with feeds.feed(runtime) as feed:
            begin(feed)
            client = Client(streams, own_source(runtime))
            await client.until('"rows"')
            assert '"interval"' not in client.text
            write(feed, 0, 1)
            await client.until('"interval"')
            assert not client.task.done()
        await client.task
        assert client.numbers == [event["seq"] for event in feeds.events(runtime)]
        assert messages(client.text)[-2][1]["outcome"] == "done"

    run(scenario)


def test_a_client_that_takes_nothing_holds_up_nobody_and_misses_nothing(
    runtime: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "PIECE_BYTES", 500)

    async def scenario(streams: Streams) -> None:
        with feeds.feed(runtime) as feed:
            begin(feed)
            slow = Client(streams, own_source(runtime))
            await slow.until('"rows"')
            slow.takes.clear()
            quick = Client(streams, own_source(runtime))
            write(feed, 0, 300)
            await quick.until('"start_s":299.0')
            assert '"interval"' not in slow.text
            slow.takes.set()
            await slow.until('"start_s":299.0')
        await asyncio.gather(slow.task, quick.task)
        assert slow.numbers == quick.numbers == [event["seq"] for event in feeds.events(runtime)]

    run(scenario)


def test_streams_of_a_feed_share_one_look_at_it_which_ends_with_them(runtime: Path) -> None:
    async def scenario(streams: Streams) -> None:
        with feeds.feed(runtime) as feed:
            begin(feed)
            before = asyncio.all_tasks()
            clients = [Client(streams, own_source(runtime)) for _ in range(3)]
            for client in clients:
                await client.until('"rows"')
            assert streams.open == 3
            watchers = [task for task in asyncio.all_tasks() - before if "_watch" in repr(task)]
            assert len(watchers) == 1
            for client in clients:
                client.left.set()
                await client.task
            await asyncio.gather(*watchers, return_exceptions=True)
            assert watchers[0].cancelled()

    run(scenario)


def test_the_feed_of_a_killed_process_is_over(runtime: Path) -> None:
    process = feeds.measuring()

    async def scenario(streams: Streams) -> None:
        source = source_of(process.pid)
        assert source is not None
        client = Client(streams, source)
        await client.until('"interval"')
        process.kill()
        process.wait()
        await client.task
        assert messages(client.text)[-1] == (None, {"event": "over"})
        assert '"outcome"' not in client.text

    run(scenario)


def test_events_that_are_gone_are_a_gap(runtime: Path) -> None:
    with feeds.feed(runtime, segment_bytes=4_000) as feed:
        begin(feed)
        write(feed, 0, 40)
    last = feeds.events(runtime)[-1]["seq"]

    async def scenario(streams: Streams) -> None:
        client = Client(streams, own_source(runtime), after=5)
        await client.task
        pairs = messages(client.text)
        (gap,) = [event for number, event in pairs if event["event"] == "gap"]
        assert gap["from"] == 6
        assert client.numbers == [*range(gap["to"] + 1, last + 1)]

    run(scenario)


def test_a_feed_that_is_not_there_is_over(runtime: Path) -> None:
    assert source_of(1) is None

    async def scenario(streams: Streams) -> None:
        client = Client(streams, None)
        await client.task
        assert messages(client.text) == [(None, {"event": "over"})]

    run(scenario)


def test_a_feed_is_found_by_its_process_and_when_that_began(runtime: Path) -> None:
    with feeds.feed(runtime):
        own = Writer.of_this_process()
        assert source_of(own.pid) == source_of(own.pid, own.start_ticks) == Source(runtime, own)
        assert source_of(own.pid, own.start_ticks + 1) is None
        runtime.chmod(0o755)
        assert source_of(own.pid) is None


def test_a_stream_says_what_watching_costs(runtime: Path) -> None:
    async def scenario(streams: Streams) -> None:
        with feeds.feed(runtime) as feed:
            begin(feed)
            client = Client(streams, own_source(runtime))
            await client.until("event: cost\n")
            client.left.set()
            await client.task
        cost = streams.cost()
        assert cost["cpu_share"] >= 0
        assert cost["streams"] == 0

    run(scenario)


def test_a_question_for_the_head_gets_no_events(runtime: Path) -> None:
    async def scenario(streams: Streams) -> None:
        with feeds.feed(runtime):
            client = Client(streams, own_source(runtime), method="HEAD")
            await client.task
            assert client.text == ""
            assert [message["type"] for message in client.sent] == [
                "http.response.start",
                "http.response.body",
            ]

    run(scenario)
