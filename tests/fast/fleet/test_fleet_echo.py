"""The clock of a host by UDP."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from iogauge.fleet.dask.echo import Echo, EchoClient, EchoPlace


def readings() -> tuple[int, int]:
    return time.monotonic_ns(), time.monotonic_ns()


@pytest.fixture
def echo() -> Iterator[Echo]:
    echo = Echo("127.0.0.1", readings)
    yield echo
    echo.close()


def test_an_exchange_has_four_instants_in_order(echo: Echo) -> None:
    client = EchoClient("127.0.0.1", echo.place)
    exchange = client.exchange()
    assert exchange is not None
    instants = (exchange.sent_ns, exchange.received_ns, exchange.answered_ns, exchange.returned_ns)
    assert list(instants) == sorted(instants)
    client.close()


def test_a_stranger_gets_no_answer(echo: Echo) -> None:
    stranger = EchoClient("127.0.0.1", EchoPlace(echo.place.port, b"another key"))
    assert stranger.exchange() is None
    stranger.close()
    friend = EchoClient("127.0.0.1", echo.place)
    assert friend.exchange() is not None
    friend.close()


def test_nobody_else_can_answer() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as liar:
        liar.bind(("127.0.0.1", 0))
        client = EchoClient("127.0.0.1", EchoPlace(liar.getsockname()[1], b"key"))
        # Answers that are short, of another question, or of another key are no answers.
        for lie in (b"", b"x" * 16, b"x" * 64, b"x" * 500):
            liar.sendto(lie, client._socket.getsockname())
        assert client.exchange() is None
        client.close()


def test_a_host_that_is_gone_does_not_answer(echo: Echo) -> None:
    client = EchoClient("127.0.0.1", echo.place)
    echo.close()
    assert client.exchange() is None
    client.close()
