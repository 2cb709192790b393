"""Samples of drives: a reading before a run, each second, and after it; on the run's clock; never in its way."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.machine.samples import sampling
from iogauge.machine.samples.drive_reader import DriveReader, open_reader
from iogauge.machine.samples.sampling import Sampling, columns, readers_of
from iogauge.machine.samples.temperature import limits_C
from iogauge.schema import SAMPLED, DriveReading, DriveSamples
from iogauge.target.users.sysfs import BlockDevice, Host
from tests import builders, plans
from tests.nvme_images import Images, laptop, smart

SECOND = 10**9


class Clock:
    """A clock that moves only while the sampler waits, and a wait that the test ends."""

    def __init__(self) -> None:
        self.now_ns = 1000 * SECOND
        self.turns: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self.waiting: queue.SimpleQueue[float] = queue.SimpleQueue()

    def now(self) -> int:
        return self.now_ns

    def wait(self, _: threading.Event, seconds: float) -> bool:
        self.waiting.put(seconds)
        ended = self.turns.get()
        self.now_ns += round(seconds * SECOND)
        return ended

    def after_a_sample(self) -> float:
        """Wait until the sampler waits again; return for how long it wants to."""
        return self.waiting.get(timeout=600)


class Warming(Images):
    """A drive that is a degree warmer at each reading, and throttles from the third on."""

    readings = 0

    def log_page(self, page: int, size_bytes: int) -> bytes:
        self.readings += 1
        self.logs[2] = smart(
            temperature=313 + self.readings,
            thm_temp1_total_time=max(0, self.readings - 2),
            data_units_written=7,
        )
        return super().log_page(page, size_bytes)


def warming() -> Warming:
    return Warming(structures=laptop().structures, features=laptop().features, logs={})


def test_readings_before_during_and_after_on_the_runs_clock() -> None:
    clock = Clock()
    sampled = Sampling(
        [DriveReader("nvme0n1", warming())], plan=plans.plan(), wait=clock.wait, now_ns=clock.now
    )
    sampled.start()
    assert clock.after_a_sample() == 1
    # The stage begins 200 ms after the reading before it; its first interval arrives 10 ms late.
    for ends_s in (1, 2):
        clock.now_ns = 1000 * SECOND + round((0.2 + ends_s + (0.01 if ends_s == 1 else 0)) * SECOND)
        sampled.reached(0, ends_s * SECOND)
        clock.now_ns = 1000 * SECOND + (ends_s - 1) * SECOND
        clock.turns.put(False)
        assert clock.after_a_sample() == 1
    clock.turns.put(True)
    (samples,) = sampled.finish()
    assert samples.stage == (0, 0, 0, 0)
    assert samples.at_ns == tuple(round((second - 0.2) * SECOND) for second in range(4))
    assert samples.column("temperature_C") == (41, 42, 43, 44)
    assert samples.column("light_throttled_s") == (None, None, 1, 2)
    assert samples.columns["power_state"] == (0,)
    assert "sensor_1_C" not in samples.columns
    assert (samples.warning_C, samples.critical_C) == (85, 95)
    assert samples.before is not None
    assert samples.after is not None
    assert (samples.before.temperature_C, samples.after.temperature_C) == (41, 44)
    assert samples.changes == {"light_throttled_s": 2}
    assert samples.unread == ""
    assert DriveSamples.model_validate_json(samples.model_dump_json()) == samples


def test_a_sample_belongs_to_the_stage_that_runs() -> None:
    clock = Clock()
    sampled = Sampling(
        [DriveReader("nvme0n1", warming())], plan=plans.plan(), wait=clock.wait, now_ns=clock.now
    )
    sampled.start()
    sampled.reached(0, 0)
    clock.after_a_sample()
    clock.turns.put(False)
    clock.after_a_sample()
    sampled.reached(1, SECOND // 4)  # it began a quarter of a second before the second sample
    clock.turns.put(True)
    (samples,) = sampled.finish()
    assert samples.stage == (0, 1, 1)
    assert samples.at_ns == (0, SECOND // 4, SECOND + SECOND // 4)


def test_a_slow_reading_leaves_samples_out_and_says_how_long_it_took() -> None:
    clock = Clock()
    drive = warming()

    def slow(page: int, size_bytes: int) -> bytes:
        clock.now_ns += 2 * SECOND + SECOND // 2
        return Warming.log_page(drive, page, size_bytes)

    drive.log_page = slow  # type: ignore[method-assign]
    sampled = Sampling([DriveReader("d", drive)], plan=plans.plan(), wait=clock.wait, now_ns=clock.now)
    sampled.start()
    assert clock.after_a_sample() == 0.5, "the seconds that the reading took are left out"
    clock.turns.put(True)
    (samples,) = sampled.finish()
    assert samples.took_us == (2_500_000, 2_500_000)


def test_a_long_run_keeps_a_bounded_number_of_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "MOST_SAMPLES", 4)
    clock = Clock()
    sampled = Sampling(
        [DriveReader("nvme0n1", warming())], plan=plans.plan(), wait=clock.wait, now_ns=clock.now
    )
    sampled.start()
    waits = []
    for _ in range(7):
        waits.append(clock.after_a_sample())
        clock.turns.put(False)
    waits.append(clock.after_a_sample())
    clock.turns.put(True)
    (samples,) = sampled.finish()
    assert waits == [1, 1, 1, 1, 2, 2, 4, 4]
    assert samples.at_ns == tuple(second * SECOND for second in (0, 8, 16))
    assert samples.column("temperature_C") == (41, 47, 49)
    assert samples.after is not None
    assert samples.after.temperature_C == 49


@pytest.fixture
def released() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.mark.parametrize("readings", [0, 1])
def test_a_drive_that_does_not_answer_holds_nothing_up(readings: int, released: threading.Event) -> None:
    drive = warming()
    closed = threading.Event()

    class Reader(DriveReader):
        def read(self) -> DriveReading:
            if drive.readings == readings:
                released.wait()
            return super().read()

        def close(self) -> None:
            closed.set()

    sampled = Sampling([Reader("nvme0n1", drive)], plan=plans.plan(), wait=lambda *_: False, patience_s=0.05)
    sampled.start()
    (samples,) = sampled.finish()
    assert len(samples.at_ns) == readings
    assert (samples.before is None) == (readings == 0)
    assert samples.after is None
    assert samples.unread == (
        "the drive did not answer after 1 sample; what follows is unknown"
        if readings
        else "the drive did not answer after 0 samples; what follows is unknown"
    )
    released.set()
    assert closed.wait(60), "the thread closes its own descriptor, once the kernel lets it go"


def test_a_reading_that_comes_late_is_not_one_before_the_run(released: threading.Event) -> None:
    arrived = threading.Event()

    class Reader(DriveReader):
        def read(self) -> DriveReading:
            released.wait()
            return super().read()

    def wait(*_: object) -> bool:
        arrived.set()
        return True

    sampled = Sampling([Reader("d", warming())], plan=plans.plan(), wait=wait, patience_s=0.05)
    sampled.start()
    released.set()
    assert arrived.wait(60)
    sampled._patience_s = 60
    (samples,) = sampled.finish()
    assert samples.before is None
    assert samples.after is not None
    assert len(samples.at_ns) == 2
    assert samples.changes == {}


def test_the_sampler_keeps_off_the_workers_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    moved: list[tuple[int, set[int]]] = []
    monkeypatch.setattr(os, "sched_setaffinity", lambda pid, cpus: moved.append((pid, cpus)))

    def sample(*cpus: int) -> None:
        plan = plans.plan(plans.worker(cpus=cpus))
        sampled = Sampling([DriveReader("d", warming())], plan=plan, wait=lambda *_: True)
        sampled.start()
        sampled.finish()

    sample(0, 2)
    assert moved == [(0, {1})]
    sample(0, 1, 2)
    assert len(moved) == 1, "with a worker on every CPU it stays where the kernel puts it"


def test_a_command_that_is_refused_is_not_sent_again() -> None:
    drive = laptop()
    del drive.logs[2]
    reader = DriveReader("nvme0n1", drive, Host(sys=Path("/nowhere")))
    readings = [reader.read() for _ in range(3)]
    assert [reading.power_state for reading in readings] == [0] * 3
    assert {reading.temperature_C for reading in readings} == {None}
    assert drive.requests.count("log 02h") == 1
    assert "invalid log page" in reader.unread


def test_everything_that_smart_says_is_read() -> None:
    reading = DriveReader("d", laptop(critical_warning=2, media_errors=1)).read()
    assert reading.temperature_alarm is True
    assert (reading.temperature_C, reading.sensors_C[0], reading.sensors_C[7]) == (41, 41, 47)
    assert (reading.media_errors, reading.error_entries, reading.used_percent) == (1, 2, 3)
    assert reading.written_bytes == 512_000_000_000


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return sysfs with a SATA drive that has a sensor, and one without."""
    for name in ("sda", "sdb"):
        (tmp_path / "class/block" / name).mkdir(parents=True)
    sensor = tmp_path / "class/block/sda/device/hwmon/hwmon0"
    sensor.mkdir(parents=True)
    for name, text in (("input", "41000"), ("max", "60000"), ("crit", "255000")):
        (sensor / f"temp1_{name}").write_text(f"{text}\n")
    return Host(sys=tmp_path)


