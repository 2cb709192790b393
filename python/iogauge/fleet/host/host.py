"""A host as its controller sees it: looked at, its clock read, its review begun, followed, stopped and fetched."""

from __future__ import annotations

import threading
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.fleet.host.clock import HostClock, boot_ns
from iogauge.fleet.host.messages import (
    GRACE_S,
    Command,
    HostEvent,
    HostFacts,
    HostRequest,
    Lease,
    Order,
    SavedFile,
)
from iogauge.fleet.host.places import HostPlace
from iogauge.fleet.host.process import ReviewProcess
from iogauge.target.ledger import xdg_directory

_KILL_S = 5.0
"""How long the kernel may take to end a process that was killed; longer if its drive does not answer."""


class Host:
    """One computer of a fleet; ``name`` is what the fleet calls it. Threads may share it.

    Its reviews are kept in ``directory``: by default in ``iogauge/fleet`` of the user's state directory. ``files``,
    ``read`` and ``checksum`` are about the fleet of the latest ``preflight``, ``begin`` or ``resume``.
    """

    def __init__(self, name: str, *, directory: Path | None = None, clock: HostClock | None = None) -> None:
        self.name = name
        self._directory = directory or _state_directory()
        self._clock = clock or HostClock()
        self._using = threading.RLock()
        self._adding = threading.Lock()
        self._events: list[HostEvent] = []
        """Of the review that runs, or ran last."""
        self._number = 0
        self._place: HostPlace | None = None
        self._process: ReviewProcess | None = None
        self._request: HostRequest | None = None
        self._lease: Lease | None = None
        self._until_boot_ns = 0

    def exchange(self) -> tuple[int, int]:
        """Return the host's clock when the question came, and when the answer leaves."""
        received_ns = self._clock.now_ns()
        return received_ns, self._clock.now_ns()

    def preflight(self, request: HostRequest) -> HostFacts:
        """Return what the host is, and why it cannot run its review, if so. Nothing is created or written."""
        from iogauge.fleet.host.preflight import facts_of

        place = self._placed(request)
        with self._using:
            self._place = place
        return facts_of(request, place)

    def begin(self, request: HostRequest, lease: Lease) -> None:
        """Start the process that plans and runs the review. What it refuses is in its last event.

        Raises:
            IogaugeError: the lease is used, expired, older than one that was used, or another's; the host has a
                review of this fleet, or one is running.
        """
        with self._using:
            if self._process is not None and self._process.is_running:
                raise IogaugeError(
                    f"{self.name}: a review is running", hint="wait until it has ended, or stop it"
                )
            place = self._placed(request)
            if place.has_review:
                raise IogaugeError(
                    f"{self.name}: it has a review of this fleet", hint="resume the fleet's review"
                )
            self._start(request, lease, place)

    def resume(self, request: HostRequest, lease: Lease) -> None:
        """Continue the review that the host has of this fleet, or begin it if there is none.

        The process of an older lease of this fleet is ended first. Raises IogaugeError as ``begin`` does.
        """
        with self._using:
            if self._process is not None and self._process.is_running:
                if self._request is None or self._request.fleet_id != request.fleet_id:
                    raise IogaugeError(
                        f"{self.name}: another review is running", hint="wait until it has ended, or stop it"
                    )
                self._end(self._process)
            self._start(request, lease, self._placed(request))

    def renew(self, lease_id: str) -> None:
        """Let the lease last its ``seconds`` from now.

        Raises:
            IogaugeError: the lease has ended, or is not the one in use.
        """
        with self._using:
            if self._process is None or self._lease is None or self._lease.id != lease_id:
                raise IogaugeError(f"{self.name}: this lease is not in use", hint="resume the fleet's review")
            if boot_ns() >= self._until_boot_ns:
                raise IogaugeError(f"{self.name}: the lease has ended", hint="resume the fleet's review")
            self._until_boot_ns = _end_of(self._lease)
            self._process.tell(Command(kind="renew", until_boot_ns=self._until_boot_ns))

    def events(self, after: int) -> list[HostEvent]:
        """Return the events of the review with a number above ``after``, in order.

        Numbers begin at 1 and have no gaps; those of the next review go on from there.
        """
        with self._adding:
            first = self._number - len(self._events)
            return self._events[max(0, after - first) :]

    def start(self, step: str, at_ns: int) -> None:
        """Let a step start at an instant of the host's clock, or as soon after it as possible."""
        with self._using:
            if self._process is not None:
                system_ns = self._clock.to_system_ns(at_ns)
                self._process.tell(Command(kind="start", step=step, at_ns=system_ns))

    def stop(self) -> None:
        """Stop the review as Ctrl-C does: complete steps stay saved. ``end`` is its last event."""
        with self._using:
            if self._process is not None:
                self._process.tell(Command(kind="stop"))

    def files(self) -> list[SavedFile]:
        """Return the files of the review that is saved, by path; none if nothing is."""
        return self._current().files()

    def read(self, path: str, offset: int, length: int) -> bytes:
        """Return bytes of one of ``files``, at most 8 MiB, and fewer at its end. Raises IogaugeError for others."""
        return self._current().read(path, offset, length)

    def checksum(self, path: str) -> str:
        """Return the SHA-256 of one of ``files``, in hexadecimal. Raises IogaugeError for others."""
        return self._current().checksum(path)

    @property
    def process(self) -> int | None:
        """The id of the process that runs the review, or ran it last; None: none did."""
        with self._using:
            return self._process.pid if self._process else None

    def close(self) -> None:
        """End the review, gracefully if it can, and wait for that."""
        with self._using:
            if self._process is not None:
                self._end(self._process)

    def _placed(self, request: HostRequest) -> HostPlace:
        """Return where the review of a request is kept. Raises IogaugeError if it is for another host."""
        if request.host != self.name:
            raise IogaugeError(
                f"this is host {self.name}, and the request is for {request.host}",
                hint="begin again: a task of the fleet ran on a wrong host",
            )
        return HostPlace(self._directory, request)

    def _current(self) -> HostPlace:
        with self._using:
            if self._place is None:
                raise IogaugeError(
                    f"{self.name}: it does not know yet which fleet is meant", hint="check the host first"
                )
            return self._place

    def _start(self, request: HostRequest, lease: Lease, place: HostPlace) -> None:
        place.use(lease, request, self._clock)
        self._until_boot_ns = _end_of(lease)
        self._request, self._lease, self._place = request, lease, place
        with self._adding:
            self._events = []
        order = Order(
            request=request,
            lease=lease,
            directory=str(place.review),
            until_boot_ns=self._until_boot_ns,
        )
        try:
            self._process = ReviewProcess(order, self._add)
        except OSError as error:
            raise IogaugeError(
                f"{self.name}: the process of its review cannot be started: {error.strerror}",
                hint="free memory and processes on the host, then resume the fleet's review",
            ) from error

    def _end(self, process: ReviewProcess) -> None:
        """End a process: gracefully, then by the kernel's timer in it, then by SIGKILL."""
        process.tell(Command(kind="stop"))
        if process.wait(GRACE_S + _KILL_S):
            return
        process.kill()
        if not process.wait(_KILL_S):
            raise IogaugeError(
                f"{self.name}: process {process.pid} cannot be killed: its drive does not answer",
                hint="look at dmesg on the host",
            )

    def _add(self, event: HostEvent) -> None:
        """Number an event, and convert its instants to the host's clock."""
        achieved_ns = event.achieved_ns
        changes = {
            "at_ns": self._clock.from_system_ns(event.at_ns),
            "achieved_ns": None if achieved_ns is None else self._clock.from_system_ns(achieved_ns),
        }
        with self._adding:
            self._number += 1
            self._events.append(event.model_copy(update={**changes, "number": self._number}))


def _end_of(lease: Lease) -> int:
    return boot_ns() + round(lease.seconds * 1e9)


def _state_directory() -> Path:
    return xdg_directory("XDG_STATE_HOME", ".local/state") / "iogauge" / "fleet"
