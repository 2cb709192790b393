"""How the controller reaches a host: calls of the methods of ``iogauge.fleet.host.Host``, answered later."""

from __future__ import annotations

import queue
import time
from concurrent.futures import Future
from typing import Any, Protocol

from iogauge.fleet.clock import Exchange


class LinkError(Exception):
    """A call did not reach the host, or its answer did not come back; the next call may. ``str()`` says why."""


class Link(Protocol):
    """Reaches one host."""

    @property
    def name(self) -> str:
        """The host's name in the fleet."""

    @property
    def has_ended(self) -> bool:
        """Whether the host's process is known to have ended; false where it runs, or nobody can tell."""

    def kill(self) -> None:
        """Kill the host's process if that is on this computer, so that its review ends soon, too."""

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of the host; return its answer to come. It never waits for the host.

        The answer is ``LinkError`` if the host cannot be reached, and whatever else the method raises. It never comes
        if the host hangs or its packets are dropped.
        """

    def exchange(self, *, timeout_s: float) -> Exchange:
        """Exchange readings of both clocks once, and wait for it. Raises LinkError if no answer comes in time."""


def exchange_by_call(link: Link, *, timeout_s: float) -> Exchange:
    """Exchange readings of both clocks by a call. Raises LinkError if no answer comes in time."""
    returns: queue.SimpleQueue[int] = queue.SimpleQueue()
    sent_ns = time.monotonic_ns()
    answer = link.call("exchange")
    # Read in the thread that takes the answer: this one is not awake before a while.
    answer.add_done_callback(lambda _: returns.put(time.monotonic_ns()))
    try:
        returned_ns = returns.get(timeout=timeout_s)
    except queue.Empty:
        answer.cancel()
        raise LinkError(f"{link.name} did not answer for {timeout_s:g} s") from None
    received_ns, answered_ns = answer.result()
    return Exchange(sent_ns, received_ns, answered_ns, returned_ns)
