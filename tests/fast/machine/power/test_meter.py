"""The meter of a run: only its measured part counts, and the drive is asked once, when that ends."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Literal

import pytest

from iogauge.machine.nvme.admin import AdminError
from iogauge.machine.power import drive_state as asking
from iogauge.machine.power.drive_state import DriveState, drive_state, of_nvme
from iogauge.machine.power.meter import PowerMeter
from iogauge.machine.power.sources import Emit
from iogauge.schema import PowerRecord
from iogauge.target.users.sysfs import Host
from tests import builders
from tests import nvme_images as images
from tests.fast.machine.test_drive import tree

S = 10**9


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now_ns = 100 * S

    def __call__(self) -> int:
        return self.now_ns


class Ticking:
    """A source that gives 1 W, 2 W, ... one second after the other, and then waits to be closed."""

    name = "ticking"
    of: Literal["target", "host"] = "target"
    problem = "it ticks"

    def __init__(self, clock: Clock, seconds: int) -> None:
        self._clock = clock
        self._seconds = seconds
        self.done = threading.Event()
        self.closed = threading.Event()

    def read(self, stop: threading.Event, emit: Emit) -> None:
        for second in range(1, self._seconds + 1):
            self._clock.now_ns += S
            emit(float(second))
        self.done.set()
        stop.wait()

    def close(self) -> None:
        self.closed.set()


def test_only_the_measured_part_counts() -> None:
    clock = Clock()
    source = Ticking(clock, 6)
    meter = PowerMeter([source], span_ns=(2 * S, 4 * S), ask=DriveState, clock_ns=clock)
    meter.start()
    meter.start()
    source.done.wait()
    record = meter.finish()
    (trace,) = record.traces
    assert (trace.source, trace.of) == ("ticking", "target")
    assert trace.at_ns == (2 * S, 3 * S, 4 * S)
    assert trace.power_W == (2.0, 3.0, 4.0)
    assert record.problems == ("it ticks",)
    assert source.closed.is_set()


def test_the_drive_is_asked_when_the_measured_part_ends() -> None:
    question = threading.Event()

    def ask() -> DriveState:
        question.set()
        return DriveState("power state 4", 0.005)

    meter = PowerMeter([], span_ns=(0, 0), ask=ask)
    meter.start()
    question.wait()
    record = meter.finish()
    assert record.state == "power state 4"
    assert [(trace.source, trace.power_W) for trace in record.traces] == [("the drive's SMART log", (0.005,))]


def test_a_run_that_ends_early_asks_nothing() -> None:
    meter = PowerMeter([], span_ns=(0, 3600 * S), ask=pytest.fail)
    meter.start()
    assert meter.finish() == PowerRecord()


def test_a_run_that_never_began_has_nothing() -> None:
    assert PowerMeter([], span_ns=(0, S), ask=pytest.fail).finish() == PowerRecord()


def test_an_nvme_drive_says_its_state_and_perhaps_its_power() -> None:
    assert of_nvme(images.laptop()) == DriveState("power state 0", None)
    measuring = images.laptop()
    page = bytearray(measuring.logs[2])
    page[240:243] = (250).to_bytes(2, "little") + b"\x02"
    measuring.logs = {**measuring.logs, 2: bytes(page)}
    assert of_nvme(measuring) == DriveState("power state 0", 2.5)


def test_why_a_state_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host(sys=tmp_path)
    assert "does not name the drive" in drive_state(builders.target(), host).problem
    tree(tmp_path, "virtual/zram0")
    zram = builders.target(device="zram0")
    assert drive_state(zram, host).problem.endswith("it is neither NVMe nor SATA")
    (tmp_path / "class/block/nvme987n1").symlink_to(tmp_path / "devices/virtual/zram0")
    folder = tmp_path / "nvme"
    folder.mkdir()
    second = Host(sys=folder)
    tree(folder, "nvme0/nvme987n1")
    nvme = builders.target(device="nvme987n1")
    assert drive_state(nvme, second).problem.endswith("No such file or directory (run as root)")

    def refuse(_: int) -> DriveState:
        raise AdminError("the drive refused Get features")

    monkeypatch.setattr(asking.os, "open", lambda *_: 99)
    monkeypatch.setattr(asking.os, "close", lambda _: None)
    monkeypatch.setattr(asking, "NvmeDevice", refuse)
    assert drive_state(nvme, second).problem.endswith("unknown: the drive refused Get features")


def test_a_drive_that_never_answers_is_left_behind() -> None:
    question, answer = threading.Event(), threading.Event()

    def ask() -> DriveState:
        question.set()
        answer.wait()
        return DriveState("too late")

    meter = PowerMeter([], span_ns=(0, 0), ask=ask, patience_s=0)
    meter.start()
    question.wait()
    record = meter.finish()
    answer.set()
    assert record == PowerRecord(problems=("the drive did not answer",))
