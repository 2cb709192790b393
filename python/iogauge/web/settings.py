"""What the user chose when the server was started."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

PORT = 8384
"""The port that the server listens on, if it is free."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is served, where, and to whom."""

    directory: Path
    """Reviews in it and below it are served; no other file is."""
    token: str
    """Whoever has it may read all pages, and start reviews if ``allow_start``."""
    address: str = "127.0.0.1"
    port: int = PORT
    """The port of the server; 0: any free one."""
    names: tuple[str, ...] = ()
    """Further names by which browsers may address the server, without a port."""
    certificate: Path | None = None
    """A PEM file with the certificate of the server; None: no TLS."""
    key: Path | None = None
    """A PEM file with its private key; None: it is in ``certificate``."""
    allow_start: bool = False
    """Whether pages may start and end reviews, and write notes."""

    @property
    def scheme(self) -> str:
        """``http``, or ``https`` with TLS."""
        return "https" if self.certificate else "http"

    def hosts(self, port: int) -> frozenset[str]:
        """Return every value of the Host header that is answered."""
        loopback = ("127.0.0.1", "localhost", "[::1]")
        address = f"[{self.address}]" if ":" in self.address else self.address
        names = {address, *self.names, *(loopback if self.is_loopback else ())}
        default = 443 if self.certificate else 80
        return frozenset(f"{name}:{port}" for name in names) | (names if port == default else frozenset())

    @property
    def is_loopback(self) -> bool:
        """Whether only this computer reaches the server.

        >>> Settings(directory=Path(), token="t", address="::1").is_loopback
        True
        """
        return self.address == "::1" or self.address.startswith("127.")
