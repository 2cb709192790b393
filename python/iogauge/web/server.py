"""Runs the application: one process of low priority, which keeps off the CPUs of a measurement's workers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from iogauge.errors import IogaugeError
from iogauge.web.quiet import leave_workers_cpus, lower_priority
from iogauge.web.settings import PORT, Settings, split_name

MOST_CONNECTIONS = 128
"""Connections at once; further ones get status 503."""
REQUEST_S = 10.0
"""A client has to send its request, head and body, within this time."""
LARGEST_HEAD = 32 * 1024
"""Bytes of the head of a request that is not complete yet."""
CPUS_EVERY_S = 2.0
_PORTS = 20
"""If the usual port is taken, one of the next ones is."""


class _Protocol(H11Protocol):
    """HTTP/1.1 that closes a connection whose request does not come."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._deadline = self.loop.call_later(REQUEST_S, self._close_if_incomplete)

    def handle_events(self) -> None:
        super().handle_events()
        if not self._is_incomplete:
            self._deadline.cancel()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # The next request of the connection has a time of its own.
        self._deadline.cancel()
        self._deadline = self.loop.call_later(REQUEST_S, self._close_if_incomplete)

    def connection_lost(self, exc: Exception | None) -> None:
        self._deadline.cancel()
        super().connection_lost(exc)

    @property
    def _is_incomplete(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _close_if_incomplete(self) -> None:
        if self._is_incomplete:
            self.transport.close()


def serve(settings: Settings, app: Any, sock: socket.socket, *, on_ready: Callable[[], None]) -> None:
    """Serve the application on a socket until SIGINT or SIGTERM; call ``on_ready`` when it answers."""
    lower_priority()
    config = uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="on",
        loop="asyncio",
        access_log=False,
        log_config=None,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=2,
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )
    # The application says itself, in a line, what a view could not do.
    logging.getLogger("uvicorn").setLevel(logging.CRITICAL)
    server = _Server(config, on_ready)
    with _leaving_cpus():
        server.run(sockets=[sock])


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if not self.should_exit:
            self._on_ready()


@contextlib.contextmanager
def _leaving_cpus() -> Iterator[None]:
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(CPUS_EVERY_S):
            leave_workers_cpus()

    leave_workers_cpus()
    thread = threading.Thread(target=watch, name="cpus", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def bind(settings: Settings) -> socket.socket:
    """Return a socket that is bound to the address; if the usual port is taken, to one of the next.

    Raises IogaugeError if the address cannot be had, or is not a loopback address and has no TLS, or the certificate
    cannot be used.
    """
    if not settings.is_loopback and not settings.certificate:
        raise IogaugeError(
            f"{settings.address}: other computers would reach the server without TLS",
            hint="name a certificate, or reach the server through ssh -L instead",
        )
    _check_certificate(settings)
    family = socket.AF_INET6 if ":" in settings.address else socket.AF_INET
    ports = range(PORT, PORT + _PORTS) if settings.port == PORT else [settings.port]
    for port in ports:
        sock = socket.socket(family)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((settings.address, port))
        except OSError as error:
            sock.close()
            if port != ports[-1]:
                continue
            raise IogaugeError(
                f"{settings.address}:{port}: cannot listen there: {error.strerror or error}",
                hint="name another address or port; port 0 is any free one",
            ) from error
        os.set_inheritable(sock.fileno(), False)
        return sock
    raise AssertionError("unreachable")


def _check_certificate(settings: Settings) -> None:
    """Raise IogaugeError if the files of the certificate and its key cannot be used for TLS."""
    if settings.certificate is None:
        return
    for path in filter(None, (settings.certificate, settings.key)):
        try:
            path.open("rb").close()
        except OSError as error:
            raise IogaugeError(
                f"{path}: cannot be read: {error.strerror or error}",
                hint="name the server's certificate and its key, in PEM",
            ) from error
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(
            settings.certificate, settings.key, password=""
        )
    except ssl.SSLError as error:
        reason = "the key is of another certificate" if error.reason == "KEY_VALUES_MISMATCH" else None
        raise IogaugeError(
            f"{settings.certificate}: {reason or 'no certificate in PEM with its key, without a password'}",
            hint="name a file with the certificate, and its key in it or in a file of its own",
        ) from error


def link_of(settings: Settings, sock: socket.socket) -> str:
    """Return the link with the token that a user opens."""
    port = sock.getsockname()[1]
    host, own_port = split_name(settings.names[0] if settings.names else settings.address)
    return f"{settings.scheme}://{host}:{own_port or port}/#token={quote(settings.token, safe='')}"
