"""``iogauge model serve``: a drive model as a network block device, for fio, qemu, nbdcopy or a kernel.

Serve a drive model by NBD until Ctrl-C (or SIGTERM). The data is real; the time is the model's. NAME is a shipped
model or the path of a TOML file. Data is kept in memory, or in the file that --store names. That file is created; an
existing one is used only if an earlier --store created it.

Programs need tens of microseconds to sleep and wake, which is longer than a request of a fast drive. So --dilate slows
the model down: divide the times that a program measures by it. iogauge first measures how much longer programs wait.
If that is over 20 %, it refuses to serve, and names the dilation that would do.

Exit status: 0 served until it was ended; 1 error; 2 wrong usage.
"""

from __future__ import annotations

import shlex
import socket as sockets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import quote

import typer

from iogauge.cli.terminal import process, status, streams
from iogauge.library import quantities

if TYPE_CHECKING:
    from iogauge.execution.serve import Served, ServePlan, Serving
    from iogauge.target import ModelTarget

_MOST_DILATION = (1 << 32) - 1


def serve(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A shipped model, or a TOML file's path.")],
    socket: Annotated[
        Path | None,
        typer.Option("--socket", metavar="PATH", help="Create this Unix socket and listen on it."),
    ] = None,
    tcp: Annotated[
        str | None,
        typer.Option("--tcp", metavar="HOST:PORT", help="Listen on a TCP port instead; 0 takes a free one."),
    ] = None,
    allow_remote: Annotated[
        bool,
        typer.Option(
            "--allow-remote", help="Let other machines reach the port and all data, without a password."
        ),
    ] = False,
    dilate: Annotated[
        int,
        typer.Option(
            metavar="FACTOR", help="Serve this many times slower than the model.", min=1, max=_MOST_DILATION
        ),
    ] = 100,
    size: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES", help="How much of the drive to serve, such as 32g.", show_default="all of it"
        ),
    ] = None,
    store: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the data in this sparse file.")
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="BYTES", help="Most data to keep in memory, without --store.", show_default="1g"
        ),
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse writes.")] = False,
    seed: Annotated[
        int, typer.Option(metavar="NUMBER", help="Seed of the model's random choices.", min=0)
    ] = 1,
) -> None:
    """Serve until interrupted."""
    if (socket is None) == (tcp is None):
        raise status.UsageError(
            "say where to listen, in one place", hint="--socket PATH, or --tcp 127.0.0.1:10809"
        )
    if store is not None and memory is not None:
        raise status.UsageError("--store keeps no data in memory", hint="leave out --memory, or --store")
    if allow_remote and tcp is None:
        raise status.UsageError(
            "--allow-remote is about --tcp", hint="no other machine reaches a Unix socket"
        )
    listen = socket if socket is not None else _address(tcp or "")
    size_bytes = quantities.size_bytes(size, name="size") if size else None
    memory_bytes = quantities.size_bytes(memory or "1g", name="memory")
    from iogauge.execution.serve import ServePlan, serve
    from iogauge.store.kept import read_kept
    from iogauge.store.outputs import Claims

    target = _model(name)
    plan = ServePlan(
        name=Path(name.removeprefix("model:")).name.removesuffix(".toml"),
        listen=listen,
        allow_remote=allow_remote,
        dilate=dilate,
        size_bytes=size_bytes,
        memory_bytes=memory_bytes,
        read_only=read_only,
    )

    process.begin()
    kept = None
    if store is not None:
        kept_bytes = target.size_bytes if size_bytes is None else size_bytes
        if read_only:
            kept = read_kept(store, size_bytes=kept_bytes)
        else:
            claims = Claims(targets=[target.facts.path], say=streams.say)
            kept = claims.kept(store, size_bytes=kept_bytes)

    def started(serving: Serving) -> None:
        streams.show(_opening(target, plan, store, serving, seed))

    served = serve(target, plan, seed=seed, store=kept, on_start=started)
    with process.results_first():
        streams.show(_closing(served))


