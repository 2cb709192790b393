"""What watts are read from: any line of a meter, counters that wrap, sensors, and why nothing could be read."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.machine.power import sources
from iogauge.machine.power.sources import Command, Energy, Sensor, Source, parse_watts, sources_of
from iogauge.target.users.sysfs import Host


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{text}\n")
    return path


def read_until(source: Source, count: int) -> list[float]:
    """Return what a source gives until it has given so much."""
    watts: list[float] = []
    stop, enough = threading.Event(), threading.Event()

    def emit(value: float) -> None:
        watts.append(value)
        if len(watts) >= count:
            enough.set()

    thread = threading.Thread(target=source.read, args=(stop, emit))
    thread.start()
    enough.wait()
    stop.set()
    source.close()
    thread.join()
    return watts


class Steps(threading.Event):
    """An event that never waits: it is set once ``actions`` have run, one for each wait."""

    def __init__(self, *actions: Callable[[], object]) -> None:
        super().__init__()
        self._actions = iter(actions)

    def wait(self, timeout: float | None = None) -> bool:
        """Run the next action; set the event after the last."""
        action = next(self._actions, None)
        if action is None:
            self.set()
            return True
        action()
        return False


def test_a_meter_that_goes_on_printing() -> None:
    meter = Command("while true; do echo 3.5; echo '4 W'; sleep 0.01; done")
    assert read_until(meter, 4)[:4] == [3.5, 4.0, 3.5, 4.0]
    assert meter.problem == ""


def test_a_meter_that_prints_once_is_run_again() -> None:
    assert read_until(Command("echo 1.25", period_s=0), 3)[:3] == [1.25] * 3


def test_a_meter_that_waits_for_ever_is_ended_with_all_it_started(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    meter = Command(f"sleep 1000 > {held} & wait")
    stop = threading.Event()
    thread = threading.Thread(target=meter.read, args=(stop, lambda _: None))
    thread.start()
    with held.open() as reader:  # opens once the child has opened its end
        stop.set()
        meter.close()
        assert reader.read() == "", "the child is gone, and its end closed"
    thread.join()


def test_a_meter_ends_although_what_left_its_session_holds_its_output(tmp_path: Path) -> None:
    release = tmp_path / "release"
    os.mkfifo(release)
    # It prints from another session, and goes on until it can read a line.
    meter = Command(f"setsid sh -c 'echo 2; read line < {release}'")
    assert read_until(meter, 1) == [2.0]
    release.write_text("go\n")


def test_what_a_meter_leaves_in_the_background_ends_with_it(tmp_path: Path) -> None:
    held = tmp_path / "held"
    os.mkfifo(held)
    meter = Command(f"sleep 1000 > {held} 2>&1 & exit 3")
    thread = threading.Thread(target=meter.read, args=(Steps(), pytest.fail))
    thread.start()
    with held.open() as reader:
        assert reader.read() == ""
    thread.join()
    assert meter.problem == "the meter ended with status 3"


def test_a_meter_that_floods_gives_means() -> None:
    assert read_until(Command("yes '2\n4' | head -n 20000"), 2)[1] == pytest.approx(3, abs=0.1)
    assert len(read_until(Command("yes 2 | head -n 100000; read line"), 3)) < 1000


def test_a_line_without_an_end_is_no_number() -> None:
    meter = Command("head -c 200000 /dev/zero | tr '\\0' 7")
    meter.read(Steps(lambda: None, lambda: None, lambda: None), pytest.fail)
    assert meter.problem == f"the meter printed {'7' * 40!r}, which is no number of watts"


def test_a_closed_meter_does_not_start() -> None:
    meter = Command("echo 1")
    meter.close()
    meter.read(threading.Event(), pytest.fail)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        ("echo volts", "the meter printed 'volts', which is no number of watts"),
        ("exit 3", "the meter ended with status 3"),
    ],
)
def test_a_meter_that_gives_nothing_says_why(command: str, problem: str) -> None:
    meter = Command(command)
    meter.read(Steps(), pytest.fail)
    assert meter.problem == problem


@given(st.text(max_size=30))
def test_any_line_is_a_power_or_nothing(line: str) -> None:
    watts = parse_watts(line)
    assert watts is None or 0 <= watts < float("inf")


@given(st.floats(0, 1e6))
def test_any_power_is_read_as_it_was_printed(watts: float) -> None:
    assert parse_watts(f"{watts!r}\n") == watts


def test_energy_is_divided_by_its_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    energy = write(tmp_path / "energy_uj", "9000000")
    write(tmp_path / "max_energy_range_uj", "10000000")
    monkeypatch.setattr(sources.time, "monotonic", iter([0.0, 2.0, 4.0, 6.0]).__next__)
    watts: list[float] = []
    zone = Energy(tmp_path, "RAPL package-0")
    steps = Steps(*(lambda text=text: write(energy, text) for text in ("9500000", "1500000", "x")))
    zone.read(steps, watts.append)
    assert watts == [0.25, 1.0], "the counter began again at 0 after its range"
    assert zone.problem == "RAPL package-0 cannot be read: run as root"


def test_a_sensor_is_in_microwatts(tmp_path: Path) -> None:
    path = write(tmp_path / "power1_input", "1")
    watts: list[float] = []
    sensor = Sensor(path, "hwmon x power1")
    sensor.read(Steps(lambda: write(path, "2500000"), path.unlink), watts.append)
    assert watts == [2.5]
    assert sensor.problem == "hwmon x power1 cannot be read"


def test_the_meter_comes_first_and_parts_of_a_package_are_left_out(tmp_path: Path) -> None:
    for zone, name in (
        ("intel-rapl:0", "package-0"),
        ("intel-rapl:0:0", "core"),
        ("intel-rapl:0:1", "dram"),
        ("intel-rapl-mmio:0", "package-0"),
    ):
        write(tmp_path / "class/powercap" / zone / "name", name)
    write(tmp_path / "class/hwmon/hwmon3/name", "power_meter")
    write(tmp_path / "class/hwmon/hwmon3/power1_input", "1")
    listed = sources_of("meter-tool", Host(sys=tmp_path))
    assert [(source.name, source.of) for source in listed] == [
        ("the meter (meter-tool)", "target"),
        ("RAPL package-0", "host"),
        ("RAPL dram intel-rapl:0:1", "host"),
        ("hwmon power_meter power1", "host"),
    ]
    assert sources_of(None, Host(sys=tmp_path / "nowhere")) == []
