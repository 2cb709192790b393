"""Serves a drive model to other programs over NBD, until Ctrl-C.

The data is real. The time is the model's, slowed down by a factor: divide what a program measures by it. The machine in
front of the drive is the real one, so the target's machine model is not used. This module prints nothing.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from iogauge import _core
from iogauge.errors import IogaugeError
from iogauge.execution.interrupts import Interrupts
from iogauge.schema import Model
from iogauge.store.kept import KeptFile
from iogauge.target import ModelTarget

_WAIT_S = 0.2


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
        self, target: ModelTarget, plan: ServePlan, *, seed: int, store: KeptFile | None = None
    ) -> None:
        """Begin to serve. ``store`` keeps the data and is closed; without it, memory keeps the data.

        Raises IogaugeError if the socket or the store cannot be opened, or if programs would see over 20 % more latency
        than the model has.
        """
        with _explained():
            self._server = _server(target, plan, seed, store)
            self.serving = Serving(
                size_bytes=self._server.size_bytes(),
                address=self._server.address(),
                bias=Bias.model_validate_json(self._server.bias()),
            )

    def served(self, *, until: Callable[[], bool]) -> Served:
        """Wait until ``until`` returns True, stop, and return what was served. Raises IogaugeError if it failed."""
        with _explained():
            while (served := self._server.wait(_WAIT_S)) is None:
                if until():
                    self._server.stop()
        return Served.model_validate_json(served)


def serve(
    target: ModelTarget,
    plan: ServePlan,
    *,
    seed: int,
    store: KeptFile | None = None,
    on_start: Callable[[Serving], None] | None = None,
) -> Served:
    """Serve until SIGINT or SIGTERM, if the program turns them into KeyboardInterrupt; return what was served.

    ``on_start`` is called once clients may connect. Raises IogaugeError as ``Server`` does.
    """
    with Interrupts() as interrupts:
        server = Server(target, plan, seed=seed, store=store)
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


def _server(target: ModelTarget, plan: ServePlan, seed: int, store: KeptFile | None) -> _core.Server:
    """Make the server; if that fails, remove the file that was made for it."""
    try:
        return _core.Server(
            json.dumps(target.drive.parameters),
            seed,
            json.dumps(_config(plan)),
            store.descriptor if store else None,
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
    }
