"""The feed: what it says of a run, that it stays small, and that it never harms the run."""

from __future__ import annotations

import os
import shutil
from itertools import count
from pathlib import Path

import pytest

from iogauge.live import segments
from iogauge.live.feed import MOST_DISTRIBUTIONS, Feed
from iogauge.live.pending import Pending
from iogauge.live.steadiness import Steadiness
from iogauge.machine.samples.news import DriveNews
from iogauge.schema import Direction, Interval, Job, Notice, PerDirection, SteadyPlan
from iogauge.schema.facts import Code
from tests import builders, report_records
from tests.fast.live import feeds

READ = Direction.READ


def tally(ios: int = 1_000, latency_ns: int = 50_000):
    return builders.tally({latency_ns: ios}, block_bytes=4096)


def kinds(directory: Path) -> list[str]:
    return [event["event"] for event in feeds.events(directory)]


def test_a_run_from_its_beginning_to_its_end(tmp_path: Path) -> None:
    plan = report_records.plan([Job(name="reader", rate_iops=PerDirection(read=500, write=0, trim=0))])
    rows = [builders.row("reader", {READ: tally(2_700)})]
    with feeds.feed(tmp_path, command=["iogauge", "run"], clock=lambda: 12.5) as feed:
        feed.step("drive", expected_s=3.0)
        feed.started(plan)
        feed.interval(builders.interval(0, {READ: tally()}))
        feed.drive(DriveNews("nvme0n1", 41.0, False, False))
        feed.message("a word\nhint: a remedy")
        feed.finished(builders.record(rows))
    begin, step, listed, interval, drive, notice, *_, step_end, end = feeds.events(tmp_path)
    assert (begin["pid"], begin["title"], begin["review"]) == (os.getpid(), "run of drive", None)
    assert (step["label"], step["number"], step["steps"]) == ("drive", 1, 1)
    assert listed["rows"] == [{"stage": 0, "row": 0, "name": "reader", "asked_iops": {"read": 500.0}}]
    assert (interval["start_s"], interval["end_s"], interval["ramp"]) == (0.0, 1.0, False)
    assert interval["directions"]["read"] == {
        "ios": 1000,
        "bytes": 4096000,
        "errors": 0,
        "mean_ns": 50000,
        "p50_ns": 50000,
        "p99_ns": 50000,
        "p999_ns": 50000,
        "p9999_ns": 50000,
        "max_ns": 50000,
        "bands": [[6, 1000]],
    }
    assert (drive["path"], drive["temperature_C"], drive["throttled"]) == ("/dev/nvme0n1", 41.0, False)
    assert (notice["text"], notice["hint"]) == ("a word", "a remedy")
    assert step_end["complete"]
    assert step_end["text"].startswith("reader: read 900 IOPS")
    assert (end["outcome"], end["text"]) == ("done", "")
    assert [event["seq"] for event in feeds.events(tmp_path)] == list(range(1, end["seq"] + 1))
    assert begin["at"] == 12.5


@pytest.mark.parametrize(
    ("error", "outcome", "text"),
    [
        (None, "done", ""),
        (KeyboardInterrupt(), "interrupted", ""),
        (ValueError("broken"), "failed", "broken"),
    ],
)
def test_how_it_ended(tmp_path: Path, error: BaseException | None, outcome: str, text: str) -> None:
    def measure() -> None:
        with feeds.feed(tmp_path) as feed:
            feed.step("a", expected_s=None)
            if error:
                raise error

    if error is None:
        measure()
    else:
        with pytest.raises(type(error)):
            measure()
    *_, step_end, end = feeds.events(tmp_path)
    assert not step_end["complete"]
    assert (end["outcome"], end["text"]) == (outcome, text)


def test_an_interrupted_run_is_not_done(tmp_path: Path) -> None:
    record = builders.record([builders.row("reader", {READ: tally()})])
    stopped = record.model_copy(
        update={"result": record.result.model_copy(update={"stopped_by": "interrupt"})}
    )
    with feeds.feed(tmp_path) as feed:
        feed.step("a", expected_s=None)
        feed.finished(stopped)
    *_, step_end, end = feeds.events(tmp_path)
    assert (step_end["complete"], end["outcome"]) == (False, "interrupted")


