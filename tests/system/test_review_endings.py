"""Real reviews on a file and on a block device, complete or ended early: Ctrl-C, a full disk, a refused drive."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from iogauge.store import Review

QUICK = ("--runtime", "200ms", "--seed", "5")


def review(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    command = [
        sys.executable,
        "-m",
        "iogauge",
        "review",
        *(["--suite", "write-pressure"] if "--resume" not in arguments else []),
        *arguments,
    ]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)


def shown(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a review that went well printed as JSON."""
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads(done.stdout)
    return results


def judged(shown: dict[str, Any]) -> None:
    """Check what every real review must show, on however busy a machine."""
    (plan,) = shown["plans"]
    assert plan["missing"] == []
    assert plan["steps"][0]["achieved_Bps"] == 0
    assert all(step["iops"] > 0 and step["errors"] == 0 for step in plan["steps"])
    assert all(0 < step["achieved_Bps"] <= 1.1 * step["requested_Bps"] for step in plan["steps"][1:])


def test_on_a_file(tmp_path: Path) -> None:
    judged(shown(review(tmp_path, "drive.bin", "--size", "16m", "--output", "r", "--json", *QUICK)))
    record = Review.open(tmp_path / "r").record("write-pressure.pressure-0")
    assert record.targets[0].kind == "file"


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[str]:
    """A loop device of 32 MiB with a file system on it."""
    image = tmp_path / "loop.img"
    with image.open("wb") as file:
        file.truncate(32 << 20)
    made = subprocess.run(
        ["losetup", "--find", "--show", str(image)], capture_output=True, text=True, check=True
    )
    device = made.stdout.strip()
    try:
        subprocess.run(["mkfs.ext4", "-q", device], check=True)
        yield device
    finally:
        subprocess.run(["losetup", "--detach", device], check=True)


def test_on_a_block_device_once_that_is_allowed(tmp_path: Path, loop: str) -> None:
    refused = review(tmp_path, loop, "--output", "r", *QUICK)
    assert refused.returncode == 1
    assert "ext4" in refused.stderr
    assert f"--destroy {loop}" in refused.stderr
    assert not (tmp_path / "r").exists()
    judged(shown(review(tmp_path, loop, "--destroy", loop, "--output", "r", "--json", *QUICK)))


@contextmanager
def after_two_steps(
    folder: Path, output: str, *, more: tuple[str, ...] = ()
) -> Iterator[subprocess.Popen[str]]:
    """A review that has just completed the search and two steps."""
    command = [sys.executable, "-m", "iogauge", "review", "drive.bin", "--suite", "write-pressure"]
    command += ["--size", "16m", "--output", output, *QUICK, *more]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        lines = []
        # A reader with a buffer would keep lines from communicate().
        with os.fdopen(os.dup(process.stderr.fileno()), "rb", buffering=0) as unbuffered:
            for line in unbuffered:
                lines.append(line)
                # A long step has lines before its end.
                if b"[2/" in line and b"; took " in line:
                    break
            else:
                pytest.fail(b"".join(lines).decode())
        yield process


def test_ctrl_c_keeps_what_was_complete(tmp_path: Path) -> None:
    for runtime in ("200ms", "1s", "5s"):
        with after_two_steps(tmp_path, runtime, more=("--runtime", runtime)) as process:
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate()
        # On a busy machine a review of short steps may be over before it is interrupted.
        if process.returncode:
            break
    assert stdout == ""
    assert process.returncode == 130, stderr
    assert f"hint: iogauge review --resume {runtime}" in stderr
    assert len(Review.open(tmp_path / runtime).completed()) == 2 + stderr.count("; took ")
    judged(shown(review(tmp_path, "--resume", runtime, "--json")))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for a whole review, and nothing else on it."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_keeps_what_was_complete(tmp_path: Path, small_disk: Path) -> None:
    filler = small_disk / "filler"
    with after_two_steps(tmp_path, "small/r") as process:
        process.send_signal(signal.SIGSTOP)
        os.waitpid(process.pid, os.WUNTRACED)
        filler.write_bytes(bytes(shutil.disk_usage(small_disk).free))
        process.send_signal(signal.SIGCONT)
        _, stderr = process.communicate()
    assert process.returncode == 1, stderr
    assert "No space left on device" in stderr
    assert "hint: free some space" in stderr
    assert "continue with --resume" in stderr
    saved = Review.open(small_disk / "r")
    assert len(saved.completed()) >= 2
    for step_id in saved.completed():
        assert saved.record(step_id).result.stopped_by is None
        assert list(saved.intervals(step_id))
    filler.unlink()
    judged(shown(review(tmp_path, "--resume", "small/r", "--json")))
