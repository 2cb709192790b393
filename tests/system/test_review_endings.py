"""A real review on a file and on a block device, and what ends one early: Ctrl-C, a full disk, a refused drive."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iogauge.store import Review

QUICK = ("--runtime", "200ms", "--seed", "5")


def review(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command to its end."""
    asked = [
        sys.executable,
        "-m",
        "iogauge",
        "review",
        *(["--suite", "write-pressure"] if "--resume" not in arguments else []),
        *arguments,
    ]
    return subprocess.run(asked, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


def shown(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """What a review that went well printed as JSON."""
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def judged(shown: dict[str, Any]) -> None:
    """Check what every real review must show, on however busy a machine."""
    (found,) = shown["plans"]
    assert found["missing"] == []
    assert found["steps"][0]["achieved_Bps"] == 0
    assert all(step["iops"] > 0 and step["errors"] == 0 for step in found["steps"])
    assert all(0 < step["achieved_Bps"] <= 1.1 * step["asked_Bps"] for step in found["steps"][1:])


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


def test_ctrl_c_keeps_what_was_complete(tmp_path: Path) -> None:
    asked = [
        sys.executable,
        "-m",
        "iogauge",
        "review",
        "drive.bin",
        "--suite",
        "write-pressure",
        "--size",
        "16m",
        "--output",
        "r",
        *QUICK,
    ]
    with subprocess.Popen(
        asked, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert process.stdout is not None
        before = []
        for line in process.stderr:
            before.append(line)
            if "[3/" in line:  # of the search and two steps
                break
        process.send_signal(signal.SIGINT)
        after = process.stderr.read()
        assert process.stdout.read() == ""
    assert process.returncode == 130, "".join(before) + after
    assert "hint: iogauge review --resume r" in after
    assert len(Review.open(tmp_path / "r").completed()) == 2
    judged(shown(review(tmp_path, "--resume", "r", "--json")))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for a few steps, but not for all."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=280k", "none", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_keeps_what_was_complete(tmp_path: Path, small_disk: Path) -> None:
    done = review(tmp_path, "drive.bin", "--size", "16m", "--output", "small/r", *QUICK)
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert "hint: free some space" in done.stderr
    assert "go on with --resume" in done.stderr
    saved = Review.open(small_disk / "r")
    for step_id in saved.completed():
        assert saved.record(step_id).result.stopped_by is None
        assert list(saved.intervals(step_id))
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    judged(shown(review(tmp_path, "--resume", "small/r", "--json")))