def test_short_intervals_of_a_row_are_merged_by_their_histograms(tmp_path: Path) -> None:
    with feeds.feed(tmp_path) as feed:
        feed.step("a", expected_s=None)
        feed.started(report_records.plan([Job(name="reader")]))
        for index in range(5):
            latency_ns = 1_000_000 if index == 4 else 50_000
            feed.interval(builders.interval(index, {READ: tally(10, latency_ns)}, interval_ns=60_000_000))
    (merged,) = (event for event in feeds.events(tmp_path) if event["event"] == "interval")
    assert (merged["start_s"], merged["end_s"]) == (0.0, 0.3)
    read = merged["directions"]["read"]
    assert (read["ios"], read["max_ns"], read["bands"]) == (50, 1_000_000, [[6, 40], [12, 10]])


def test_what_is_left_of_a_row_is_published_at_the_end_of_its_step(tmp_path: Path) -> None:
    with feeds.feed(tmp_path) as feed:
        feed.step("a", expected_s=None)
        feed.interval(builders.interval(0, {READ: tally(1)}, interval_ns=1_000_000))
        feed.step("b", expected_s=None)
    assert kinds(tmp_path) == ["begin", "step", "interval", "step_end", "step", "step_end", "end"]


def test_the_ramp_is_not_merged_with_what_is_measured() -> None:
    pending = Pending(virtual=False)
    ramp = builders.interval(0, {READ: tally(1)}, ramp=True, interval_ns=100_000_000)
    measured = [builders.interval(index, {READ: tally(1)}, interval_ns=100_000_000) for index in range(1, 4)]
    assert [pending.add(interval) for interval in (ramp, *measured)] == [[], [[ramp]], [], [measured]]


def test_virtual_time_gives_no_more_than_five_events_a_second_of_ours() -> None:
    now = [0.0]
    pending = Pending(virtual=True, clock=lambda: now[0])
    published: list[list[Interval]] = []
    for index in range(1000):
        now[0] += 0.002
        published += pending.add(builders.interval(index, {READ: tally(1)}))
    assert 9 <= len(published) <= 11
    assert [interval for part in [*published, *pending.rest()] for interval in part] == [
        builders.interval(index, {READ: tally(1)}) for index in range(1000)
    ]


def test_rows_beyond_the_first_have_rates_but_no_distribution(tmp_path: Path) -> None:
    jobs = [Job(name=f"job {number}") for number in range(MOST_DISTRIBUTIONS + 1)]
    with feeds.feed(tmp_path) as feed:
        feed.step("a", expected_s=None)
        feed.started(report_records.plan(jobs))
        for row in (0, MOST_DISTRIBUTIONS):
            feed.interval(builders.interval(0, {READ: tally()}, row=row))
    first, beyond = (
        event["directions"]["read"] for event in feeds.events(tmp_path) if event["event"] == "interval"
    )
    assert (first["ios"], first["p99_ns"], first["bands"]) == (1000, 50000, [[6, 1000]])
    assert (beyond["ios"], beyond["mean_ns"], beyond["p99_ns"], beyond["bands"]) == (1000, 50000, None, [])


def test_a_warning_of_every_step_comes_once(tmp_path: Path) -> None:
    with feeds.feed(tmp_path) as feed:
        for count in (1_192, 1_160):
            warning = Notice(
                code=Code.UNSUPPORTED, message=f"{count} completions are too few", hint="run longer"
            )
            feed.finished(builders.record([]).model_copy(update={"warnings": (warning,)}))
        feed.message("twice")
        feed.message("twice")
    texts = [event["text"] for event in feeds.events(tmp_path) if event["event"] == "notice"]
    assert texts == ["1192 completions are too few", "twice", "twice"]


