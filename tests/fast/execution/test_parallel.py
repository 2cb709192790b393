"""Runs that begin before their turn: on all CPUs, in the caller's order, and with nothing left at the end."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from iogauge.errors import IogaugeError
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.parallel import Parallel
from iogauge.schema import RunRecord
from tests import builders

MANY = 3000
"""More intervals than a run holds before its turn."""
WAIT_S = 30


class Runs:
    """Executes runs that say as many intervals as their options want, and keeps which have begun."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.threads: set[str] = set()
        self.gate = threading.Event()
        self.gate.set()

    def __call__(
        self,
        *,
        seed: int,
        intervals: int = 2,
        error: str = "",
        on_interval: Callable[[int], None],
        on_message: Callable[[str], None],
        on_start: Callable[[str], None],
    ) -> RunRecord:
        self.begun.append(seed)
        self.threads.add(threading.current_thread().name)
        with Interrupts() as interrupts:
            on_message(f"message {seed}")
            on_start(f"plan {seed}")
            assert self.gate.wait(WAIT_S)
            for number in range(intervals):
                if interrupts.count:
                    return builders.record([], stopped_by="interrupt")
                on_interval(number)
        if error:
            raise IogaugeError(error)
        return builders.record([]).model_copy(update={"started_at": str(seed)})


def turn(parallel: Parallel, options: dict[str, Any]) -> tuple[RunRecord, list[object]]:
    """Execute a run in its turn, and return its record and what it said."""
    said: list[object] = []
    record = parallel(**options, on_interval=said.append, on_message=said.append, on_start=said.append)
    return record, said


def options(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"seed": seed, **more} for seed in range(count)]


@pytest.mark.parametrize("cpus", [1, 2, 5])
def test_what_runs_say_comes_in_their_turn(cpus: int) -> None:
    steps = options(12)
    with Parallel(Runs(), cpus=cpus) as parallel:
        for number, step in enumerate(steps):
            parallel.begin(iter(steps[number:]))
            record, said = turn(parallel, step)
            assert record.started_at == str(step["seed"])
            assert said == [f"message {number}", f"plan {number}", 0, 1]


def test_runs_begin_before_their_turn_and_no_more_than_may_wait() -> None:
    runs = Runs()
    runs.gate.clear()
    taken: list[int] = []

    def steps() -> Iterator[dict[str, Any]]:
        for step in options(100):
            taken.append(step["seed"])
            yield step

    with Parallel(runs, cpus=2) as parallel:
        parallel.begin(steps())
        assert taken == [0, 1, 2, 3]
        until = time.monotonic() + WAIT_S
        while len(runs.begun) < 2 and time.monotonic() < until:
            time.sleep(0.001)
        assert sorted(runs.begun) == [0, 1]
        runs.gate.set()


def test_runs_begin_as_far_ahead_in_every_turn() -> None:
    runs, steps = Runs(), options(8)
    with Parallel(runs, cpus=2) as parallel:
        for number, step in enumerate(steps):
            parallel.begin(iter(steps[number:]))
            until = time.monotonic() + WAIT_S
            while len(runs.begun) < min(number + 4, 8) and time.monotonic() < until:
                time.sleep(0.001)
            assert len(runs.begun) == min(number + 4, 8)
            turn(parallel, step)


def test_on_one_cpu_each_run_waits_for_its_turn() -> None:
    runs = Runs()
    with Parallel(runs, cpus=1) as parallel:
        parallel.begin(iter(options(4)))
        assert runs.begun == []
        turn(parallel, {"seed": 0})
    assert runs.threads == {threading.current_thread().name}


def test_a_long_run_waits_with_what_does_not_fit() -> None:
    steps = options(6, intervals=MANY)
    with Parallel(Runs(), cpus=2) as parallel:
        for number, step in enumerate(steps):
            parallel.begin(iter(steps[number:]))
            assert turn(parallel, step)[1][2:] == list(range(MANY))


def test_a_run_whose_thread_would_wait_for_others_takes_none() -> None:
    late, *steps = options(5, intervals=MANY)
    with Parallel(Runs(), cpus=2) as parallel:
        parallel.begin(iter([*steps[:2], late]))  # the first two occupy both threads until their turn
        for step in (late, *steps):
            assert len(turn(parallel, step)[1]) == MANY + 2


def test_errors_come_in_their_turn() -> None:
    steps = [{"seed": 0, "intervals": 50}, {"seed": 1, "error": "refused"}, {"seed": 2}]
    with Parallel(Runs(), cpus=4) as parallel:
        parallel.begin(iter(steps))
        turn(parallel, steps[0])
        with pytest.raises(IogaugeError, match="refused"):
            turn(parallel, steps[1])
        assert turn(parallel, steps[2])[0].started_at == "2"


def test_a_run_with_other_options_begins_anew() -> None:
    with Parallel(Runs(), cpus=2) as parallel:
        parallel.begin(iter([{"seed": 0, "intervals": 2}]))
        assert len(turn(parallel, {"seed": 0, "intervals": 5})[1]) == 5 + 2


def test_an_error_of_a_listener_stops_the_run_and_is_raised() -> None:
    def full(_: object) -> None:
        raise IogaugeError("no space left")

    step = {"seed": 0, "intervals": MANY}
    with Parallel(Runs(), cpus=2) as parallel:
        parallel.begin(iter([step]))
        with pytest.raises(IogaugeError, match="no space left"):
            parallel(**step, on_interval=full, on_message=print, on_start=print)


def test_an_interrupt_stops_the_run_whose_turn_it_is() -> None:
    steps = options(4, intervals=MANY)
    said: list[int] = []

    def interrupt(number: int) -> None:
        said.append(number)
        if number == 10:
            signal.raise_signal(signal.SIGINT)

    with Parallel(Runs(), cpus=2) as parallel:
        parallel.begin(iter(steps))
        record = parallel(**steps[0], on_interval=interrupt, on_message=print, on_start=print)
    assert record.result.stopped_by == "interrupt"
    assert 10 < len(said) < MANY
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("iogauge-step")]


def test_an_interrupt_after_the_end_of_a_run_is_kept() -> None:
    step = {"seed": 0}
    with Parallel(Runs(), cpus=2) as parallel:
        parallel.begin(iter([step]))
        record = parallel(
            **step, on_interval=lambda _: signal.raise_signal(signal.SIGINT), on_message=print, on_start=print
        )
    assert record.result.stopped_by == "interrupt"


def test_a_run_whose_turn_an_interrupt_cut_short_leaves_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> RunRecord:
        raise KeyboardInterrupt

    monkeypatch.setattr("iogauge.execution.parallel._Begun.record", interrupted)
    runs = Runs()
    options = {"seed": 1, "intervals": MANY}
    with Parallel(runs, cpus=2) as parallel:
        parallel.begin([options])
        while not runs.begun:
            time.sleep(0.001)
        with pytest.raises(KeyboardInterrupt):
            turn(parallel, options)
