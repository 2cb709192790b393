"""A drive model served to other programs as a network block device (NBD)."""

from __future__ import annotations

import socket as sockets
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import quote

from iogauge.errors import UsageError
from iogauge.library import quantities
from iogauge.library.options import StrPath
from iogauge.library.public import public
from iogauge.text.option import call, option

if TYPE_CHECKING:
    from iogauge.execution.serve import Served, ServePlan, Server, Serving
    from iogauge.store.kept import KeptFile
    from iogauge.store.outputs import Output
    from iogauge.target import ModelTarget

MOST_DILATION = (1 << 32) - 1


@public
def serve_model(
    name: str,
    *,
    socket: StrPath | None = None,
    tcp: str | None = None,
    allow_remote: bool = False,
    dilate: int = 100,
    size: int | str | None = None,
    store: StrPath | None = None,
    memory: int | str | None = None,
    read_only: bool = False,
    seed: int = 1,
    faults: Sequence[str] = (),
    write_cache: int | str | None = None,
    power_cut: str | None = None,
    fault_log: StrPath | None = None,
    on_message: Callable[[str], None] = lambda _: None,
) -> ModelServer:
    """Serve a drive model by NBD to fio, qemu, nbdcopy or a kernel, in the background, until it is stopped.

    The data is real; the time is the model's, slowed down: divide the times that a program measures by ``dilate``.

    Args:
        name: a drive that ``models`` lists, or the path of a TOML file.
        socket: create this Unix socket and listen on it.
        tcp: listen on ``"HOST:PORT"`` instead; port 0 takes a free one.
        allow_remote: let other machines reach the port and all data, without a password.
        dilate: serve this many times slower than the model, 1 to 2^32 - 1.
        size: how much of the drive to serve, bytes or text such as ``"32g"``; by default all of it.
        store: keep the data in this sparse file, which is made, or was made by an earlier ``store``.
        memory: the most data to keep in memory, without ``store``; by default 1 GiB.
        read_only: refuse writes.
        seed: every random choice of the model and of faults derives from it; at least 0.
        faults: what goes wrong, such as ``"torn-write:every=100"``; see docs/faults.md.
        write_cache: the size of a volatile write cache: what was not flushed is lost with the power. By default 64 MiB
            where a fault or ``power_cut`` needs one, and otherwise none.
        power_cut: when the power is cut: at a request (``"1000"``), after a time (``"2.5s"``), or by ``cut_power``.
        fault_log: write each fault as it happens to this file, as JSON.
        on_message: is called with what is worth a line.

    Raises:
        UsageError: an argument cannot be.
        IogaugeError: there is no such model, the socket or the store cannot be opened, or programs would wait over 20 %
            longer than the model: the hint names the dilation that would do.

    Examples:
        >>> import iogauge, tempfile
        >>> with iogauge.serve_model("p4800x", socket=f"{tempfile.mkdtemp()}/nbd", dilate=1000000) as server:
        ...     server.uri.partition("?")[0]
        'nbd+unix:///p4800x'
        >>> server.stop().requests
        0
    """
    request = prepared(
        name,
        socket=socket,
        tcp=tcp,
        allow_remote=allow_remote,
        dilate=dilate,
        size=size,
        store=store,
        memory=memory,
        read_only=read_only,
        seed=seed,
        faults=faults,
        write_cache=write_cache,
        power_cut=power_cut,
        fault_log=fault_log,
        say=on_message,
    )
    from iogauge.execution.serve import Server

    server = Server(
        request.target,
        request.plan,
        seed=request.seed,
        store=request.kept,
        fault_log=request.fault_log,
    )
    return ModelServer(server, request.plan)


class ModelServer(AbstractContextManager["ModelServer"]):
    """A drive model that is being served. Leaving its ``with`` block stops it, as ``stop`` does."""

    def __init__(self, server: Server, plan: ServePlan) -> None:
        self._server = server
        self._plan = plan
        self._served: Served | None = None

    @property
    def uri(self) -> str:
        """What clients call the export: ``fio --ioengine=nbd --uri=URI``."""
        return uri(self._plan, self._server.serving)

    @property
    def serving(self) -> Serving:
        """The size of the export, its address, and how much longer programs wait than on the model."""
        return self._server.serving

    def wait(self) -> Served:
        """Serve until Ctrl-C, and return what was served. Raises IogaugeError where serving failed."""
        from iogauge.execution.interrupts import Interrupts

        with Interrupts() as interrupts:
            return self._end(lambda: interrupts.count > 0)

    def cut_power(self) -> None:
        """Cut the power: what was not flushed is lost, and all connections are closed. Clients may connect again.

        Raises UsageError if the server has neither faults nor a write cache.
        """
        if self._plan.faults is None:
            raise UsageError(
                "this server has nothing to lose", hint=f"give it {option('write_cache', '64m')}"
            )
        self._server.cut_power()

    def stop(self) -> Served:
        """Stop, and return what was served; the same again where it has stopped. Raises IogaugeError as ``wait``."""
        return self._end(lambda: True)

    def _end(self, until: Callable[[], bool]) -> Served:
        if self._served is None:
            self._served = self._server.served(until=until)
        return self._served

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<ModelServer at {self.uri}>"


