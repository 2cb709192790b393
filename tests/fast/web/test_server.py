"""The server on a real socket: slow, silent or many clients, TLS, refused addresses; how it gives way."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from starlette.responses import PlainTextResponse

from iogauge.errors import IogaugeError
from iogauge.web import server
from iogauge.web.settings import Settings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATIENCE_S = 600
SHORT_S = 0.2
"""The time of a request that does not come. One that is to be answered has a longer one: this machine may be busy."""


async def reading(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer a request when its body is complete."""
    while scope["type"] == "http" and (message := await receive()).get("more_body"):
        pass
    if scope["type"] != "http" or message["type"] == "http.request":
        await answering(scope, receive, send)


async def answering(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer every request with one word, and take part in the server's start and end."""
    if scope["type"] == "lifespan":
        while True:
            message = await receive()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return
    await PlainTextResponse("answered")(scope, receive, send)


def shortening(monkeypatch: pytest.MonkeyPatch) -> ASGIApp:
    """Return an application that answers its first request, and lets those after it have a short time."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            monkeypatch.setattr(server, "REQUEST_S", SHORT_S)
        await answering(scope, receive, send)

    monkeypatch.setattr(server, "REQUEST_S", PATIENCE_S)
    return app


@contextmanager
def serving(chosen: Settings, monkeypatch: pytest.MonkeyPatch, *, app: ASGIApp = answering) -> Iterator[int]:
    """Serve in a thread, and yield the port."""
    monkeypatch.setattr(server, "lower_priority", lambda: None)
    monkeypatch.setattr(server, "leave_workers_cpus", lambda: None)
    made: list[Any] = []
    own = server._Server
    monkeypatch.setattr(server, "_Server", lambda *arguments: made.append(own(*arguments)) or made[-1])
    ready = threading.Event()
    sock = server.bind(chosen)
    thread = threading.Thread(target=server.serve, args=(chosen, app, sock), kwargs={"on_ready": ready.set})
    thread.start()
    try:
        assert ready.wait(PATIENCE_S)
        yield sock.getsockname()[1]
    finally:
        made[0].should_exit = True
        thread.join(PATIENCE_S)
        assert not thread.is_alive()


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    with serving(chosen(), monkeypatch) as number:
        yield number


def chosen(**options: Any) -> Settings:
    return Settings(**{"directory": Path(), "token": "a token of the tests", "port": 0, **options})


def connected(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)


REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"


def received(connection: socket.socket) -> bytes:
    """Return all that comes until the server closes the connection."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def test_a_request_is_answered(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(REQUEST)
        assert b"answered" in received(connection)


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:", b"GET /"])
def test_a_client_that_does_not_finish_its_request_is_let_go(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "REQUEST_S", SHORT_S)
    with serving(chosen(), monkeypatch) as port, connected(port) as slow:
        slow.sendall(sent)
        assert received(slow) == b""
        monkeypatch.setattr(server, "REQUEST_S", PATIENCE_S)
        with connected(port) as other:
            other.sendall(REQUEST)
            assert b"answered" in received(other)


def test_a_body_has_to_come_in_time_and_needs_no_sign_in_to_be_let_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server, "REQUEST_S", SHORT_S)
    head = b"POST /session HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 9\r\n\r\n{"
    with serving(chosen(), monkeypatch, app=reading) as port, connected(port) as slow:
        slow.sendall(head)
        assert received(slow) == b""
        monkeypatch.setattr(server, "REQUEST_S", PATIENCE_S)
        with connected(port) as other:
            other.sendall(head + b'"a": 1}\n')
            assert b"answered" in received(other)


def test_a_refusal_of_a_body_that_does_not_come_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(chosen(), monkeypatch, app=shortening(monkeypatch)) as port, connected(port) as slow:
        slow.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n{")
        assert b"answered" in received(slow)


def test_a_client_that_keeps_its_connection_has_a_time_for_each_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(chosen(), monkeypatch, app=shortening(monkeypatch)) as port, connected(port) as slow:
        slow.sendall(REQUEST.replace(b"Connection: close\r\n", b""))
        assert slow.recv(65536).startswith(b"HTTP/1.1 200")
        slow.sendall(b"GET /")
        received(slow)


def test_a_head_without_end_is_refused(port: int) -> None:
    with connected(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n" + b"a: " + b"b" * (server.LARGEST_HEAD + 1024))
        assert b"answered" not in received(connection)


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x00\xff", b"\r\n\r\n\r\n", b"GET / x HTTP/1.1\r\n\r\n", b"\x00" * 100]
)
def test_what_is_no_request_is_refused_and_others_are_served(port: int, sent: bytes) -> None:
    with connected(port) as strange, connected(port) as other:
        strange.sendall(sent)
        strange.shutdown(socket.SHUT_WR)
        assert b"answered" not in received(strange)
        other.sendall(REQUEST)
        assert b"answered" in received(other)


def test_more_connections_than_allowed_are_told_to_wait(port: int) -> None:
    silent = [connected(port) for _ in range(server.MOST_CONNECTIONS)]
    try:
        with connected(port) as late:
            late.sendall(REQUEST)
            assert received(late).startswith(b"HTTP/1.1 503")
    finally:
        for connection in silent:
            connection.close()


needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="there is no openssl, which makes certificates"
)


