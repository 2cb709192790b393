"""Serves a drive model to other programs over NBD, until Ctrl-C.

The data is real, unless faults are asked for. The time is the model's, slowed down by a factor: divide what a program
measures by it. The machine in front of the drive is the real one, so the target's machine model is not used. This
module prints nothing.
"""

from __future__ import annotations

import contextlib
import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from enum import StrEnum
from pathlib import Path
from typing import Any

from iogauge import _core
from iogauge.errors import IogaugeError
from iogauge.execution.interrupts import Interrupts
from iogauge.schema import Model
from iogauge.store.kept import KeptFile
from iogauge.store.outputs import Output
from iogauge.target import ModelTarget

_WAIT_S = 0.2


class FaultKind(StrEnum):
    """What goes wrong; ``crates/nbd/src/faults/plan.rs`` says what each is."""

    LOST_FLUSH = "lost-flush"
    TORN_WRITE = "torn-write"
    REORDERING = "reordering"
    MISDIRECTED_WRITE = "misdirected-write"
    MISDIRECTED_READ = "misdirected-read"
    BIT_ROT = "bit-rot"
    STALE_READ = "stale-read"
    SHORT_WRITE = "short-write"
    DROPPED_WRITE = "dropped-write"
    DUPLICATED = "duplicated"
    LATE = "late"


class Fault(Model):
    """One kind of fault, and to which requests it happens."""

    kind: FaultKind
    when: dict[str, float | int | tuple[int, ...]]
    """``every`` Nth, ``at`` numbers, or with a ``probability``."""
    offset_bytes: int = 0
    size_bytes: int | None = None
    """Requests that do not lie within this length from the offset are spared; None: up to the end."""
    most: int | None = None
    """The most faults of this kind."""
    unit_bytes: int = 512
    """What a torn or short write loses is whole units."""
    delay_ns: int
    """How long a late write is late, real ns."""
    across_flush: bool = False
    """Whether a reordered write stays behind a flush that covers it."""


class Keep(StrEnum):
    """What a power cut leaves of the writes that were not flushed."""

    NONE = "none"
    ALL = "all"
    RANDOM = "random"


class PowerCut(Model):
    """When the power is cut, besides by ``Server.cut_power``, and what that leaves."""

    at_request: int | None = None
    """Right before the request with this number."""
    after_ns: int | None = None
    """After this time, real ns."""
    keep: Keep = Keep.RANDOM
    atomic_bytes: int = 4096
    """Bytes of an atomic unit, of which nothing or everything is left."""
    ends: bool = False
    """Whether the service ends with it."""


class FaultPlan(Model):
    """All that goes wrong."""

    seed: int
    faults: tuple[Fault, ...] = ()
    write_cache_bytes: int
    """Bytes of the volatile write cache; 0: writes are durable at once."""
    power_cut: PowerCut


class ServePlan(Model):
    """How a model is served."""

    name: str
    """The name of the export, at most 255 bytes; the empty name always works too."""
    listen: Path | tuple[str, int]
    """The path of a socket, or a numeric TCP address and a port; port 0 picks a free one."""
    allow_remote: bool = False
    """Whether other machines may reach the TCP address."""
    dilate: int = 100
    """Real ns per ns of the drive; in [1, 2^32)."""
    size_bytes: int | None = None
    """Size of the export: a positive multiple of 512, at most the drive's capacity; None: that capacity."""
    memory_bytes: int = 1 << 30
    """The most data in memory, if no file keeps it; writes beyond it fail with ENOSPC."""
    read_only: bool = False
    """Whether writes and trims are refused."""
    faults: FaultPlan | None = None
    """What goes wrong; None: nothing, and nothing is volatile."""


class Bias(Model):
    """The latency that programs see on top of the model's, at a queue depth of one."""

    overhead_ns: int
    """Added latency, median, real ns."""
    drive_ns: int
    """Latency of a 4 KiB read on the model, mean, virtual ns."""
    fraction: float
    """``overhead_ns`` over the slowed-down ``drive_ns``."""


