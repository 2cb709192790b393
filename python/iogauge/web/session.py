"""The token of a server, and the cookie for which a browser exchanges it.

The link that the server prints has the token in its fragment, which a browser sends to nobody. A script of the sign-in
page posts it, and gets a cookie that no script can read. The token is kept between starts in the user's own directory,
so that open pages go on when the server starts again.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.store import durable

SHORTEST = 16
"""A token of fewer characters could be guessed."""
_BYTES = 24


def cookie_name(host: str) -> str:
    """Return the name of the cookie of a server, by the Host header of its requests.

    A browser sends a cookie to every port of a host: the port in its name keeps two servers apart.

    >>> cookie_name("127.0.0.1:8384"), cookie_name("[::1]")
    ('iogauge-8384', 'iogauge')
    """
    port = host.rpartition(":")[2]
    return f"iogauge-{port}" if port.isdecimal() else "iogauge"


def cookie_of(token: str) -> str:
    """Return the value of the cookie for which a token is exchanged.

    >>> cookie_of("a") != cookie_of("b"), len(cookie_of("a"))
    (True, 64)
    """
    return hmac.new(token.encode(), b"iogauge session", hashlib.sha256).hexdigest()


def is_token(text: str, token: str) -> bool:
    """Return whether a text is the token, in a time that does not depend on how much of it is right."""
    return hmac.compare_digest(text.encode("utf-8", "surrogateescape"), token.encode())


def is_cookie(text: str, token: str) -> bool:
    """Return whether a text is the cookie of the token, in a time that does not depend on how much of it is right."""
    return hmac.compare_digest(text.encode("utf-8", "surrogateescape"), cookie_of(token).encode())


def own_token() -> str:
    """Return the user's token, and make one at first use. If it cannot be kept, it is new at each start."""
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    path = state / "iogauge" / "web-token"
    try:
        return read_token(path)
    except IogaugeError:
        token = secrets.token_urlsafe(_BYTES)
        _keep(path, token)
        return token


def read_token(path: Path) -> str:
    """Return the token in a file that only its owner can read.

    Raises IogaugeError if there is none, if others may read it, or if it is too short.
    """
    try:
        mode = path.stat().st_mode
        token = path.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise IogaugeError(f"{path}: no token can be read here: {error}", hint="name a text file") from error
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise IogaugeError(f"{path}: others may read this token", hint=f"chmod 600 {path}")
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable():
        raise IogaugeError(
            f"{path}: a token needs at least {SHORTEST} letters and digits",
            hint=f"make one: head -c 24 /dev/urandom | base64 > {path}",
        )
    return token


def _keep(path: Path, token: str) -> None:
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        durable.replace_file(path, f"{token}\n".encode())
        path.chmod(0o600)
    except (OSError, IogaugeError):
        return  # the token is printed at each start
