"""A controller that is kept by something loses no host: leases are renewed, and answers have time to come."""

from __future__ import annotations

import queue
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from iogauge.fleet.control.host_run import HostRun
from iogauge.fleet.control.renewals import Renewals
from iogauge.fleet.host.messages import HostRequest, Lease
from iogauge.fleet.progress import FleetProgress
from tests.fast.fleet.control.fake_hosts import IMPATIENT, FakeHost, FakeLink, Fault, Killed, no_fault
from tests.fast.fleet.control.test_resumed import Slow
from tests.fast.fleet.control.test_session import held, outcomes


def host_run(fault: Fault = no_fault) -> HostRun:
    request = HostRequest(fleet_id="f1", host="x", targets=("model:p4800x",), seed=1)
    lease = Lease(id="1", fleet_id="f1", host="x", drives=(), generation=1, seconds=9)
    host = FakeHost("x")
    host.begin(request, lease)
    return HostRun("x", FakeLink(host, fault), request, lease)


def test_a_lease_is_renewed_again_and_again_until_it_is_removed() -> None:
    answers: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    renewals = Renewals(0.001, lambda _, answer: answers.put(answer))
    renewals.begin()
    host = host_run()
    before = time.monotonic()
    renewals.add(host)
    for _ in range(3):
        assert answers.get().exception() is None
    assert host.renewed_at > before
    assert renewals.remove(host)
    last = host.renewed_at
    other = host_run()
    renewals.add(other)
    for _ in range(3):
        answers.get()
    assert host.renewed_at == last
    assert not renewals.remove(host)
    renewals.close()


def test_a_host_that_does_not_answer_is_called_once_and_a_defect_is_reported() -> None:
    answers: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
    calls: list[str] = []

    def hang(name: str, method: str, _: int) -> str:
        calls.append(method)
        return "hang"

    renewals = Renewals(0.001, lambda _, answer: answers.put(answer))
    renewals.begin()
    renewals.add(host_run(hang))
    renewals.add(host_run(lambda *_: "killed"))
    assert isinstance(answers.get().exception(), Killed)
    assert isinstance(
        answers.get().exception(), Killed
    )  # so the thread has looked at the first host once more
    assert calls == ["renew"]
    renewals.close()


class Kept(list[FleetProgress]):
    """News that keep the controller, as a full terminal can, until leases were renewed thrice meanwhile."""

    def __init__(self) -> None:
        super().__init__()
        self._begun = threading.Event()
        self._renewed = threading.Semaphore(0)

    def append(self, news: FleetProgress) -> None:
        super().append(news)
        if news.steps and not self._begun.is_set():
            self._begun.set()
            for _ in range(3):
                self._renewed.acquire()

    def fault(self, _: str, method: str, calls: int) -> str:
        if method == "renew" and self._begun.is_set():
            self._renewed.release()
        return ""


def test_a_controller_that_is_kept_renews_leases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("iogauge.fleet.control.controller.LEAD_NS", 1_000_000)
    kept = Kept()
    store = held(tmp_path / "fleet", [FakeHost("x"), FakeHost("y")], kept.fault, news=kept)
    assert outcomes(store) == {"x": "done", "y": "done"}


@pytest.mark.parametrize("kept", [True, False])
def test_time_in_which_the_controller_was_kept_is_no_silence_of_a_host(tmp_path: Path, kept: bool) -> None:
    slow = Slow(tmp_path / "fleet")
    now = time.monotonic()
    slow.controller._turned_at = now - 1000 if kept else now
    slow.hosts[0].deadlines["events"] = now - 500
    slow.controller._turn()
    assert slow.hosts[0].is_open is kept


def test_the_work_of_a_turn_gives_a_silent_host_no_more_time(tmp_path: Path) -> None:
    """A thousand hosts keep the controller busy in every turn."""
    slow = Slow(tmp_path / "fleet")
    slow.controller._patience = replace(IMPATIENT, poll_s=1000)
    now = time.monotonic()
    slow.controller._turned_at = now - 700  # it waited for a quarter of poll_s, and worked for the rest
    slow.hosts[0].deadlines["events"] = now - 100
    answer: Future[Any] = Future()
    answer.set_result(None)
    slow.controller._inbox.put((slow.hosts[1], "exchange", answer))
    slow.controller._turn()
    assert not slow.hosts[0].is_open