def _model(name: str) -> ModelTarget:
    """Load what is to be served."""
    from iogauge import catalog
    from iogauge.target import ModelTarget, open_target

    path = name if name.startswith(catalog.PREFIX) else f"{catalog.PREFIX}{name}"
    drive, machine = catalog.split(path)
    if machine is not None:
        raise status.UsageError(
            f"{name}: the machine in front of a served drive is the one that the programs run on",
            hint=f"iogauge model serve {shlex.quote(drive)}",
        )
    target = open_target(path, write=True)
    assert isinstance(target, ModelTarget)
    return target


def _address(text: str) -> tuple[str, int]:
    """Return the numeric address that ``HOST:PORT`` means, and the port. Raises UsageError.

    >>> _address("127.0.0.1:10809"), _address("[::1]:0")
    (('127.0.0.1', 10809), ('::1', 0))
    """
    host, colon, port = text.rpartition(":")
    try:
        if not colon or not host or not port.isascii() or not 0 <= int(port) <= 0xFFFF:
            raise ValueError
    except ValueError:
        raise status.UsageError(
            f"--tcp {text}: not HOST:PORT", hint="write for instance 127.0.0.1:10809, or [::1]:10809"
        ) from None
    try:
        addresses = sockets.getaddrinfo(host.strip("[]"), int(port), type=sockets.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise status.UsageError(
            f"--tcp {text}: {getattr(error, 'strerror', None) or error}",
            hint="name an address of this machine",
        ) from None
    return str(addresses[0][4][0]), int(port)


def uri(plan: ServePlan, serving: Serving) -> str:
    """Return what clients call the export."""
    name = quote(plan.name, safe="")
    if isinstance(plan.listen, Path):
        return f"nbd+unix:///{name}?socket={quote(str(plan.listen.absolute()))}"
    return f"nbd://{serving.address}/{name}"


def _opening(target: ModelTarget, plan: ServePlan, store: Path | None, serving: Serving, seed: int) -> str:
    """What is served, where, how to come to it, and how far it can be believed."""
    from iogauge.text.numbers import duration, percent, size

    facts, modelled, bias = target.facts, target.facts.modelled, serving.bias
    version = f"{modelled.drive} version {modelled.drive_version}, " if modelled else ""
    kept = f"in {store}" if store else f"in memory, at most {size(plan.memory_bytes)}"
    if store is None and plan.read_only:
        kept = "nothing but zeroes"
    address = uri(plan, serving)
    slower = f"{plan.dilate} times slower than the model: divide times by {plan.dilate}, multiply rates"
    dilated = duration(bias.drive_ns * plan.dilate)
    rows = {
        "serving": f"{facts.model} ({version}seed {seed})",
        "export": f"{plan.name}, {size(serving.size_bytes)}{', read-only' if plan.read_only else ''}; "
        f"data {kept}",
        "at": address,
        "time": slower if plan.dilate > 1 else "the model's own",
        "bias": f"{percent(bias.fraction)}: a 4 KiB read takes {duration(bias.drive_ns)}, "
        f"dilated {dilated}, and a program waits {duration(bias.overhead_ns)} more",
        "fio": f"fio --name=x --ioengine=nbd --uri={shlex.quote(address)} --rw=randread --bs=4k",
        "look": f"nbdinfo {shlex.quote(address)}",
        "end": "Ctrl-C",
    }
    return "".join(f"{label:<8} {text}\n" for label, text in rows.items())


def _closing(served: Served) -> str:
    """What was served, and how late replies were."""
    from iogauge.text.numbers import counted, duration, percent, size

    moved = f"{size(served.read_bytes)} read, {size(served.written_bytes)} written"
    who = counted(served.connections, "connection")
    away = f", {served.turned_away:,} turned away" if served.turned_away else ""
    text = f"served   {counted(served.requests, 'request')} ({moved}) of {who}{away}\n"
    if served.requests:
        text += (
            f"late     median {duration(served.late_p50_ns)} ({percent(served.late_p50)} of what the request "
            f"takes), p99 {duration(served.late_p99_ns)} ({percent(served.late_p99)}), "
            f"at most {duration(served.late_most_ns)}\n"
        )
    return text
