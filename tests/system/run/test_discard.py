"""Purging real devices: a discard of the device, if it supports one and its data may be destroyed. Needs root."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.execution import purge
from iogauge.target import open_target

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

MIB = 1 << 20


def held_bytes(zram: str) -> int:
    """What the pages of a zram device take before they are compressed."""
    return int(Path(f"/sys/block/{Path(zram).name}/mm_stat").read_text().split()[0])


def test_a_device_holds_nothing_afterwards(zram: str) -> None:
    messages: list[str] = []
    with open_target(zram, write=True) as target:
        os.pwrite(target.fd, os.urandom(4 * MIB), 0)
        os.pwrite(target.fd, os.urandom(MIB), 15 * MIB)
        os.fsync(target.fd)
    assert held_bytes(zram) >= 5 * MIB
    purge(zram, destroy=[zram], on_message=messages.append)
    assert held_bytes(zram) == 0
    assert f"{zram}: purged: 16.78 MB discarded" in messages


def test_what_holds_data_is_refused_unless_it_is_named(zram: str) -> None:
    subprocess.run(["mkfs.ext4", "-q", "-E", "nodiscard", zram], check=True)
    held = held_bytes(zram)
    with pytest.raises(IogaugeError, match="it holds data: ext4"):
        purge(zram)
    assert held_bytes(zram) == held > 0
    purge(zram, destroy=[zram])
    assert held_bytes(zram) == 0


def test_a_device_without_discard_says_so(tmp_path: Path) -> None:
    disk = tmp_path / "disk.img"
    disk.write_bytes(bytes(4 * MIB))
    command = ["losetup", "--find", "--show", str(disk)]
    device = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    limit = Path(f"/sys/block/{Path(device).name}/queue/discard_max_bytes")
    try:
        limit.write_text("0")
        with pytest.raises(IogaugeError, match="the device does not support discard") as caught:
            purge(device, destroy=[device])
        assert "state='as-is'" in str(caught.value.hint)
    finally:
        subprocess.run(["losetup", "-d", device], check=True)
