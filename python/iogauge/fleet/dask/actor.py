"""The one actor of a host, and the controller's link to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iogauge.fleet.clock import FEWEST_EXCHANGES, Exchange
from iogauge.fleet.control.link import LinkError, exchange_by_call
from iogauge.fleet.dask.echo import Echo, EchoClient, EchoPlace
from iogauge.fleet.host import Host

if TYPE_CHECKING:
    from distributed import Actor, Client


@dataclass(frozen=True)
class Answer:
    """What a method returned or raised. So an error of the host is never taken for one of the connection."""

    value: Any = None
    error: Exception | None = None


_LOOK_S = 1.0
"""How often a call checks that the worker is there, until it has the actor."""
_SHORT = frozenset({"renew", "start", "events"})
"""Methods that cannot wait until a long file is read or a drive answers: a lease would end, or a host seem to hang."""


class HostActor:
    """Holds a host's ``Host``; Dask runs its methods in a thread of the worker, one after the other.

    A second thread runs the methods in ``_SHORT``; ``stop`` runs in both.
    """

    def __init__(self, name: str, directory: str | None) -> None:
        self._host = Host(name, directory=None if directory is None else Path(directory))
        self._echo: Echo | None = None
        self._short = ThreadPoolExecutor(1, thread_name_prefix="iogauge-short")

    def echo(self, address: str) -> EchoPlace | None:
        """Answer questions for the clock at an address of this host; return where, None if it cannot."""
        if self._echo is None:
            try:
                self._echo = Echo(address, self._host.exchange)
            except OSError:
                return None
        return self._echo.place

    def ask(self, method: str, *arguments: Any) -> Answer:
        """Call a method of the host."""
        if method == "close" and self._echo is not None:
            self._echo.close()
            self._echo = None
        try:
            return Answer(getattr(self._host, method)(*arguments))
        except Exception as error:
            return Answer(error=error)

    async def ask_short(self, method: str, *arguments: Any) -> Answer:
        """Call a method of the host in the second thread."""
        return await asyncio.get_running_loop().run_in_executor(self._short, self.ask, method, *arguments)

    async def exchange(self) -> Answer:
        """Read the host's clock in the worker's event loop: another thread would make the way longer."""
        return self.ask("exchange")


class DaskLink:
    """Reaches the actor on one worker. Placing the actor is part of the first call."""

    def __init__(
        self,
        name: str,
        client: Client,
        address: str,
        *,
        directory: str | None = None,
        has_ended: Callable[[], bool] = lambda: False,
        kill: Callable[[], None] = lambda: None,
    ) -> None:
        """``address``: of the worker, which is the only one that may have the actor, and only this once;
        ``directory``: where the host keeps its reviews, None: its own choice; ``has_ended`` returns whether the worker
        is known to have ended, ``kill`` kills it if it can be.
        """
        self.name = name
        self._client = client
        self._worker = address
        self._has_ended = has_ended
        self._kill = kill
        self._loop = loop_of(client)
        self._task = client.submit(
            HostActor,
            name,
            directory,
            actor=True,
            workers=[address],
            allow_other_workers=False,
            retries=0,
            pure=False,
        )
        self._actor: Actor | None = None
        self._address = address.partition("://")[2].rpartition(":")[0].strip("[]")
        self._echo: EchoClient | None = None
        self._has_echo = True
        """Whether the host may answer by UDP."""
        self._was_echoed = False
        """Whether it ever did."""
        self._calls_left = 0
        """How many exchanges are still made by calls after an answer was lost: those of one comparison."""

    @property
    def has_ended(self) -> bool:
        """Whether the worker is known to have ended."""
        return self._has_ended()

    def kill(self) -> None:
        """Kill the worker, if that is on this computer."""
        self._kill()

    def exchange(self, *, timeout_s: float) -> Exchange:
        """Exchange readings of both clocks once; see ``Link``."""
        if self._has_echo and self._echo is None and self._calls_left <= 0:
            place = self._place(timeout_s)
            self._has_echo = place is not None
            self._echo = None if place is None else EchoClient(self._address, place)
        if self._echo is not None:
            if (exchange := self._echo.exchange()) is not None:
                self._was_echoed = True
                return exchange
            self._echo.close()
            # A firewall may drop all questions, a busy network some.
            self._has_echo, self._echo = self._was_echoed, None
            self._calls_left = FEWEST_EXCHANGES
        self._calls_left -= 1
        return exchange_by_call(self, timeout_s=timeout_s)

    def _place(self, timeout_s: float) -> EchoPlace | None:
        """Wait for where the host answers by UDP; None: it cannot."""
        place: Future[EchoPlace | None] = asyncio.run_coroutine_threadsafe(self._echo_place(), self._loop)
        try:
            return place.result(timeout=timeout_s)
        except TimeoutError:
            raise LinkError(f"{self.name} did not answer for {timeout_s:g} s") from None

    async def _echo_place(self) -> EchoPlace | None:
        try:
            actor = await self._wait_for_actor()
            place: EchoPlace | None = await actor.echo(self._address)
        except Exception as error:
            raise LinkError(str(error) or type(error).__name__) from None
        return place

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of the host; see ``Link``."""
        return asyncio.run_coroutine_threadsafe(self._answered(method, arguments), self._loop)

    async def _wait_for_actor(self) -> Actor:
        """Wait until the worker has the actor. Raise LinkError if the worker is gone: Dask would wait for ever."""
        if self._actor is None:
            placing = asyncio.ensure_future(self._task)
            try:
                while not (await asyncio.wait({placing}, timeout=_LOOK_S))[0]:
                    await self._require_worker()
                self._actor = await placing
            finally:
                placing.cancel()
        return self._actor

    async def _require_worker(self) -> None:
        if (scheduler := self._client.scheduler) is None:
            raise LinkError("the connection to the scheduler is closed")
        if not await scheduler.ncores(workers=[self._worker]):
            # Another worker of the same address is not to have it.
            await self._client.cancel([self._task])
            raise LinkError("its worker is gone")

    async def _answered(self, method: str, arguments: tuple[Any, ...]) -> Any:
        try:
            actor = await self._wait_for_actor()
            if method == "exchange":
                answer = await actor.exchange()
            elif method == "stop":
                # In both threads, since it may come twice: the first can be busy for long, and the second may be ahead
                # of a ``begin`` that waits for the first.
                actor.ask(method)
                answer = await actor.ask_short(method)
            elif method in _SHORT:
                answer = await actor.ask_short(method, *arguments)
            else:
                answer = await actor.ask(method, *arguments)
        except Exception as error:
            raise LinkError(str(error) or type(error).__name__) from None
        if answer.error is not None:
            raise answer.error
        return answer.value


def loop_of(client: Client) -> asyncio.AbstractEventLoop:
    """Return the event loop in which a client runs."""
    loop: Any = client.loop
    running: asyncio.AbstractEventLoop = loop.asyncio_loop
    return running
