"""What links carry: read from trees like those of real machines, and unknown where nothing says."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.target.link import link_Bps
from iogauge.target.users.sysfs import BlockDevice, Host


@pytest.mark.parametrize(
    ("speed", "lanes", "expected"),
    [
        ("8.0 GT/s PCIe", "4", 3_938_461_538),
        ("16.0 GT/s PCIe", "4", 7_876_923_077),
        ("5.0 GT/s PCIe", "2", 1_000_000_000),
        ("2.5 GT/s", "4", 1_000_000_000),
        ("Unknown", "4", None),
        ("8.0 GT/s PCIe", "0", None),
    ],
)
def test_lanes_of_an_nvme_drive(tmp_path: Path, speed: str, lanes: str, expected: int | None) -> None:
    controller = tmp_path / "devices" / "pci0000:00" / "0000:01:00.0"
    disk = controller / "nvme" / "nvme0" / "nvme0n1"
    disk.mkdir(parents=True)
    (disk / "device").symlink_to(disk.parent)
    (disk.parent / "device").symlink_to(controller)
    (controller / "current_link_speed").write_text(f"{speed}\n")
    (controller / "current_link_width").write_text(f"{lanes}\n")
    assert link_Bps(BlockDevice(disk, Host(tmp_path))) == expected


@pytest.mark.parametrize(("spd", "expected"), [("6.0 Gbps", 600_000_000), ("<unknown>", None)])
def test_a_sata_port(tmp_path: Path, spd: str, expected: int | None) -> None:
    port = tmp_path / "devices" / "pci0000:00" / "0000:00:17.0" / "ata1"
    disk = port / "host0" / "target0:0:0" / "0:0:0:0" / "block" / "sda"
    disk.mkdir(parents=True)
    link = port / "link1" / "ata_link" / "link1"
    link.mkdir(parents=True)
    (link / "sata_spd").write_text(f"{spd}\n")
    assert link_Bps(BlockDevice(disk, Host(tmp_path))) == expected


def test_what_says_nothing_is_unknown(tmp_path: Path) -> None:
    (tmp_path / "devices" / "virtual" / "block" / "zram0").mkdir(parents=True)
    assert link_Bps(BlockDevice(tmp_path / "devices" / "virtual" / "block" / "zram0", Host(tmp_path))) is None
