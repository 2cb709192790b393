"""Sends requests to an ASGI application without a socket, as a browser of one computer would."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes

from iogauge.web import session

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message

PORT = 8384
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"
TOKEN = "a token of the tests"


@dataclass(frozen=True)
class Answer:
    """What the application sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """A browser that is signed in, unless ``signed_in`` is false."""

    def __init__(self, app: ASGIApp, *, signed_in: bool = True, token: str = TOKEN) -> None:
        self._app = app
        self._cookie = (
            {"cookie": f"{session.cookie_name(HOST)}={session.cookie_of(token)}"} if signed_in else {}
        )

    def get(self, target: str, **headers: str) -> Answer:
        """Send a GET for a page; names of headers have underscores."""
        return self.send("GET", target, headers={"accept": "text/html", **_dashed(headers)})

    def post(self, target: str, content: object, **headers: str) -> Answer:
        """Send a POST with JSON, as a page of the server does."""
        own = {
            "content-type": "application/json",
            "origin": ORIGIN,
            "sec-fetch-site": "same-origin",
            "accept": "application/json",
        }
        body = json.dumps(content).encode()
        return self.send("POST", target, headers={**own, **_dashed(headers)}, body=body)

    def send(
        self,
        method: str,
        target: str | bytes,
        *,
        headers: dict[str, str] | list[tuple[bytes, bytes]],
        body: bytes = b"",
    ) -> Answer:
        """Send any request; headers in a list are sent as they are, in a dictionary with Host and the cookie."""
        if isinstance(headers, dict):
            sent = {"host": HOST, **self._cookie, **headers}
            pairs = [
                (name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in sent.items()
            ]
        else:
            pairs = headers
        return asyncio.run(self._send(method, target, pairs, body))

    async def _send(
        self, method: str, target: str | bytes, headers: list[tuple[bytes, bytes]], body: bytes
    ) -> Answer:
        raw = target.encode() if isinstance(target, str) else target
        path, _, query = raw.partition(b"?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote_to_bytes(path).decode("utf-8", "replace"),
            "raw_path": path,
            "root_path": "",
            "query_string": query,
            "headers": headers,
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", PORT),
        }
        waiting = [{"type": "http.request", "body": body, "more_body": False}]
        answered: list[Message] = []

        async def receive() -> Message:
            if waiting:
                return waiting.pop(0)
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

        async def send(message: Message) -> None:
            answered.append(message)

        await self._app(scope, receive, send)
        start = answered[0]
        return Answer(
            start["status"],
            {name.decode().lower(): value.decode("latin-1") for name, value in start.get("headers", [])},
            b"".join(message.get("body", b"") for message in answered[1:]),
        )


def _dashed(headers: dict[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}
