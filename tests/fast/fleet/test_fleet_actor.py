"""Calls of a host by its actor: in which of its threads they run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from iogauge.fleet.dask.actor import DaskLink, HostActor

pytest.importorskip("distributed")


class BusyHost:
    """A host that reads until a test lets it go on; it begins after that."""

    def __init__(self) -> None:
        self.reads = threading.Event()
        self.goes_on = threading.Event()
        self.done: list[str] = []

    def read(self) -> None:
        self.reads.set()
        self.goes_on.wait()
        self.done.append("read")

    def begin(self) -> None:
        self.done.append("begin")

    def stop(self) -> None:
        self.done.append("stop")

    def renew(self) -> None:
        self.done.append("renew")


class Worker:
    """Runs the methods of an actor as a worker of Dask does: one after the other, coroutines in its event loop."""

    def __init__(self, actor: HostActor, thread: ThreadPoolExecutor) -> None:
        self._actor = actor
        self._thread = thread

    def ask(self, method: str) -> asyncio.Future[Any]:
        return asyncio.get_running_loop().run_in_executor(self._thread, self._actor.ask, method)

    async def ask_short(self, method: str) -> Any:
        return await self._actor.ask_short(method)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """Return an event loop that a thread runs."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def test_a_host_that_is_busy_is_stopped_now_and_again_after_what_came_before(
    tmp_path: Path, loop: asyncio.AbstractEventLoop
) -> None:
    host = BusyHost()
    actor = HostActor("x", str(tmp_path))
    actor._host = host  # type: ignore[assignment]
    with ThreadPoolExecutor(1) as thread:
        placed: asyncio.Future[Worker] = asyncio.Future(loop=loop)
        loop.call_soon_threadsafe(placed.set_result, Worker(actor, thread))
        client = SimpleNamespace(loop=SimpleNamespace(asyncio_loop=loop), submit=lambda *_, **__: placed)
        link = DaskLink("x", client, "tcp://127.0.0.1:1")  # type: ignore[arg-type]
        read = link.call("read")
        host.reads.wait()
        begun = link.call("begin")
        renewed = link.call("renew")
        link.call("stop").result(timeout=600)
        renewed.result(timeout=600)
        # It is not stopped before a renewal that was sent before.
        assert host.done == ["renew", "stop"]
        host.goes_on.set()
        read.result(timeout=600)
        begun.result(timeout=600)
    assert host.done == ["renew", "stop", "read", "begin", "stop"]