@dataclass(frozen=True)
class ServeRequest:
    """What is to be served, and how; the file that keeps the data is open."""

    target: ModelTarget
    plan: ServePlan
    seed: int
    store: Path | None
    kept: KeptFile | None
    fault_log: Output | None


def prepared(
    name: str,
    *,
    socket: StrPath | None,
    tcp: str | None,
    allow_remote: bool,
    dilate: int,
    size: int | str | None,
    store: StrPath | None,
    memory: int | str | None,
    read_only: bool,
    seed: int,
    faults: Sequence[str],
    write_cache: int | str | None,
    power_cut: str | None,
    fault_log: StrPath | None,
    say: Callable[[str], None],
) -> ServeRequest:
    """Check the arguments of ``serve_model``, and open the model and the file that keeps the data."""
    from iogauge.execution.serve import ServePlan
    from iogauge.library.models.faults import fault_plan
    from iogauge.store.kept import read_kept
    from iogauge.store.outputs import Claims, Existing

    if (socket is None) == (tcp is None):
        raise UsageError(
            "name one place to listen at",
            hint=f"{option('socket', 'PATH')}, or {option('tcp', '127.0.0.1:10809')}",
        )
    if store is not None and memory is not None:
        raise UsageError(
            f"{option('store')} keeps no data in memory",
            hint=f"leave out {option('memory')}, or {option('store')}",
        )
    if allow_remote and tcp is None:
        raise UsageError(
            f"{option('allow_remote')} is about {option('tcp')}",
            hint="no other machine reaches a Unix socket",
        )
    if not 1 <= dilate <= MOST_DILATION:
        raise UsageError(
            f"{option('dilate')} {dilate}: must be from 1 to {MOST_DILATION}", hint="leave it out for 100"
        )
    if seed < 0:
        raise UsageError(f"{option('seed')} {seed}: must be at least 0", hint="leave it out for 1")
    size_bytes = None if size is None else quantities.size_bytes(size, name="size")
    plan = ServePlan(
        name=Path(name.removeprefix("model:")).name.removesuffix(".toml"),
        listen=_address(tcp) if tcp is not None else Path(socket or ""),
        allow_remote=allow_remote,
        dilate=dilate,
        size_bytes=size_bytes,
        memory_bytes=quantities.size_bytes("1g" if memory is None else memory, name="memory"),
        read_only=read_only,
        faults=fault_plan(faults, write_cache=write_cache, power_cut=power_cut, seed=seed),
    )
    if fault_log is not None and plan.faults is None:
        raise UsageError(
            f"{option('fault_log')}: there are no faults", hint=f"ask for some with {option('faults')}"
        )
    target = _target(name)
    claims = Claims(targets=[target.facts.path], say=say)
    log = claims.file(Path(fault_log), existing=Existing.OWN) if fault_log is not None else None
    kept, path = None, None if store is None else Path(store)
    if path is not None:
        kept_bytes = target.size_bytes if size_bytes is None else size_bytes
        open_kept = read_kept if read_only else claims.kept
        kept = open_kept(path, size_bytes=kept_bytes)
    return ServeRequest(target, plan, seed, path, kept, log)


def _target(name: str) -> ModelTarget:
    """Load what is to be served."""
    from iogauge import catalog
    from iogauge.target import ModelTarget, open_target

    path = name if name.startswith(catalog.PREFIX) else f"{catalog.PREFIX}{name}"
    drive, machine = catalog.split(path)
    if machine is not None:
        raise UsageError(
            f"{name}: the machine in front of a served drive is the one that the programs run on",
            hint=call("serve_model", drive),
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
        raise UsageError(
            f"{option('tcp')} {text}: not HOST:PORT",
            hint="write for instance 127.0.0.1:10809, or [::1]:10809",
        ) from None
    try:
        addresses = sockets.getaddrinfo(host.strip("[]"), int(port), type=sockets.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise UsageError(
            f"{option('tcp')} {text}: {getattr(error, 'strerror', None) or error}",
            hint="name an address of this machine",
        ) from None
    return str(addresses[0][4][0]), int(port)


def uri(plan: ServePlan, serving: Serving) -> str:
    """Return what clients call the export."""
    name = quote(plan.name, safe="")
    if isinstance(plan.listen, Path):
        return f"nbd+unix:///{name}?socket={quote(str(plan.listen.absolute()))}"
    return f"nbd://{serving.address}/{name}"
