"""Sends the events of a feed to browsers as server-sent events, each event once.

An event has its number as its id, which a browser names when it comes back: after a lost connection, or after the
server was started again, it gets what follows. One task for each feed looks whether its files have grown; each stream
reads on from its own place when its client has taken what came before. So a slow client holds up nobody but itself,
and the server keeps nothing for it.

Source: HTML Living Standard, section 9.2, "Server-sent events".
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from iogauge.live.places import AGAIN, Writer, directories, segments_in, why_not_private
from iogauge.live.reader import Reader

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from iogauge.live.reader import Event

MOST_STREAMS = 32
"""Streams at once."""
POLL_S = 0.2
"""How often a feed is looked at."""
BEAT_S = 10.0
"""The longest silence of a stream; then it says what watching costs."""
RETRY_MS = 1000
"""When a browser connects again after it lost the connection."""
PIECE_BYTES = 1 << 16
"""About how much is sent at once, before the client has to take it."""


@dataclass(frozen=True)
class Source:
    """A feed, by the process that writes it and its directory. The process may have ended."""

    directory: Path
    writer: Writer

    def reader(self) -> Reader:
        """Return a new reader of the feed, at its beginning."""
        return Reader(self.directory, self.writer)

    def size(self) -> tuple[int, int, bool]:
        """Return what changes when the feed grows or ends: its last segment, the bytes of that, whether it goes on."""
        number = max(self.writer.segments(self.directory), default=-1)
        with contextlib.suppress(OSError):
            return number, self.writer.segment(self.directory, number).stat().st_size, self.writer.is_running
        return number, 0, self.writer.is_running


def source_of(pid: int, start_ticks: int | None = None) -> Source | None:
    """Return the feed of a process; None if there is none. A process that has ended has one for a while.

    ``start_ticks``: when that process began; None: the last process that had this number.
    """
    sources = [
        Source(directory, writer)
        for directory in directories()
        if why_not_private(directory) is None
        for writer in {writer for writer, _ in segments_in(directory)}
        if writer.pid == pid and start_ticks in (None, writer.start_ticks)
    ]
    return max(sources, key=lambda source: source.writer.start_ticks, default=None)


class Streams:
    """The streams of a server, and the tasks that look at their feeds. Used in one event loop."""

    def __init__(self) -> None:
        self._growths: dict[Source, _Growth] = {}
        self._cost = _Cost()
        self.open = 0
        """How many streams are open."""

    @property
    def full(self) -> bool:
        """Whether no more streams may be opened."""
        return self.open >= MOST_STREAMS

    @contextlib.contextmanager
    def following(self, source: Source) -> Iterator[_Growth]:
        """Have a feed looked at within the context, by one task however many streams there are."""
        growth = self._growths.get(source) or _Growth(source)
        self._growths[source] = growth
        growth.users += 1
        self.open += 1
        try:
            yield growth
        finally:
            self.open -= 1
            growth.users -= 1
            if not growth.users:
                growth.task.cancel()
                del self._growths[source]

    def cost(self) -> dict[str, Any]:
        """Return what watching costs: the server's share of a CPU, its nice value, and the number of streams.

        With it comes ``now``, since the browser's clock need not be that of the events.
        """
        return {
            "now": time.time(),
            "cpu_share": self._cost.share(),
            "nice": self._cost.nice,
            "streams": self.open,
        }


class _Growth:
    """Wakes the streams of one feed when it has grown."""

    def __init__(self, source: Source) -> None:
        self.users = 0
        self.next = asyncio.Event()
        """Is set at the next growth; after that, there is another."""
        self._source = source
        self.task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        size = None
        while True:
            if (now := self._source.size()) != size:
                size = now
                self.next.set()
                self.next = asyncio.Event()
            await asyncio.sleep(POLL_S)


class _Cost:
    """The CPU time of this process over the last seconds."""

    def __init__(self) -> None:
        self._at, self._cpu = time.monotonic(), time.process_time()
        self._share = 0.0

    def share(self) -> float:
        """Return the share of one CPU that this process used, over the last second at least."""
        at, cpu = time.monotonic(), time.process_time()
        if at - self._at >= 1:
            self._share = (cpu - self._cpu) / (at - self._at)
            self._at, self._cpu = at, cpu
        return self._share

    @property
    def nice(self) -> int:
        """The nice value of this process."""
        return os.getpriority(os.PRIO_PROCESS, 0)


class EventStream(Response):
    """The events of a feed that follow number ``after``, until it is over or the client leaves."""

    media_type = "text/event-stream"

    def __init__(self, streams: Streams, source: Source | None, after: int) -> None:
        super().__init__()
        del self.headers["content-length"]
        self._streams = streams
        self._source = source
        self._after = after

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request. Without a source, the answer says only that the feed is over."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        if scope["method"] == "HEAD":
            await send({"type": "http.response.body", "body": b""})
            return
        sending = asyncio.create_task(self._send(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({sending, leaving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            sending.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
        if not sending.cancelled():
            sending.result()

    async def _send(self, send: Send) -> None:
        async def push(text: str) -> None:
            await send({"type": "http.response.body", "body": text.encode(), "more_body": True})

        await push(f"retry: {RETRY_MS}\n\n")
        if self._source is not None:
            await self._follow(self._source, push)
        await push(_written({"event": "over"}))
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _follow(self, source: Source, push: Any) -> None:
        reader, after = source.reader(), self._after
        spoken = 0.0
        with contextlib.closing(reader), self._streams.following(source) as growth:
            while True:
                growing = growth.next  # before the feed is read, so that no growth is missed
                running = source.writer.is_running
                events = await run_in_threadpool(reader.read, after)
                news = [event for event in events if event.get("seq", after + 1) > after]
                for piece in _pieces(news):
                    await push(piece)
                if news:
                    after = news[-1]["seq"]
                    if news[-1]["event"] == "end":
                        return
                    continue
                if not running:
                    return
                if time.monotonic() - spoken >= BEAT_S:
                    spoken = time.monotonic()
                    await push(f"event: cost\ndata: {json.dumps(self._streams.cost())}\n\n")
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(BEAT_S):
                        await growing.wait()


async def _left(receive: Receive) -> None:
    """Return when the client has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _pieces(events: list[Event]) -> Iterator[str]:
    """Yield the text of events in pieces of a bounded size."""
    piece: list[str] = []
    length = 0
    for event in events:
        piece.append(_written(event))
        length += len(piece[-1])
        if length >= PIECE_BYTES:
            yield "".join(piece)
            piece, length = [], 0
    if piece:
        yield "".join(piece)


def _written(event: Event) -> str:
    """Return one event of a stream; that of a gap has no id, nor has one that is repeated after a gap.

    >>> _written({"seq": 7, "event": "end"})
    'id: 7\\ndata: {"seq":7,"event":"end"}\\n\\n'
    """
    head = f"id: {event['seq']}\n" if "seq" in event and AGAIN not in event else ""
    return f"{head}data: {json.dumps(event, separators=(',', ':'))}\n\n"