class Served(Model):
    """What was served, and how late replies were."""

    connections: int
    turned_away: int
    """Clients that were refused, because too many were connected."""
    power_cuts: int
    faults: int
    """Faults that happened."""
    requests: int
    read_bytes: int
    written_bytes: int
    late_p50_ns: int
    """Median of how late replies were sent, real ns."""
    late_p99_ns: int
    late_most_ns: int
    late_p50: float
    """Median of lateness over the latency that the request should have had, fraction."""
    late_p99: float


class Serving(Model):
    """What a client has to know of a server."""

    size_bytes: int
    address: str | None
    """The TCP address with its port; None on a Unix socket."""
    bias: Bias


class Server:
    """A server that clients may connect to."""

    def __init__(
        self,
        target: ModelTarget,
        plan: ServePlan,
        *,
        seed: int,
        store: KeptFile | None = None,
        fault_log: Output | None = None,
    ) -> None:
        """Begin to serve. ``store`` keeps the data and is closed; without it, memory keeps the data. ``fault_log`` gets
        a JSON object for each fault as it happens.

        Raises IogaugeError if the socket or a file cannot be opened, or if programs would see over 20 % more latency
        than the model has.
        """
        with ExitStack() as files, _explained():
            self._server = _server(target, plan, seed, store, fault_log, files)
            self._files = files.pop_all()
            self.serving = Serving(
                size_bytes=self._server.size_bytes(),
                address=self._server.address(),
                bias=Bias.model_validate_json(self._server.bias()),
            )

    def cut_power(self) -> None:
        """Cut the power: what was not flushed is lost, and all connections are closed. A signal handler may call it."""
        self._server.cut_power()

    def served(self, *, until: Callable[[], bool]) -> Served:
        """Wait until ``until`` returns True, stop, and return what was served. Raises IogaugeError if it failed."""
        with _explained():
            while (served := self._server.wait(_WAIT_S)) is None:
                if until():
                    self._server.stop()
        self._files.close()
        return Served.model_validate_json(served)


def serve(
    target: ModelTarget,
    plan: ServePlan,
    *,
    seed: int,
    store: KeptFile | None = None,
    fault_log: Output | None = None,
    on_start: Callable[[Serving], None] | None = None,
) -> Served:
    """Serve until SIGINT or SIGTERM, if the program turns them into KeyboardInterrupt; return what was served.

    SIGUSR1 cuts the power if the plan has faults. ``on_start`` is called once clients may connect. Raises IogaugeError
    as ``Server`` does.
    """
    with Interrupts() as interrupts, ExitStack() as signals:
        server = Server(target, plan, seed=seed, store=store, fault_log=fault_log)
        if plan.faults and threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGUSR1, lambda *_: server.cut_power())
            signals.callback(signal.signal, signal.SIGUSR1, before)
        if on_start:
            on_start(server.serving)
        return server.served(until=lambda: interrupts.count > 0)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except _core.CoreError as error:
        message, hint = error.args
        raise IogaugeError(message, hint=hint) from None


def _server(
    target: ModelTarget,
    plan: ServePlan,
    seed: int,
    store: KeptFile | None,
    fault_log: Output | None,
    files: ExitStack,
) -> _core.Server:
    """Make the server; if that fails, remove the file that was made for its data."""
    try:
        log = files.enter_context(fault_log.stream()) if fault_log else None
        return _core.Server(
            json.dumps(target.drive.parameters),
            seed,
            json.dumps(_config(plan)),
            store.descriptor if store else None,
            log.fileno() if log else None,
        )
    except BaseException:
        if store:
            store.withdraw()
        raise
    finally:
        if store:
            store.close()


def _config(plan: ServePlan) -> dict[str, Any]:
    """Return the server's configuration in the core's form."""
    listen: dict[str, Any]
    match plan.listen:
        case Path() as path:
            listen = {"unix": str(path)}
        case (host, port):
            address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            listen = {"tcp": {"address": address, "allow_remote": plan.allow_remote}}
    return {
        "listen": listen,
        "name": plan.name,
        "size_bytes": plan.size_bytes,
        "memory_bytes": plan.memory_bytes,
        "dilate": plan.dilate,
        "read_only": plan.read_only,
        "faults": _fault_config(plan.faults) if plan.faults else None,
    }


def _fault_config(plan: FaultPlan) -> dict[str, Any]:
    """Return the faults in the core's form."""
    config = plan.model_dump(mode="json")
    config["specs"] = config.pop("faults")
    return config
