"""Hosts without processes, and links to them that fail as they are told."""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from iogauge import __version__
from iogauge.errors import IogaugeError
from iogauge.fleet.clock import Exchange
from iogauge.fleet.control.link import LinkError, exchange_by_call
from iogauge.fleet.control.patience import Patience
from iogauge.fleet.host.messages import (
    HostEvent,
    HostFacts,
    HostRequest,
    Lease,
    PlannedStep,
    Refusal,
    SavedFile,
)
from iogauge.schema import MachineFacts
from iogauge.schema.fleet import FleetHost, FleetManifest, FleetMode, HostOutcome

STEPS = ("one", "two", "three")
IMPATIENT = Patience(
    preflight_s=2,
    lost_s=0.5,
    silent_s=0.5,
    lease_s=0.6,
    end_s=0.1,
    renew_s=0.05,
    poll_s=0.004,
    clock_s=0.05,
    stop_s=2,
)
MACHINE = MachineFacts(
    hostname="computer",
    kernel="6.12",
    cpu="a CPU",
    cpus=2,
    cpus_allowed=2,
    memory_bytes=1 << 30,
    virtualised=None,
)


class Killed(BaseException):
    """The controller is killed."""


class FakeHost:
    """A host whose steps take no time; it keeps what it saved, whatever becomes of its controller."""

    def __init__(self, name: str, *, error_ns: int = 0, steps: tuple[str, ...] = STEPS) -> None:
        self.name = name
        self.error_ns = error_ns
        self.steps = steps
        self.saved: dict[str, bytes] = {}
        self.log: list[tuple[str, str, int]] = []
        """What happened: ``started`` or ``leased``, of what, at which instant or generation."""
        self.refused: tuple[Refusal, ...] = ()
        self.version = __version__
        self.free_bytes = 1 << 30
        self.in_use = 0
        """How often it is refused since another review uses its drive."""
        self.still_running = 0
        """How often it refuses before it begins, since its earlier review still runs."""
        self.drives: tuple[str, ...] = ()
        self.only_reads = False
        self.stops_at = ""
        """The step during which it says nothing more; empty: none."""
        self._lease: Lease | None = None
        self._generation = 0
        self._events: list[HostEvent] = []
        self._running = False

    def connect(self) -> None:
        """Become the host of another controller: its process is a new one, what it saved is the same."""
        self.stop()
        self._events.clear()

    def now_ns(self) -> int:
        return time.monotonic_ns() + self.error_ns

    def exchange(self) -> tuple[int, int]:
        return self.now_ns(), self.now_ns()

    def preflight(self, request: HostRequest) -> HostFacts:
        assert request.host == self.name
        busy: tuple[Refusal, ...] = ()
        if self.still_running:
            self.still_running -= 1
            busy = (Refusal(text="its earlier review still runs", in_use=True),)
        return HostFacts(
            version=self.version,
            machine=MACHINE.model_copy(update={"hostname": self.name}),
            drives=self.drives,
            only_reads=self.only_reads,
            free_bytes=self.free_bytes,
            missing_steps=len(self._missing()) if self.saved else None,
            refused=(*self.refused, *busy),
        )

    def begin(self, request: HostRequest, lease: Lease) -> None:
        if self.saved:
            raise IogaugeError("it has a review of this fleet", hint="resume it")
        self._begin(request, lease)

    def resume(self, request: HostRequest, lease: Lease) -> None:
        self._begin(request, lease)

    def _begin(self, request: HostRequest, lease: Lease) -> None:
        if lease.generation <= self._generation:
            raise IogaugeError("the lease was used", hint="take another")
        assert lease.drives == self.drives
        self._generation = lease.generation
        self._lease = lease
        self.log.append(("leased", lease.id, lease.generation))
        if self.in_use:
            self.in_use -= 1
            self._add("end", outcome=HostOutcome.REFUSED, text="a review is using its drive", in_use=True)
            return
        self._running = True
        self.saved["manifest.json"] = b"{}"
        self._add(
            "planned",
            steps=tuple(
                PlannedStep(id=step, label=step, expected_s=1, complete=step not in self._missing())
                for step in self.steps
            ),
        )
        self._next(request.waits)

    def _missing(self) -> list[str]:
        return [step for step in self.steps if f"steps/{step}/record.json" not in self.saved]

    def _next(self, waits: bool = True) -> None:
        missing = self._missing()
        if not missing:
            self._end(HostOutcome.DONE)
        elif waits:
            self._add("waiting", step=missing[0])
        else:
            self._run(missing[0], self.now_ns())
            self._next(waits)

    def start(self, step: str, at_ns: int) -> None:
        waiting = [event for event in self._events if event.kind in ("waiting", "started")]
        if self._running and waiting and (waiting[-1].kind, waiting[-1].step) == ("waiting", step):
            self._run(step, at_ns)
            if self._running and step != self.stops_at:
                self._next()

    def _run(self, step: str, at_ns: int) -> None:
        self.log.append(("started", step, at_ns - self.error_ns))
        self._add("started", step=step, achieved_ns=at_ns)
        if step == self.stops_at:
            return
        self.saved[f"steps/{step}/record.json"] = f"{self.name} {step} {self._generation}".encode() * 99
        self.saved[f"steps/{step}/totals.parquet"] = b"\0" * 1000
        self.saved["figures.json"] = step.encode()
        self._add("step_end", step=step, complete=True)

    def renew(self, lease_id: str) -> None:
        if self._lease is None or self._lease.id != lease_id:
            raise IogaugeError("this lease is not in use", hint="resume it")

    def events(self, after: int) -> list[HostEvent]:
        return self._events[after:]

    def stop(self) -> None:
        if self._running:
            self._end(HostOutcome.INTERRUPTED, "it was stopped")

    def files(self) -> list[SavedFile]:
        return [
            SavedFile(path=path, bytes=len(data), modified_ns=1000 + len(data))
            for path, data in self.saved.items()
        ]

    def read(self, path: str, offset: int, length: int) -> bytes:
        return self.saved[path][offset : offset + min(length, 700)]

    def checksum(self, path: str) -> str:
        return hashlib.sha256(self.saved[path]).hexdigest()

    def close(self) -> None:
        self.stop()

    def _end(self, outcome: HostOutcome, why: str = "") -> None:
        self._running = False
        self._add("end", outcome=outcome, text=why)

    def _add(self, kind: Any, **fields: Any) -> None:
        number = len(self._events) + 1
        self._events.append(HostEvent(kind=kind, at_ns=self.now_ns(), number=number, **fields))


