"""Serving a drive model to other programs by NBD: the core's server, from the first client to Ctrl-C.

The data is real and the time is the model's, slower by a factor: what a program measures is divided by it. The
machine in front of the drive is the real one, so a target's machine has no part in this. Does not print.
"""

from __future__ import annotations

import json
from collections.abc import Callable
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
    """The export's, at most 255 bytes; the empty name always means it too."""
    listen: Path | tuple[str, int]
    """A socket's path, or a numeric TCP address and a port; port 0 takes a free one."""
    allow_remote: bool = False
    """Other machines may reach the TCP address."""
    dilate: int = 100
    """So many real ns are one of the drive's; in [1, 2^32)."""
    size_bytes: int | None = None
    """Of the export: a positive multiple of 512, up to the drive's capacity, which it is where this is None."""
    memory_bytes: int = 1 << 30
    """Most bytes of data in memory, where no file keeps it; writes beyond fail, for want of space."""
    read_only: bool = False
    """Nothing may be written or trimmed."""


class Bias(Model):
    """What programs will see beside the model, at a queue depth of one."""

    overhead_ns: int
    """What they wait more than they should, median, real ns."""
    drive_ns: int
    """What the model says that a read of 4 KiB takes, mean, virtual ns."""
    fraction: float
    """The first over the second, dilated."""


class Served(Model):
    """What was served, and how late replies were."""

    connections: int
    turned_away: int
    """Clients that found no place."""
    requests: int
    read_bytes: int
    written_bytes: int
    late_p50_ns: int
    """Median of how late replies were sent, real ns."""
    late_p99_ns: int
    late_most_ns: int
    late_p50: float
    """Median of lateness over what the request should have taken, fraction."""
    late_p99: float


class Serving(Model):
    """What is being served: all that a client has to know."""

    size_bytes: int
    address: str | None
    """The TCP address, its port known; None on a socket's path."""
    bias: Bias


def serve(
    target: ModelTarget,
    plan: ServePlan,
    *,
    seed: int,
    store: KeptFile | None = None,
    on_start: Callable[[Serving], None] | None = None,
) -> Served:
    """Serve until SIGINT or SIGTERM, where the program takes them as KeyboardInterrupt, and return what was served.

    ``store`` keeps the data, and is closed; without one, memory does. ``on_start`` is told once clients may come.
    Raises IogaugeError where it cannot be served: the socket or the data cannot be had, or programs would see over 20 %
    more than the model says.
    """
    with Interrupts() as interrupts:
        try:
            server = _server(target, plan, seed, store)
            if on_start:
                bias = Bias.model_validate_json(server.bias())
                on_start(Serving(size_bytes=server.size_bytes(), address=server.address(), bias=bias))
            while (served := server.wait(_WAIT_S)) is None:
                if interrupts.count:
                    server.stop()
        except _core.CoreError as error:
            message, hint = error.args
            raise IogaugeError(message, hint=hint) from None
    return Served.model_validate_json(served)


def _server(target: ModelTarget, plan: ServePlan, seed: int, store: KeptFile | None) -> _core.Server:
    """Make the server; failing that, remove the file that was made for it."""
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
    """Return what the core takes."""
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
