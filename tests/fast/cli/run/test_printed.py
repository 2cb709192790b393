"""``--status-interval``: reports while a run lasts, and where they go. The run is a model's, in virtual time."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iogauge import cli
from iogauge.cli.terminal import status
from tests.fast.report.run.test_fio_logs import little_room  # noqa: F401 (a fixture)

JOB = (
    "--no-ceiling",
    "--name=x",
    "--filename=model:ram@ideal",
    "--rw=randread",
    "--rate_iops=1000",
    "--time_based",
    "--runtime=3",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> int:
    return cli.main(["run", *JOB, "--output-format=json", *arguments])


def documents(text: str) -> Iterator[dict[str, Any]]:
    """Yield the JSON documents of a text, one after the other."""
    reader, at = json.JSONDecoder(), 0
    while at < len(text):
        document, at = reader.raw_decode(text, at)
        yield document
        at += len(text[at:]) - len(text[at:].lstrip())


def ios(text: str) -> list[int]:
    return [document["jobs"][0]["read"]["total_ios"] for document in documents(text)]


def test_reports_and_results_are_one_file(folder: Path) -> None:
    (folder / "out").write_text("of an earlier run")
    assert run("--status-interval=1", "--output=out") == status.OK
    assert ios((folder / "out").read_text()) == [1_000, 2_000, 3_000, 3_000]


def test_a_reader_of_a_pipe_has_all_of_them(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    texts: list[str] = []
    reader = threading.Thread(target=lambda: texts.append((folder / "pipe").read_text()), daemon=True)
    reader.start()
    assert run("--status-interval=1", "--output=pipe") == status.OK
    reader.join()
    assert [ios(text) for text in texts] == [[1_000, 2_000, 3_000, 3_000]]


@pytest.mark.usefixtures("little_room")
def test_a_full_disk_stops_reports_and_not_the_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--status-interval=100ms", "--output=out") == status.ERROR
    out, err = capsys.readouterr()
    assert ios(out) == [3_000]
    assert err.count("no more results until the end: out: cannot write: File too large\n") == 1
    assert "error: out: cannot write: File too large\nhint: the result was printed instead" in err


@pytest.mark.parametrize(
    ("every", "interval_ms", "seen"),
    [
        ("1.01s", 1_000, [2_000, 3_000, 3_000]),
        ("1500ms", 1_000, [2_000, 3_000, 3_000]),
        ("700ms", 500, [1_000, 1_500, 2_500, 3_000, 3_000]),
        ("1h", 1_000, [3_000]),
    ],
)
def test_a_report_comes_with_the_first_end_of_an_interval_after_it_is_due(
    every: str, interval_ms: int, seen: list[int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"--status-interval={every}") == status.OK
    out = capsys.readouterr().out
    assert ios(out) == seen
    assert {document["iogauge"]["interval_ns"] for document in documents(out)} == {interval_ms * 10**6}


@pytest.mark.parametrize(("every", "interval_ms"), [("300ms", 250), ("10.5ms", 10), ("2s", 500)])
def test_intervals_fit_the_windows_of_logs_too(
    every: str, interval_ms: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(f"--status-interval={every}", "--write_bw_log=x", "--log_avg_msec=500") == status.OK
    *_, document = documents(capsys.readouterr().out)
    assert document["iogauge"]["interval_ns"] == interval_ms * 10**6
