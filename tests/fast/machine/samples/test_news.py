"""What a drive said last, taken from the readings that a run makes anyway."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.execution import execute
from iogauge.machine.samples.drive_reader import DriveReader
from iogauge.machine.samples.news import DriveNews, news_of
from iogauge.machine.samples.sampling import Sampling
from iogauge.schema import DriveReading
from iogauge.workload import from_arguments
from tests import plans
from tests.fast.machine.samples.test_sampling import Clock, warming


def test_each_reading_is_news_once_and_no_command_is_sent_for_it() -> None:
    clock, drive = Clock(), warming()
    sampled = Sampling([DriveReader("nvme0n1", drive)], plan=plans.plan(), wait=clock.wait, now_ns=clock.now)
    sampled.start()
    news: list[DriveNews] = []
    for _ in range(4):
        clock.after_a_sample()
        readings = drive.readings
        news += sampled.news()
        assert sampled.news() == []
        assert drive.readings == readings
        clock.turns.put(False)
    clock.after_a_sample()
    clock.turns.put(True)
    sampled.finish()
    assert [(one.temperature_C, one.throttled, one.hot) for one in news] == [
        (41, None, False),
        (42, None, False),
        (43, True, False),
        (44, True, False),
    ]


@pytest.mark.parametrize(
    ("before", "after", "throttled", "hot"),
    [
        (DriveReading(temperature_C=40), DriveReading(temperature_C=41), None, False),
        (DriveReading(heavy_throttles=1), DriveReading(heavy_throttles=1), False, False),
        (DriveReading(heavy_throttles=1), DriveReading(heavy_throttles=2), True, False),
        (DriveReading(), DriveReading(temperature_C=75), None, True),
        (DriveReading(), DriveReading(temperature_alarm=True), None, True),
    ],
)
def test_what_two_readings_say(
    before: DriveReading, after: DriveReading, throttled: bool | None, hot: bool
) -> None:
    news = news_of("nvme0n1", before, after, limit_C=75)
    assert (news.throttled, news.hot) == (throttled, hot)


def test_a_run_passes_the_news_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("iogauge.machine.watch.readers_of", lambda *_: [DriveReader("nvme0n1", warming())])
    path = tmp_path / "f"
    path.write_bytes(bytes(4096))
    jobs = from_arguments(["--name=x", "--rw=read", "--bs=4k", f"--filename={path}"])
    news: list[DriveNews] = []
    execute(jobs, on_drive=news.append)
    assert [(one.device, one.temperature_C) for one in news][:1] == [("nvme0n1", 41)]
    execute(jobs, on_drive=news.append, drive_samples=False)
    assert len(news) == 1
