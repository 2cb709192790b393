"""Decides which requests reach the pages.

A page in another tab of the same browser can send requests to this server, too: with a name of its own that it makes
resolve to this computer (DNS rebinding), or from its own origin (cross-site requests). So a request has to name this
server in its Host header, exactly; a change has to come from a page of this server, as JSON; and all but the sign-in
page needs the cookie. A request is refused with a page, or as JSON, that says why and what to do.
"""

from __future__ import annotations

import json
import re
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

from iogauge.web import session

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from iogauge.web.settings import Settings

LONGEST_TARGET = 8192
"""Bytes of a path with its query."""
LARGEST_BODY = 64 * 1024
"""Bytes of the body of a request."""
BURST = 400
"""Requests that a client may send at once."""
PER_SECOND = 100
"""Requests a second that a client may send for long."""
MOST_CLIENTS = 1000
"""Clients whose requests are counted; the one that was idle longest is forgotten first."""

STATIC = "/static/"
"""Scripts and styles, which are public."""
SIGN_IN_AT = "/session"
"""Where the token is exchanged for the cookie."""
_DIGEST = re.compile(rb"[0-9a-f]{12}")
"""The query of a script or style whose address changes with its text."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""What a page may load: only from this server, and no script but its files. Charts set styles of their marks."""
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}


@dataclass(frozen=True)
class Refusal:
    """Why a request is not answered, and what to do."""

    status: int
    message: str
    hint: str


class Rate:
    """Counts the requests of each client against a bucket that fills with time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._clients: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def allows(self, client: str) -> bool:
        """Count one request, and return whether it is within the client's rate.

        >>> rate = Rate(clock=lambda: 0.0)
        >>> sum(rate.allows("a") for _ in range(1000)) == BURST, rate.allows("b")
        (True, True)
        """
        now = self._clock()
        left, before = self._clients.pop(client, (float(BURST), now))
        left = min(left + (now - before) * PER_SECOND, float(BURST))
        allowed = left >= 1
        self._clients[client] = (left - allowed, now)
        while len(self._clients) > MOST_CLIENTS:
            self._clients.popitem(last=False)
        return allowed


class Guard:
    """ASGI middleware: refuses what must not reach the pages, and adds the headers of every answer."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._settings = settings
        self._rate = Rate()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if message["status"] == 200 and _is_unchanging(scope):
                    headers.setdefault("cache-control", "max-age=86400")
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self.refusal(scope)
        if refusal:
            await _refuse(scope, with_headers, refusal)
            return
        body = _Body(receive)
        try:
            await self._app(scope, body.receive, with_headers)
        except _TooLargeError:
            await _refuse(scope, with_headers, _LARGE)

    def refusal(self, scope: Scope) -> Refusal | None:
        """Return why a request is refused; None: it may pass."""
        headers = Headers(scope=scope)
        settings = self._settings
        port = scope["server"][1] if scope.get("server") else settings.port
        names = headers.getlist("host")
        host = names[0].lower() if len(names) == 1 else ""
        if host not in settings.hosts(port):
            return Refusal(
                421,
                "this server does not have that name",
                "open the link that the server printed, or start it with the name that you use",
            )
        client = scope["client"][0] if scope.get("client") else ""
        signed_in = self._is_signed_in(headers, host)
        # Other users of this computer have the same address: without the cookie, they use up a rate of their own.
        if not self._rate.allows(f"{client} signed in" if signed_in else client):
            return Refusal(429, "too many requests", f"send at most {PER_SECOND} a second")
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string", b"")) > LONGEST_TARGET:
            return Refusal(414, "the address is too long", f"send at most {LONGEST_TARGET:,} bytes")
        method, site = scope["method"], headers.get("sec-fetch-site", "same-origin")
        if method in ("GET", "HEAD"):
            visited = (
                headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
            )
            if site not in ("same-origin", "none") and not visited:
                return Refusal(
                    403, "another site's page asked for this page", "open it from the list of reviews"
                )
        elif method == "POST":
            if refusal := self._refused_change(headers, f"{settings.scheme}://{host}", site):
                return refusal
        else:
            return Refusal(405, f"{method} is not answered", "use GET, HEAD or POST")
        open_to_all = scope["path"].startswith(STATIC) or scope["path"] == SIGN_IN_AT
        if not open_to_all and not signed_in:
            return Refusal(401, "sign in first", "open the link that the server printed, with its token")
        return None

    def _refused_change(self, headers: Headers, origin: str, site: str) -> Refusal | None:
        if headers.getlist("origin") != [origin] or site != "same-origin":
            return Refusal(403, "another site's page asked for a change", "use the pages of this server")
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return Refusal(415, "a change has to be sent as JSON", "set Content-Type: application/json")
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) <= 10 and int(length) <= LARGEST_BODY):
            return _LARGE
        return None

    def _is_signed_in(self, headers: Headers, host: str) -> bool:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        cookie = cookies.get(session.cookie_name(host))
        return cookie is not None and session.is_cookie(cookie.value, self._settings.token)


_LARGE = Refusal(413, "the request is too large", f"send at most {LARGEST_BODY:,} bytes")


def _is_unchanging(scope: Scope) -> bool:
    return scope["path"].startswith(STATIC) and bool(_DIGEST.fullmatch(scope.get("query_string", b"")))


class _TooLargeError(Exception):
    """A body without a stated length went on for too long."""


class _Body:
    """Passes the body of a request on, up to its limit."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._received = 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._received += len(message.get("body", b""))
        if self._received > LARGEST_BODY:
            raise _TooLargeError
        return message


SIGN_IN = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sign in to iogauge</title><link rel="stylesheet" href="/static/app.css"></head>
<body><main class="narrow"><h1>Sign in</h1>
<p id="state" role="status">Open the link that <code>iogauge web</code> printed: it has the token.</p>
<form id="sign-in"><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="off" spellcheck="false" required>
<button>Sign in</button></form></main>
<script src="/static/sign-in.js"></script></body></html>
"""


async def _refuse(scope: Scope, send: Send, refusal: Refusal) -> None:
    accepted = Headers(scope=scope).get("accept", "")
    if "text/html" in accepted:
        kind = "text/html; charset=utf-8"
        text = SIGN_IN if refusal.status == 401 else _page(refusal)
    else:
        kind = "application/json"
        text = json.dumps({"error": refusal.message, "hint": refusal.hint})
    body = text.encode()
    headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    if refusal.status == 429:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


def _page(refusal: Refusal) -> str:
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Refused: {escape(refusal.message)}</title></head><body><main>"
        f"<h1>Refused: {escape(refusal.message)}</h1><p>hint: {escape(refusal.hint)}</p></main></body></html>\n"
    )