def test_two_segments_at_most_are_kept_and_each_can_be_understood(tmp_path: Path) -> None:
    with feeds.feed(tmp_path, segment_bytes=4000) as feed:
        feed.step("a", expected_s=None)
        feed.started(report_records.plan([Job(name="reader")]))
        for index in range(100):
            feed.interval(builders.interval(index, {READ: tally()}))
            assert len(list(tmp_path.iterdir())) <= 2
    assert max(path.stat().st_size for path in tmp_path.iterdir()) < 6000
    gap, begin, step, rows, *_, end = feeds.events(tmp_path)
    assert (gap["event"], gap["from"]) == ("gap", 1)
    assert (begin["seq"], step["seq"], rows["seq"]) == (1, 2, 3)
    assert end["event"] == "end"


def test_a_directory_that_others_may_enter_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "iogauge").mkdir(mode=0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("iogauge.live.places.directories", lambda: [tmp_path / "iogauge"])
    with Feed(title="a") as feed:
        feed.step("a", expected_s=None)
    assert feed.reason == f"{tmp_path}/iogauge: other users may enter it"
    assert list((tmp_path / "iogauge").iterdir()) == []


class Full:
    """A file on a disk that is full after some lines."""

    def __init__(self, lines: int) -> None:
        self._left = lines

    def write(self, _: bytes) -> None:
        self._left -= 1
        if self._left < 0:
            raise OSError(28, "No space left on device")

    def flush(self) -> None:
        """Do nothing."""

    def fileno(self) -> int:
        return 0  # a file that has not been removed

    def close(self) -> None:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("lines", range(4))
def test_a_full_disk_ends_the_feed_and_not_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: int
) -> None:
    monkeypatch.setattr(segments, "create_file", lambda _: Full(lines))
    with feeds.feed(tmp_path) as feed:
        feed.step("a", expected_s=None)
        feed.interval(builders.interval(0, {READ: tally()}))
        feed.message("a word")
    assert "No space left" in feed.reason


def test_a_feed_goes_on_when_its_directory_is_removed(tmp_path: Path) -> None:
    directory = tmp_path / "runtime"
    directory.mkdir()
    with feeds.feed(directory) as feed:
        feed.step("a", expected_s=None)
        reader = feeds.reader(directory)
        assert [event["seq"] for event in reader.read(0)] == [1, 2]
        shutil.rmtree(directory)
        feed.message("a word")
        assert [event["event"] for event in reader.read(2)] == ["notice"]
        reader.close()
    assert not feed.reason
    assert kinds(directory) == ["begin", "step", "notice", "step_end", "end"]


def test_a_feed_whose_directory_cannot_be_made_again_ends(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with feeds.feed(tmp_path / "a" / "b") as feed:
        shutil.rmtree(tmp_path / "a")
        feed.message("a word")
    assert "No such file" in feed.reason


def test_steadiness_comes_no_more_often_than_intervals(tmp_path: Path) -> None:
    steady = SteadyPlan(
        figure="iops",
        slope=False,
        percent=True,
        limit=5,
        duration_ns=2 * 10**9,
        ramp_ns=0,
        interval_ns=10**9,
    )
    passing = (0.01 * number for number in count())
    with feeds.feed(tmp_path, virtual=True) as feed:
        feed._pending = Pending(virtual=True, clock=lambda: next(passing))
        feed.step("a", expected_s=None)
        feed.started(report_records.plan([Job(name="reader")]))
        feed._rows[0, 0].steady = steady
        feed._steadiness[0, 0] = Steadiness(steady)
        for index in range(500):
            feed.interval(builders.interval(index, {READ: tally(10)}))
    published = kinds(tmp_path)
    assert 0 < published.count("steady") <= published.count("interval") < 250


def test_feeds_of_processes_that_have_ended_are_removed(tmp_path: Path) -> None:
    for name in ("99999999-1.feed", f"{os.getpid()}-1.3.feed"):
        (tmp_path / name).write_text("")
    (tmp_path / "something else").write_text("")
    with feeds.feed(tmp_path):
        names = {path.name for path in tmp_path.iterdir()}
    assert len(names) == 2
    assert "something else" in names