def certified(folder: Path, name: str = "server") -> tuple[Path, Path]:
    """Make a certificate, and return the paths of it and of its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}-key.pem"
    subprocess.run(
        f"openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=lab.example -addext "
        f"subjectAltName=DNS:lab.example -keyout {key} -out {certificate}".split(),
        check=True,
        capture_output=True,
    )
    return certificate, key


@needs_openssl
def test_tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, key = certified(tmp_path)
    tls = chosen(certificate=certificate, key=key, names=("lab.example",))
    with serving(tls, monkeypatch) as port:
        context = ssl.create_default_context(cafile=str(certificate))
        with connected(port) as plain, context.wrap_socket(plain, server_hostname="lab.example") as secure:
            secure.sendall(REQUEST)
            assert b"answered" in received(secure)
        with connected(port) as plain:
            plain.sendall(REQUEST)
            assert b"answered" not in received(plain)


def test_other_computers_do_not_reach_it_without_tls() -> None:
    with pytest.raises(IogaugeError, match="without TLS") as refused:
        server.bind(chosen(address="0.0.0.0"))
    assert "certificate" in refused.value.hint


@needs_openssl
@pytest.mark.parametrize(
    ("certificate", "key", "message"),
    [
        ("missing.pem", None, "missing.pem: cannot be read: No such file"),
        (".", None, "cannot be read: Is a directory"),
        ("junk.pem", None, "no certificate in PEM with its key"),
        ("server.pem", None, "no certificate in PEM with its key"),
        ("server.pem", "missing.pem", "missing.pem: cannot be read"),
        ("server.pem", "other-key.pem", "the key is of another certificate"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_an_error(
    tmp_path: Path, certificate: str, key: str | None, message: str
) -> None:
    for name in ("server", "other"):
        certified(tmp_path, name)
    (tmp_path / "junk.pem").write_text("junk")
    with pytest.raises(IogaugeError, match=message) as refused:
        server.bind(chosen(certificate=tmp_path / certificate, key=key and tmp_path / key))
    assert refused.value.hint


def test_a_taken_port_is_an_error_unless_it_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with server.bind(chosen()) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(IogaugeError, match="cannot listen"):
            server.bind(chosen(port=port))
        monkeypatch.setattr(server, "PORT", port)
        with server.bind(chosen(port=port)) as other:
            assert port < other.getsockname()[1] < port + 20


@needs_openssl
def test_an_address_that_is_not_of_this_computer_is_an_error(tmp_path: Path) -> None:
    certificate, key = certified(tmp_path)
    with pytest.raises(IogaugeError, match="cannot listen"):
        server.bind(chosen(address="127.0.0.1.invalid", certificate=certificate, key=key))


def test_the_link_has_the_token_in_its_fragment() -> None:
    with server.bind(chosen()) as sock:
        port = sock.getsockname()[1]
        assert (
            server.link_of(chosen(), sock) == f"http://127.0.0.1:{port}/#token=a%20token%20of%20the%20tests"
        )
    with server.bind(chosen(address="::1")) as sock:
        assert server.link_of(chosen(address="::1"), sock).startswith("http://[::1]:")
        tunnel = chosen(names=("localhost:9000",))
        assert server.link_of(tunnel, sock).startswith("http://localhost:9000/#token=")


_PROCESS = """
import json, os, subprocess, sys, threading
from pathlib import Path
from iogauge.web import quiet
from iogauge.web.starting import Starter

def begin(**options):
    child = subprocess.Popen([sys.executable, "-c", "print(flush=True); input()"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, **options)
    child.stdout.readline()
    return child

def nices(pid):
    return sorted(os.getpriority(os.PRIO_PROCESS, int(entry.name)) for entry in Path(f"/proc/{pid}/task").iterdir())

before = os.getpriority(os.PRIO_PROCESS, 0)
starter = Starter(Path.cwd())
end = threading.Event()
earlier = [threading.Thread(target=end.wait) for _ in range(3)]
for thread in earlier:
    thread.start()
child, review = begin(), begin(start_new_session=True)
quiet.lower_priority()
own = nices(os.getpid())
cpu = min(os.sched_getaffinity(0))
quiet.pinned_cpus = lambda pid: {cpu}
quiet.feeds = lambda: [starter]
starter.pid = 0
quiet.leave_workers_cpus()
of_starter = starter._spawning.submit(lambda: os.sched_getaffinity(0)).result()
said = {
    "before": before,
    "own": own,
    "child": nices(child.pid),
    "review": nices(review.pid),
    "cpus": [sorted(os.sched_getaffinity(pid)) for pid in (0, child.pid, review.pid)] + [sorted(of_starter)],
    "cpu": cpu,
    "all": sorted(quiet._ALL),
}
end.set()
for process in (child, review):
    process.communicate(b"\\n")
starter.close()
print(json.dumps(said))
"""


@pytest.mark.slow
def test_every_thread_and_process_of_the_server_gives_way_but_the_reviews_that_it_starts() -> None:
    said = json.loads(subprocess.check_output([sys.executable, "-c", _PROCESS]))
    before, lowered = said["before"], max(said["before"], 10)
    # The thread that starts reviews keeps the priority.
    assert said["own"][0] == before
    assert len(said["own"]) >= 5
    assert set(said["own"][1:]) == {lowered}
    assert set(said["child"]) == {lowered}
    assert set(said["review"]) == {before}
    everywhere = said["all"]
    others = [cpu for cpu in everywhere if cpu != said["cpu"]] or everywhere
    assert said["cpus"] == [others, others, everywhere, everywhere]
