"""Drives are locked on their computer, whoever uses them and by whatever name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.fleet.host import drives
from iogauge.fleet.host.drives import DriveLocks, drives_of
from iogauge.target.users.mounts import parse_mount

HOLD = """
import sys
from iogauge.fleet.host.drives import DriveLocks
locks = DriveLocks("host b of fleet f1")
for path in sys.argv[1:]:
    locks.take(path)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(*targets: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Hold targets in another process."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, *map(str, targets)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_drive_has_one_holder_until_that_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    path.touch()
    with held(path) as holder:
        with pytest.raises(IogaugeError, match="is using its drive: host b of fleet f1, process") as refused:
            DriveLocks("x").take(str(path))
        assert refused.value.hint
        holder.kill()
        holder.wait()
        locks = DriveLocks("x")
        locks.take(str(path))
        locks.take(str(path))  # its own


def test_other_names_of_a_file_are_the_same_drive(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    path.touch()
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "hard").hardlink_to(path)
    (tmp_path / "folder").symlink_to(tmp_path)
    names = [tmp_path / "link", tmp_path / "hard", tmp_path / "folder" / "disk"]
    assert len(set(drives_of(map(str, [path, *names])))) == 1
    with held(path):
        for name in names:
            with pytest.raises(IogaugeError, match="is using its drive"):
                DriveLocks("x").take(str(name))


def test_a_file_is_held_before_it_is_made(tmp_path: Path) -> None:
    path = tmp_path / "disk"
    with held(path):
        path.touch()
        with pytest.raises(IogaugeError, match="is using its drive"):
            DriveLocks("x").take(str(path))
        DriveLocks("x").take(str(tmp_path / "other"))


def test_logins_with_other_runtime_directories_share_the_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "disk"
    path.touch()
    with held(path):
        monkeypatch.delenv("XDG_RUNTIME_DIR")
        with pytest.raises(IogaugeError, match="is using its drive"):
            DriveLocks("x").take(str(path))


def test_drive_models_are_no_drives(tmp_path: Path) -> None:
    assert drives_of(["model:p4800x"]) == ()
    DriveLocks("x").take("model:p4800x")
    DriveLocks("y").take("model:p4800x")
    assert len(drives_of([str(tmp_path / "a"), str(tmp_path / "b"), str(tmp_path / "a")])) == 2


def test_a_file_of_a_network_file_system_has_its_path_as_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = {
        "/": "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
        "remote": f"2 1 0:9 / {tmp_path} rw - nfs4 server:/export rw",
    }
    monkeypatch.setattr(drives, "mounts_of", lambda _: [parse_mount(line) for line in tables.values()])
    assert drives_of([str(tmp_path / "disk")]) == (f"network {tmp_path}/disk",)
    # What is mounted above it is what is seen.
    tables["local"] = f"3 2 8:2 / {tmp_path} rw - ext4 /dev/sdb1 rw"
    assert drives_of([str(tmp_path / "disk")])[0].startswith("file ")
