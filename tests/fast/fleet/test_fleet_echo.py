"""The clock of a host by UDP."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from iogauge.fleet.clock import Exchange
from iogauge.fleet.dask import actor
from iogauge.fleet.dask.actor import DaskLink
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
    stranger = EchoClient("127.0.0.1", EchoPlace(echo.place.port, b"another key"), patience_s=0.05)
    assert stranger.exchange() is None
    stranger.close()
    friend = EchoClient("127.0.0.1", echo.place)
    assert friend.exchange() is not None
    friend.close()


def test_nobody_else_can_answer() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as liar:
        liar.bind(("127.0.0.1", 0))
        client = EchoClient("127.0.0.1", EchoPlace(liar.getsockname()[1], b"key"), patience_s=0.05)
        # Answers that are short, of another question, or of another key are no answers.
        for lie in (b"", b"x" * 16, b"x" * 64, b"x" * 500):
            liar.sendto(lie, client._socket.getsockname())
        assert client.exchange() is None
        client.close()


class Answers:
    """Stands for a client of Dask, and for the host's answers by UDP, of which one is lost."""

    def __init__(self) -> None:
        self.lost: set[int] = set()
        self.questions = 0
        self.closed = 0
        self.calls = 0

    def exchange(self) -> Exchange | None:
        """Answer, or not."""
        self.questions += 1
        return None if self.questions in self.lost else Exchange(1, 1, 1, 1)

    def close(self) -> None:
        """Count."""
        self.closed += 1


@pytest.mark.parametrize(("lost", "questions"), [(2, 22), (1, 1)])
def test_a_lost_answer_does_not_end_udp_for_ever(
    monkeypatch: pytest.MonkeyPatch, lost: int, questions: int
) -> None:
    """Unless no answer ever came: a firewall drops them."""
    answers = Answers()
    answers.lost = {lost}
    link = object.__new__(DaskLink)
    link.name = "x"
    link._address = ""
    link._echo, link._has_echo, link._was_echoed, link._calls_left = answers, True, False, 0  # type: ignore[assignment]
    monkeypatch.setattr(actor, "EchoClient", lambda *_: answers)
    monkeypatch.setattr(actor, "exchange_by_call", lambda *_, **__: Exchange(0, 0, 0, 0))
    monkeypatch.setattr(link, "_place", lambda timeout_s: object())
    for _ in range(41):
        link.exchange(timeout_s=1)
    assert (answers.questions, answers.closed) == (questions, 1)


def test_a_host_that_is_gone_does_not_answer(echo: Echo) -> None:
    client = EchoClient("127.0.0.1", echo.place)
    echo.close()
    assert client.exchange() is None
    client.close()
