"""Hosts of fleets in tests: a short suite, its requests and leases, and the processes that run it."""

from __future__ import annotations

import select
import threading
import uuid
from collections.abc import Callable
from os import pidfd_open
from pathlib import Path
from typing import Any

from iogauge.fleet.host import HostEvent, HostRequest, Lease
from iogauge.fleet.host.clock import boot_ns
from iogauge.fleet.host.drives import drives_of
from iogauge.fleet.host.messages import Command, Order
from iogauge.fleet.host.process import ReviewProcess

LONG_S = 3000.0
"""More seconds than any test takes: a lease that does not end by itself."""


def suite(directory: Path, *, rw: str = "randread", steps: int = 3, runtime: str = "50ms") -> Path:
    """Write a suite of short steps; return its path."""
    path = directory / f"{rw}.toml"
    head = f'name = "short-{rw}"\n[options]\nrw = "{rw}"\nbs = "4k"\nsize = "1m"\nruntime = "{runtime}"\n'
    each_step = "".join(
        f"[[step]]\nat = {depth}\noptions = {{ iodepth = {depth} }}\n" for depth in range(1, steps + 1)
    )
    path.write_text(head + "time_based = 1\n" + each_step)
    return path


def request(suite: Path, *targets: Path | str, **changes: Any) -> HostRequest:
    """Return the request for a host that reviews targets with a suite."""
    fields = {
        "fleet_id": uuid.uuid4().hex,
        "host": "a",
        "targets": tuple(map(str, targets)),
        "options": {"suites": [str(suite)], "size": "1m"},
        "seed": 7,
        "waits": False,
        **changes,
    }
    return HostRequest(**fields)


def lease(wanted: HostRequest, *, generation: int = 1, **changes: Any) -> Lease:
    """Return a lease for a request, which does not end by itself."""
    fields = {
        "id": uuid.uuid4().hex,
        "fleet_id": wanted.fleet_id,
        "host": wanted.host,
        "drives": drives_of(wanted.targets),
        "generation": generation,
        "seconds": LONG_S,
        **changes,
    }
    return Lease(**fields)


class Running:
    """The process of a review whose events a test waits for."""

    def __init__(self, wanted: HostRequest, review: Path, *, seconds: float = LONG_S, **changes: Any) -> None:
        self.events: list[HostEvent] = []
        self._changed = threading.Condition()
        order = Order(
            request=wanted,
            lease=lease(wanted, **changes),
            directory=str(review),
            until_boot_ns=boot_ns() + round(seconds * 1e9),
        )
        self.process = ReviewProcess(order, self._add)

    def _add(self, event: HostEvent) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()

    def until(self, kind: str, test: Callable[[HostEvent], bool] = lambda _: True) -> HostEvent:
        """Wait for the first event of a kind; fail if the process ends without it."""

        def first(wanted: str) -> HostEvent | None:
            return next((event for event in self.events if event.kind == wanted and test(event)), None)

        with self._changed:
            self._changed.wait_for(lambda: first(kind) or any(event.kind == "end" for event in self.events))
            event = first(kind)
        assert event is not None, self.events
        return event

    def end(self) -> HostEvent:
        """Wait for the end of the process, and return its last event."""
        event = self.until("end")
        gone(self.process.pid)
        return event

    def end_lease(self) -> None:
        """Let the lease end now, as if nobody had renewed it."""
        self.process.tell(Command(kind="renew", until_boot_ns=boot_ns()))

    def kinds(self) -> list[str]:
        """Return the kinds of its events, without progress and notices."""
        return [event.kind for event in self.events if event.kind not in ("progress", "notice")]


def gone(pid: int) -> None:
    """Wait until a process has ended."""
    try:
        descriptor = pidfd_open(pid)
    except ProcessLookupError:
        return
    with open(descriptor, "rb") as file:  # noqa: PTH123 (a descriptor)
        select.select([file], [], [])
