"""Recording real disks: the trace has the requests that a program made, in their order, and counts what was lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from iogauge.machine.trace.tracefs import MOUNTS, instances
from iogauge.traces import recording
from iogauge.traces.recording import Recording, disk_of
from iogauge.traces.rows import DIRECTIONS, UNKNOWN
from tests.fast.traces import trace_samples as samples
from tests.refusals import sh
from tests.system.test_trace_latency import tracefs

__all__ = ["tracefs"]
TRACING = MOUNTS[0]

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not TRACING.exists(), reason="the kernel has no tracing"),
]

Made = list[tuple[str, int, int]]


def fio(disk: str, log: Path, *options: str) -> list[str]:
    return ["fio", "--name=x", f"--filename={disk}", "--size=8m", "--direct=1", "--randseed=3",
            f"--write_iolog={log}", "--output=/dev/null", *options]  # fmt: skip


def logged(log: Path) -> Made:
    """Return the requests of an iolog: direction, offset, size."""
    made = []
    for line in log.read_text().splitlines()[1:]:
        _, _, action, *place = line.split()
        if place:
            made.append(("sync", 0, 0) if action == "sync" else (action, int(place[0]), int(place[1])))
    return made


def record(disk: str, trace: Path, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "iogauge", "trace", "record", disk, "--output", str(trace), "--", *command]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        stdout, stderr = process.communicate()
    # Other tests trace meanwhile.
    left = [instance for instance in instances(TRACING) if instance.name.endswith(f"-{process.pid}")]
    assert left == [], "it removes its own instance"
    return subprocess.CompletedProcess(words, process.returncode, stdout, stderr)


def recorded(trace: Path) -> Made:
    rows, _, facts = samples.read(trace)
    assert facts.source == "recorded"
    assert facts.lost == 0
    assert (rows["latency_ns"] != UNKNOWN).all()
    return [
        (DIRECTIONS[row["direction"]].value, int(row["offset_bytes"]), int(row["size_bytes"])) for row in rows
    ]


def test_a_trace_has_what_a_program_asked_for_in_its_order(zram: str, tmp_path: Path) -> None:
    log, trace = tmp_path / "log", tmp_path / "t"
    options = ["--rw=randrw", "--bsrange=4k-64k", "--number_ios=1009", "--invalidate=0"]
    ran = record(zram, trace, fio(zram, log, *options))
    assert ran.returncode == 0, ran.stderr
    made, asked_for = recorded(trace), logged(log)
    assert made[: len(asked_for)] == asked_for
    assert {direction for direction, *_ in made[len(asked_for) :]} <= {
        "read"
    }  # what looks at a disk that was written


def test_a_disk_with_requests_and_flushes(disk: str, tmp_path: Path) -> None:
    log, trace = tmp_path / "log", tmp_path / "t"
    options = ["--rw=randwrite", "--bs=4k", "--number_ios=503", "--fsync=50", "--iodepth=8", "--ioengine=libaio",
               "--invalidate=0"]  # fmt: skip
    ran = record(disk, trace, fio(disk, log, *options))
    assert ran.returncode == 0, ran.stderr
    made, asked_for = recorded(trace), logged(log)
    assert [one for one in made if one[0] == "write"] == [one for one in asked_for if one[0] == "write"]
    # Closing the disk may flush it once more.
    assert (
        len([one for one in made if one[0] == "sync"])
        >= len([one for one in asked_for if one[0] == "sync"])
        > 9
    )


def test_the_exit_status_is_the_commands(disk: str, tmp_path: Path) -> None:
    ran = record(
        disk, tmp_path / "t", ["sh", "-c", f"dd if={disk} of=/dev/null bs=4k count=1 iflag=direct; exit 7"]
    )
    assert ran.returncode == 7
    assert len(recorded(tmp_path / "t")) == 1


def test_nothing_recorded_is_an_error_without_a_file(disk: str, tmp_path: Path) -> None:
    ran = record(disk, tmp_path / "t", ["true"])
    assert ran.returncode == 1
    assert "error: no request reached loop" in ran.stderr
    assert list(tmp_path.glob("t*")) == []


def test_ctrl_c_ends_a_recording_and_keeps_it(disk: str, tmp_path: Path) -> None:
    words = [sys.executable, "-m", "iogauge", "trace", "record", disk, "--output", str(tmp_path / "t")]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "recording until Ctrl-C\n"
        sh("dd", f"if={disk}", "of=/dev/null", "bs=4k", "count=3", "iflag=direct")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert out == f"{tmp_path / 't'}\n"
    assert recorded(tmp_path / "t") == [("read", 4096 * number, 4096) for number in range(3)]


def test_events_that_are_lost_are_counted(zram: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "_TAKE_S", 3600.0)
    trace = tmp_path / "t"
    with trace.open("wb") as sink:
        lasting = Recording(disk_of(zram), sink, buffer_kib=8)
        with lasting:
            sh("dd", f"if={zram}", "of=/dev/null", "bs=4k", "iflag=direct")
    facts = lasting.facts
    assert facts is not None
    assert facts.lost > 1000
    shown = subprocess.run(
        [sys.executable, "-m", "iogauge", "trace", "show", str(trace)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "LOSSY" in shown.stdout


@pytest.mark.parametrize("pacing", ["timed", "closed", "think", "dependent"])
def test_what_was_recorded_is_replayed(pacing: str, zram: str, tmp_path: Path) -> None:
    log, trace, again = tmp_path / "log", tmp_path / "t", tmp_path / "again"
    options = ["--rw=randrw", "--bsrange=4k-64k", "--number_ios=509", "--invalidate=0"]
    assert record(zram, trace, fio(zram, log, *options)).returncode == 0
    # One request at a time, so that the disk gets them in the order of the trace.
    replay = [sys.executable, "-m", "iogauge", "replay", str(trace), zram, "--destroy", zram, "--pacing", pacing,
              "--iodepth=1", "--ioengine=psync"]  # fmt: skip
    ran = record(zram, again, replay)
    assert ran.returncode == 0, ran.stderr
    same_requests(recorded(trace), recorded(again))


def test_a_review_that_was_recorded_is_replayed(zram: str, tmp_path: Path) -> None:
    trace, again = tmp_path / "t", tmp_path / "again"
    review = [sys.executable, "-m", "iogauge", "review", zram, "--destroy", zram, "--suite=mixed", "--runtime=2ms",
              "--size=8m", "--seed=1", "--output", str(tmp_path / "saved")]  # fmt: skip
    ran = record(zram, trace, review)
    assert ran.returncode == 0, ran.stderr
    replay = [sys.executable, "-m", "iogauge", "replay", str(trace), zram, "--destroy", zram, "--pacing=closed",
              "--iodepth=1", "--ioengine=psync"]  # fmt: skip
    ran = record(zram, again, replay)
    assert ran.returncode == 0, ran.stderr
    same_requests(recorded(trace), recorded(again))


def same_requests(first: Made, second: Made) -> None:
    """Assert that a replay made the requests of the first recording, in their order."""
    assert len(first) > 100
    # iogauge looks at the disk before and after.
    begin = next(at for at in range(len(second)) if second[at : at + len(first)] == first)
    assert {direction for direction, *_ in second[:begin] + second[begin + len(first) :]} <= {"read"}
