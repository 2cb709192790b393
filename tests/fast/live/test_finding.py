"""Running measurements: which are found, and how one is asked to end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.live.feed import Feed
from iogauge.live.finding import FeedInfo, feeds
from iogauge.live.places import Writer, directories
from iogauge.machine.tuning.owner import start_of


@pytest.fixture(autouse=True)
def _runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setattr("iogauge.live.finding.directories", lambda: directories()[:1])


def test_a_feed_is_found_while_it_is_written_and_not_after_its_end(tmp_path: Path) -> None:
    assert feeds() == []
    with Feed(title="mixed of a", targets=["a"], review=tmp_path / "saved", command=["iogauge"]):
        (info,) = feeds()
    assert (info.pid, info.title, info.targets, info.command) == (
        os.getpid(),
        "mixed of a",
        ("a",),
        ("iogauge",),
    )
    assert (info.review, info.virtual) == (tmp_path / "saved", False)
    assert info.path.parent == tmp_path / "iogauge"
    assert info.reader().read(0)[-1]["event"] == "end"
    assert feeds() == []


def test_a_feed_whose_process_has_ended_or_is_another_now_is_over(tmp_path: Path) -> None:
    with Feed(title="a"):
        path = feeds()[0].path
        path.rename(path.with_name(f"{os.getpid()}-1.feed"))
        assert feeds() == []


def test_a_feed_of_another_version_hides_no_other(tmp_path: Path) -> None:
    with Feed(title="a"):
        (info,) = feeds()
        beside = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
        other = Writer(beside.pid, start_of(beside.pid) or 0).segment(info.path.parent, 0)
        other.write_text('{"seq":1,"at":1,"event":"begin","name":"of another version"}\n')
        try:
            assert feeds() == [info]
        finally:
            beside.kill()
            beside.communicate()


def test_an_end_of_many_characters_is_found() -> None:
    with Feed(title="a") as feed:
        assert len(feeds()) == 1
        feed.conclude("failed", "\N{GRINNING FACE}" * 2000)
    assert feeds() == []


def test_a_directory_of_others_is_not_read(tmp_path: Path) -> None:
    with Feed(title="a"):
        (tmp_path / "iogauge").chmod(0o755)
        assert feeds() == []


def test_without_a_runtime_directory_feeds_lie_in_tmp(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert directories() == [Path(f"/tmp/iogauge-{os.geteuid()}")]


def info_of(pid: int, start_ticks: int | None = None) -> FeedInfo:
    ticks = start_of(pid) if start_ticks is None else start_ticks
    assert ticks is not None
    return FeedInfo(pid, ticks, "a", None, (), (), False, 0.0, Path("a"))


def waiting(handler: str) -> subprocess.Popen[str]:
    """Start a process that waits for a signal, whose handler is set as ``handler`` says."""
    text = f"import signal; {handler}; print(flush=True); signal.pause()"
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


@pytest.mark.parametrize(
    ("handler", "ends_by"),
    [
        ("signal.signal(signal.SIGINT, signal.SIG_DFL)", signal.SIGINT),
        ("signal.signal(signal.SIGINT, signal.SIG_IGN)", signal.SIGTERM),
    ],
)
def test_a_process_is_ended_by_a_signal_that_it_does_not_ignore(handler: str, ends_by: int) -> None:
    process = waiting(handler)
    info_of(process.pid).interrupt()
    assert process.wait() == -ends_by


def test_another_process_of_the_same_number_is_left_alone() -> None:
    process = waiting("signal.signal(signal.SIGINT, signal.SIG_DFL)")
    try:
        with pytest.raises(IogaugeError, match="has ended"):
            info_of(process.pid, start_ticks=1).interrupt()
        assert process.poll() is None
    finally:
        process.kill()
    info = info_of(process.pid, start_ticks=1)
    process.wait()
    with pytest.raises(IogaugeError, match="No such process"):
        info.interrupt()


def test_a_zombie_has_ended() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert not Writer(process.pid, start_of(process.pid) or 0).is_running
    process.wait()
