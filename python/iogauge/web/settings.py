"""What the user chose when the server was started."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path

from iogauge.errors import UsageError

PORT = 8384
"""The port that the server listens on, if it is free."""
_NAME = re.compile(r"([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is served, where, and to whom."""

    directory: Path
    """Reviews in it and below it are served; no other file is. The index of a collection is in it."""
    token: str
    """Whoever has it may read all pages, and start reviews if ``allow_start``."""
    address: str = "127.0.0.1"
    port: int = PORT
    """The port of the server; 0: any free one."""
    names: tuple[str, ...] = ()
    """Further names by which browsers may address the server: HOST, or HOST:PORT where they use another port."""
    certificate: Path | None = None
    """A PEM file with the certificate of the server; None: no TLS."""
    key: Path | None = None
    """A PEM file with its private key; None: it is in ``certificate``."""
    allow_start: bool = False
    """Whether pages may start and end reviews, and write notes."""

    def __post_init__(self) -> None:
        for name in self.names:
            if not _NAME.fullmatch(name):
                raise UsageError(
                    f"{name!r} is not a name of a server",
                    hint="write it as in an address of the browser: lab.example or localhost:9000",
                )

    @property
    def scheme(self) -> str:
        """``http``, or ``https`` with TLS."""
        return "https" if self.certificate else "http"

    def hosts(self, port: int) -> frozenset[str]:
        """Return every value of the Host header that is answered, in lower case."""
        loopback = ("127.0.0.1", "localhost", "[::1]")
        names = (self.address, *self.names, *(loopback if self.is_loopback else ()))
        pairs = {(host, int(own or port)) for host, own in map(split_name, names)}
        default = 443 if self.certificate else 80
        with_port = frozenset(f"{host}:{number}" for host, number in pairs)
        return with_port | {host for host, number in pairs if number == default}

    @property
    def is_loopback(self) -> bool:
        """Whether only this computer reaches the server.

        >>> Settings(directory=Path(), token="t", address="::1").is_loopback
        True
        """
        try:
            return ipaddress.ip_address(self.address).is_loopback
        except ValueError:
            return self.address.lower() == "localhost"


def split_name(name: str) -> tuple[str, str]:
    """Return the host, as in an address of the browser, and its port; empty: it has none.

    >>> split_name("Localhost:9000"), split_name("::1"), split_name("[::1]:9000")
    (('localhost', '9000'), ('[::1]', ''), ('[::1]', '9000'))
    """
    host, colon, port = name.lower().rpartition(":")
    if colon and (":" not in host or host.endswith("]")):
        return host, port
    return (f"[{name.lower()}]" if ":" in name and not name.endswith("]") else name.lower()), ""
