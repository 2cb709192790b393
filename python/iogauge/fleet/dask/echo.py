"""Compares clocks by UDP: a call by way of Dask takes a millisecond, and nobody knows on which leg.

A thread of the host answers each question with two readings of its clock. Questions and answers are authenticated by a
key that came by the link, which is TLS beyond loopback; so nobody else can move a clock, and a host answers nobody
else. An answer is little longer than its question, and an old one answers no new question.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from iogauge.fleet.clock import Exchange

_NONCE = 16
_MAC = 32
_READINGS = struct.Struct("!qq")
_PATIENCE_S = 1.0
_ATTEMPTS = 2


@dataclass(frozen=True)
class EchoPlace:
    """Where a host answers, and the key of both ends."""

    port: int
    key: bytes


class Echo:
    """Answers questions for a host's clock until it is closed."""

    def __init__(self, address: str, exchange: Callable[[], tuple[int, int]]) -> None:
        """``address``: an IP address of the host, on which it listens; ``exchange`` reads the clock twice."""
        self._exchange = exchange
        self._key = secrets.token_bytes(_MAC)
        self._socket = socket.socket(_family(address), socket.SOCK_DGRAM)
        self._socket.bind((address, 0))
        self.place = EchoPlace(self._socket.getsockname()[1], self._key)
        threading.Thread(target=self._answer, name="iogauge-echo", daemon=True).start()

    def close(self) -> None:
        """Answer no more."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes the thread, though no datagram has a connection
        self._socket.close()

    def _answer(self) -> None:
        while True:
            try:
                question, sender = self._socket.recvfrom(_NONCE + _MAC + 1)
                readings = self._exchange()
                nonce, mac = question[:_NONCE], question[_NONCE:]
                if hmac.compare_digest(mac, _mac(self._key, b"?", nonce)):
                    answer = nonce + _READINGS.pack(*readings)
                    self._socket.sendto(answer + _mac(self._key, b"!", answer), sender)
            except OSError:
                return


class EchoClient:
    """Asks a host for its clock."""

    def __init__(self, address: str, place: EchoPlace, *, patience_s: float = _PATIENCE_S) -> None:
        """``patience_s``: how long each of two questions waits for its answer."""
        self._key = place.key
        self._socket = socket.socket(_family(address), socket.SOCK_DGRAM)
        self._socket.settimeout(patience_s)
        self._socket.connect((address, place.port))

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def exchange(self) -> Exchange | None:
        """Exchange readings with the host once; return None if no answer comes: a firewall may drop the questions."""
        for _ in range(_ATTEMPTS):
            nonce = secrets.token_bytes(_NONCE)
            question = nonce + _mac(self._key, b"?", nonce)
            try:
                sent_ns = time.monotonic_ns()
                self._socket.send(question)
                while True:
                    answer = self._socket.recv(1024)
                    returned_ns = time.monotonic_ns()
                    readings = self._readings(answer, nonce)
                    if readings is not None:
                        return Exchange(sent_ns, *readings, returned_ns)
            except OSError:  # no answer in time, or nobody listens
                continue
        return None

    def _readings(self, answer: bytes, nonce: bytes) -> tuple[int, int] | None:
        """Return what an answer says; None if it is not the answer to this question."""
        said, mac = answer[:-_MAC], answer[-_MAC:]
        if len(said) != _NONCE + _READINGS.size or said[:_NONCE] != nonce:
            return None
        if not hmac.compare_digest(mac, _mac(self._key, b"!", said)):
            return None
        received_ns, answered_ns = _READINGS.unpack(said[_NONCE:])
        return received_ns, answered_ns


def _mac(key: bytes, direction: bytes, text: bytes) -> bytes:
    return hmac.digest(key, direction + text, "sha256")


def _family(address: str) -> socket.AddressFamily:
    return socket.AF_INET6 if ":" in address else socket.AF_INET
