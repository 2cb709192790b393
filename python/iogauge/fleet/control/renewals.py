"""Renews the leases of hosts in a thread of its own: a full terminal or a slow disk may hold up the controller."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from iogauge.fleet.control.host_run import HostRun


class Renewals:
    """Renews the lease of each host every ``every_s`` seconds, and calls ``on_answer`` with each answer."""

    def __init__(self, every_s: float, on_answer: Callable[[HostRun, Future[Any]], None]) -> None:
        self._every_s = every_s
        self._on_answer = on_answer
        self._answers: dict[HostRun, Future[Any] | None] = {}
        """The last answer of each, which may be still to come."""
        self._changing = threading.Lock()
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="iogauge-renewals", daemon=True)

    def begin(self) -> None:
        """Start the thread."""
        self._thread.start()

    def close(self) -> None:
        """Stop the thread: no lease is renewed after this."""
        self._closing.set()
        self._thread.join()

    def add(self, host: HostRun) -> None:
        """Renew the lease of a host now, and from now on."""
        with self._changing:
            self._answers[host] = None
        self._renew(host)

    def remove(self, host: HostRun) -> bool:
        """Stop renewing a host's lease; return whether it was being renewed. ``host.renewed_at`` stays as it is."""
        with self._changing:
            return self._answers.pop(host, self) is not self

    def _run(self) -> None:
        while not self._closing.wait(self._every_s):
            with self._changing:
                hosts = list(self._answers)
            for host in hosts:
                self._renew(host)

    def _renew(self, host: HostRun) -> None:
        """Renew a lease, unless the host owes the answer to the last renewal."""
        with self._changing:
            last = self._answers.get(host)
            if host not in self._answers or (last is not None and not last.done()):
                return
            host.renewed_at = time.monotonic()
            try:
                answer = host.link.call("renew", host.lease.id)
            except BaseException as error:  # a defect, of which the controller is to hear
                answer = Future()
                answer.set_exception(error)
            self._answers[host] = answer
        answer.add_done_callback(lambda answer: self._on_answer(host, answer))
