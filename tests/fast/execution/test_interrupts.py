"""Ctrl-C during a run: counted, obeyed once to stop and once more to give up, and nothing that arrived is lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from iogauge.execution import ceiling, core
from iogauge.execution.interrupts import Interrupts
from tests import builders, report_records

RESULT = builders.record([]).result


@pytest.fixture(autouse=True)
def _sigterm() -> Iterator[None]:
    """The system's own action, whatever the tests' parent chose."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


class Handle:
    """Stands for the core's: each poll does one thing and returns one interval; the last returns the result."""

    def __init__(self, *polls: Callable[[], object]) -> None:
        self.polls = list(polls)
        self.requests: list[str] = []

    def __call__(self, plan: str, spill: int | None) -> Handle:
        return self

    def spilled(self) -> None:
        """No request is logged."""

    def poll(self, timeout_s: float) -> list[tuple[str, str]]:
        if not self.polls:
            return [("finished", RESULT.model_dump_json())]
        self.polls.pop(0)()
        return [("interval", builders.interval(len(self.polls)).model_dump_json())]

    def stop(self) -> None:
        self.requests.append("stop")

    def give_up(self) -> None:
        self.requests.append("give up")


def drive(monkeypatch: pytest.MonkeyPatch, handle: Handle, **fields: Any) -> tuple[int, list[int], list[str]]:
    """Return how often the run was interrupted, the intervals that were heard, and what was said."""
    monkeypatch.setattr(core._core, "RunHandle", handle)
    indices: list[int] = []
    said: list[str] = []
    with Interrupts() as interrupts:
        result = core.run_plan(
            report_records.plan([]),
            interrupts=interrupts,
            on_interval=lambda interval: indices.append(interval.index),
            on_message=said.append,
            **fields,
        )
    assert result == RESULT
    return interrupts.count, indices, said


def nothing() -> None:
    pass


def test_an_interval_that_comes_with_ctrl_c_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Handle(nothing, ctrl_c, nothing)
    count, indices, said = drive(monkeypatch, handle)
    assert (count, indices, handle.requests) == (1, [2, 1, 0], ["stop"])
    assert said == ["interrupted: waiting for requests in flight (interrupt again to stop waiting)"]


def test_once_more_is_not_waited_for_what_is_in_flight(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = Handle(ctrl_c, nothing, ctrl_c, ctrl_c)
    count, indices, said = drive(monkeypatch, handle)
    assert (count, indices) == (3, [3, 2, 1, 0])
    assert handle.requests[:2] == ["stop", "give up"]
    assert len(said) == 1


def test_two_at_once_are_both_obeyed(monkeypatch: pytest.MonkeyPatch) -> None:
    def twice() -> None:
        ctrl_c()
        ctrl_c()

    handle = Handle(twice, nothing)
    assert drive(monkeypatch, handle)[0] == 2
    assert handle.requests == ["stop", "give up"]


def test_trouble_with_an_interval_stops_the_run_and_is_raised_at_its_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    handle = Handle(nothing, nothing)
    monkeypatch.setattr(core._core, "RunHandle", handle)
    with Interrupts() as interrupts, pytest.raises(ZeroDivisionError):
        core.run_plan(report_records.plan([]), interrupts=interrupts, on_interval=lambda _: 1 // 0)
    assert handle.requests == ["stop"]
    assert handle.polls == []


def test_trouble_with_the_last_intervals_loses_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Quick(Handle):
        def poll(self, timeout_s: float) -> list[tuple[str, str]]:
            self.polls.pop()()
            return [
                ("interval", builders.interval(0).model_dump_json()),
                ("finished", RESULT.model_dump_json()),
            ]

    handle = Quick(nothing)
    monkeypatch.setattr(core._core, "RunHandle", handle)
    with Interrupts() as interrupts, pytest.raises(ZeroDivisionError):
        core.run_plan(report_records.plan([]), interrupts=interrupts, on_interval=lambda _: 1 // 0)


def test_handlers_are_called_and_given_back() -> None:
    calls = []

    def handler(number: int, frame: object) -> None:
        calls.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, handler)
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGTERM)
        ctrl_c()
    assert (calls, interrupts.count) == ([signal.SIGTERM], 2)
    assert signal.getsignal(signal.SIGTERM) is handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_does_something_else_is_not_an_interrupt() -> None:
    calls = []
    signal.signal(signal.SIGTERM, lambda number, _: calls.append(number))
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGTERM)
    assert (calls, interrupts.count) == ([signal.SIGTERM], 0)


@pytest.mark.parametrize("action", [signal.SIG_IGN, signal.SIG_DFL])
def test_actions_that_are_not_pythons_are_left_alone(action: signal.Handlers) -> None:
    signal.signal(signal.SIGTERM, action)
    with Interrupts():
        assert signal.getsignal(signal.SIGTERM) is action


def test_another_thread_changes_nothing() -> None:
    states = []

    def enter() -> None:
        with Interrupts() as interrupts:
            states.append((signal.getsignal(signal.SIGINT), interrupts.count))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert states == [(signal.default_int_handler, 0)]


def test_an_interrupted_ceiling_does_not_go_on_to_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core._core, "RunHandle", Handle(ctrl_c))
    with pytest.raises(KeyboardInterrupt):
        ceiling.measure_ceiling()
