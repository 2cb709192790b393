"""Recording: what the kernel's events say of requests, and which targets are disks."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.machine.trace.events import Events, Kind
from iogauge.target.users.sysfs import Host
from iogauge.traces.parsing import Pairing
from iogauge.traces.recording import disk_of, holds, rows_of_events
from iogauge.traces.rows import DIRECTIONS

QUEUE, COMPLETE, ISSUE = Kind.QUEUE, Kind.COMPLETE, Kind.ISSUE


def events(*fields: tuple[int, Kind, int, int, str]) -> Events:
    """Return events of time, kind, sector, sectors and the letter of the direction."""
    columns = [
        np.array(column, dtype=np.int64)
        for column in zip(
            *(
                (time, kind, sector, sectors, ord(letter or "\0"))
                for time, kind, sector, sectors, letter in fields
            ),
            strict=True,
        )
    ]
    return Events(*columns, thread=np.zeros(len(fields), dtype=np.int64))


def test_events_become_requests() -> None:
    rows = rows_of_events(
        events(
            (10, QUEUE, 8, 8, "R"),
            (11, QUEUE, 16, 1, "W"),
            (12, QUEUE, -1, 0, "W"),  # a flush
            (13, QUEUE, 32, 64, "D"),
            (14, QUEUE, 0, 0, ""),  # what the block layer makes of it
            (15, QUEUE, 5, 0, "R"),
            (20, COMPLETE, 8, 8, "R"),
            (21, COMPLETE, 0, 0, "W"),
            (25, COMPLETE, 32, 64, "D"),
        )
    )
    requests = np.concatenate([*Pairing().rows(iter([rows]))])
    assert [
        (
            int(row["time_ns"]),
            DIRECTIONS[row["direction"]].value,
            int(row["offset_bytes"]),
            int(row["size_bytes"]),
            int(row["latency_ns"]),
        )
        for row in requests
    ] == [
        (10, "read", 4096, 4096, 10),
        (11, "write", 8192, 512, -1),
        (12, "sync", 0, 0, 9),
        (13, "trim", 16384, 32768, 12),
    ]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """A machine with a disk, 7:0 as /dev/null would be a disk's number, and its partition 7:1."""
    block = tmp_path / "sys" / "devices" / "block" / "sda"
    (block / "sda1").mkdir(parents=True)
    (block / "dev").write_text("7:0\n")
    (block / "sda1" / "dev").write_text("7:1\n")
    (block / "sda1" / "partition").write_text("1\n")
    numbers = tmp_path / "sys" / "dev" / "block"
    numbers.mkdir(parents=True)
    (numbers / "7:0").symlink_to(block)
    (numbers / "7:1").symlink_to(block / "sda1")
    return Host(sys=tmp_path / "sys")


class _Status:
    def __init__(self, number: int) -> None:
        self.st_mode, self.st_rdev, self.st_dev = 0o60660, number, number


def test_a_disk_is_recorded_and_a_partition_names_its_disk(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    actual = Path.stat
    monkeypatch.setattr(
        Path,
        "stat",
        lambda path, **options: (
            _Status(os.makedev(7, int(path.name[-1])))
            if path.name in ("0", "1", "folder0", "folder2")
            else actual(path, **options)
        ),
    )
    disk = disk_of("/dev/0", host)
    assert disk.name == "sda"
    with pytest.raises(IogaugeError, match="is a partition") as caught:
        disk_of("/dev/1", host)
    assert caught.value.hint == "record the disk: /dev/sda"
    assert holds(disk, Path("/folder0/file"))
    assert not holds(disk, Path("/folder2/file"))


def test_what_is_no_disk_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for target in (str(tmp_path), str(tmp_path / "missing"), "/dev/null", "a\0b"):
        assert main(["trace", "record", target, "--output", str(tmp_path / "t")]) == 1
        assert "hint: name a disk, such as /dev/nvme0n1" in capsys.readouterr().err
    command = ["trace", "record", "/dev/null", "--output", str(tmp_path / "t")]
    assert main([*command, "--runtime", "1s", "--", "true"]) == 2
    assert main([*command, "--runtime", "soon"]) == 2
    assert main([*command, "--", "no-such-program"]) == 2
    assert list(tmp_path.iterdir()) == []