def test_a_drive_with_a_sensor_alone(host: Host) -> None:
    disk = BlockDevice.by_name("sda", host)
    assert disk is not None
    reader = open_reader(disk, host)
    assert reader is not None
    reader.identify()
    assert reader.read() == DriveReading(temperature_C=41)
    assert (reader.warning_C, reader.critical_C) == (60, None), "255 C is no limit of any drive"
    assert limits_C("sdb", host) == (None, None)


def test_a_drive_that_says_nothing_is_not_sampled(host: Host) -> None:
    facts = [builders.target(f"/dev/{name}", kind="block", device=name) for name in ("sda", "sdb", "sda")]
    assert [reader.device for reader in readers_of(facts, host)] == ["sda"]
    assert readers_of([builders.target("model:x", kind="model")], host) == []


@given(st.lists(st.builds(DriveReading, temperature_C=st.none() | st.integers(-20, 120), power_state=st.none()
       | st.integers(0, 4), sensors_C=st.lists(st.none() | st.integers(0, 100), max_size=3).map(tuple))))  # fmt: skip
def test_columns_hold_every_reading(readings: list[DriveReading]) -> None:
    samples = DriveSamples(device="d", at_ns=tuple(range(len(readings))), columns=columns(readings))
    for name in SAMPLED:
        assert samples.column(name) == tuple(getattr(reading, name) for reading in readings)
    for sensor in range(3):
        values = [(*reading.sensors_C, None, None, None)[sensor] for reading in readings]
        assert samples.column(f"sensor_{sensor + 1}_C") == tuple(values)


def test_a_run_that_fails_ends_its_samples(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from iogauge.execution import execute
    from iogauge.workload import from_arguments

    ended = threading.Event()

    class Reader(DriveReader):
        def close(self) -> None:
            ended.set()

    monkeypatch.setattr("iogauge.machine.watch.readers_of", lambda *_: [Reader("d", warming())])
    path = tmp_path / "f"
    path.write_bytes(bytes(4096))
    jobs = from_arguments(["--name=x", "--rw=read", "--bs=4k", f"--filename={path}"])

    def fail(*_: object) -> None:
        raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        execute(jobs, on_start=fail)
    assert ended.wait(60)
    record = execute(jobs)
    assert [samples.device for samples in record.drive_samples] == ["d"]
    assert execute(jobs, drive_samples=False).drive_samples == ()