Fault = Callable[[str, str, int], str]
"""Of a host, a method, and how many calls there were before: ``""``, ``lost``, ``hang``, or ``killed``."""


def no_fault(host: str, method: str, calls: int) -> str:
    """Let every call succeed."""
    return ""


class FakeLink:
    """Answers at once, unless its fault says otherwise."""

    def __init__(
        self, host: FakeHost, fault: Fault = no_fault, *, count: itertools.count[int] | None = None
    ) -> None:
        self.name = host.name
        self.has_ended = False
        self._host = host
        self._fault = fault
        self._count = itertools.count() if count is None else count
        self._using = threading.Lock()

    def kill(self) -> None:
        pass

    def exchange(self, *, timeout_s: float) -> Exchange:
        return exchange_by_call(self, timeout_s=timeout_s)

    def call(self, method: str, *arguments: Any) -> Future[Any]:
        answer: Future[Any] = Future()
        match self._fault(self.name, method, next(self._count)):
            case "killed":
                raise Killed
            case "hang":
                return answer
            case "lost":
                answer.set_exception(LinkError("the connection is broken"))
                return answer
        try:
            with self._using:
                result = getattr(self._host, method)(*arguments)
        except Exception as error:
            answer.set_exception(error)
        else:
            answer.set_result(result)
        return answer


def manifest_of(
    names: list[str], *, mode: FleetMode = FleetMode.TOGETHER, stagger_ns: int = 0
) -> FleetManifest:
    """Return the manifest of a fleet of these hosts."""
    hosts = tuple(FleetHost(name=name, targets=("model:p4800x",), seed=1) for name in names)
    return FleetManifest(
        id="f1", created="2026-01-01T00:00:00+00:00", mode=mode, stagger_ns=stagger_ns, seed=1, hosts=hosts
    )
