"""The commands that measure publish a feed, from their own code on."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.cli import main
from tests.fast.live import feeds

JOB = ["--name=x", "--filename=model:p4800x", "--rw=randread", "--bs=4k", "--rate_iops=1000", "--runtime=3"]


@pytest.fixture
def runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "iogauge"


def test_a_run(runtime: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", *JOB]) == 0
    begin, step, rows, *intervals, step_end, end = (
        event for event in feeds.events(runtime) if event["event"] != "notice"
    )
    assert (begin["title"], begin["targets"], begin["virtual"]) == (
        "run of model:p4800x",
        ["model:p4800x"],
        True,
    )
    assert (begin["review"], step["label"], step["expected_s"]) == (None, "model:p4800x", 3.0)
    assert rows["rows"] == [{"stage": 0, "row": 0, "name": "x", "asked_iops": {"read": 1000.0}}]
    assert sum(event["directions"]["read"]["ios"] for event in intervals) == 3000
    assert step_end["text"].startswith("x: read 1,000 IOPS")
    assert end["outcome"] == "done"
    capsys.readouterr()


def test_a_run_that_cannot_begin(runtime: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--name=x", "--filename=missing", "--rw=read"]) == 1
    end = feeds.events(runtime)[-1]
    assert (end["event"], end["outcome"]) == ("end", "failed")
    assert end["text"] in capsys.readouterr().err


def test_without_a_place_for_the_feed_a_run_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("iogauge.live.places.directories", lambda: [tmp_path / "missing" / "iogauge"])
    assert main(["run", *JOB]) == 0
    assert "1,000 reads a second" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            ["review", "model:p4800x", "--suite", "mixed", "--runtime", "1s", "--output", "saved"],
            marks=pytest.mark.slow,
        ),
        ["quick", "model:p4800x", "--read-only", "--runtime", "1s", "--output", "saved"],
    ],
)
def test_a_review(runtime: Path, capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    assert main(command) == 0
    events = feeds.events(runtime)
    assert events[0]["review"] == str(runtime.parent / "saved")
    steps = [event for event in events if event["event"] == "step"]
    ends = [event for event in events if event["event"] == "step_end"]
    assert len(steps) > 2
    assert [event["label"] for event in steps] == [event["label"] for event in ends]
    counted = [event["number"] for event in steps if not event["search"]]
    assert counted == list(range(1, len(counted) + 1))
    assert all(event["complete"] and "IOPS" in event["text"] for event in ends if event["complete"])
    assert events[-1]["outcome"] == "done"
    capsys.readouterr()
