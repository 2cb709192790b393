"""Which drive a path is on, and what Linux has of one that answers no commands: from small trees like the kernel's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.machine import drive as drives
from iogauge.machine.ata.identity import AtaIdentity, parse_identity, parse_words
from iogauge.machine.drive import read_drive
from iogauge.machine.nvme.admin import NvmeDevice
from iogauge.machine.unread import by_reason
from iogauge.target import TargetRefused
from iogauge.target.users.sysfs import Host, number_of
from tests import nvme_images as images
from tests.fast.machine.ata import ata_images

IDENTITY = (Path(__file__).parent / "qemu-sata.txt").read_text()
"""What Linux has of QEMU's SATA drive (7.2)."""


def tree(root: Path, place: str, **attributes: str) -> Path:
    """Make a disk in a tree of sysfs, as the disk of the file system that ``root`` is on; return its directory."""
    disk = root / "devices" / place
    number = number_of(root.stat().st_dev)
    for name, text in {"dev": number, "size": "2048", **attributes}.items():
        path = disk / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    for link in (f"dev/block/{number}", f"class/block/{disk.name}"):
        (root / link).parent.mkdir(parents=True, exist_ok=True)
        (root / link).symlink_to(disk)
    return disk


def sata(root: Path) -> Path:
    """Make a SATA disk; return its port."""
    tree(root, "ata1/host0/target0:0:0/0:0:0:0/block/sda", device__model="QEMU SATA", queue__rotational="0")
    port = root / "devices" / "ata1"
    for name, text in {
        "link1/ata_link/link1/sata_spd": "1.5 Gbps",
        "link1/ata_link/link1/hw_sata_spd_limit": "<unknown>",
        "host0/scsi_host/host0/link_power_management_policy": "med_power_with_dipm",
        "link1/dev1.0/ata_device/dev1.0/id": IDENTITY,
    }.items():
        (port / name).parent.mkdir(parents=True, exist_ok=True)
        (port / name).write_text(f"{text}\n")
    return port


def test_a_sata_drive_needs_no_permission(tmp_path: Path) -> None:
    sata(tmp_path)
    drive = read_drive(str(tmp_path), Host(sys=tmp_path))
    assert drive.facts.size_bytes == 1 << 20
    assert drive.nvme is None
    assert drive.restriction is None
    assert drive.ata is not None
    assert drive.ata.link_policy == "med_power_with_dipm"
    assert (drive.ata.link_speed, drive.ata.link_limit) == ("1.5 Gbps", None)
    assert drive.ata.identity == AtaIdentity(
        model="QEMU SATA",
        serial="S1",
        firmware="2.5+",
        rotation_rpm=0,
        queue_depth=32,
        write_cache=True,
        power_level=None,
        host_sleep=False,
        device_sleep=None,
        deeper_sleep=False,
        dev_sleep=None,
        trim=True,
        smart=True,
        logs=False,
        sector_bytes=512,
    )
    assert drive.ata.answers is None
    assert {item.what for item in drive.unread} == {"SMART", "the statistics", "the power mode"}


def test_a_sata_drive_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sata(tmp_path)
    opened_as(monkeypatch, "/dev/sda", tmp_path.stat().st_dev)
    monkeypatch.setattr(drives, "AtaDevice", lambda fd: ata_images.ssd())
    drive = read_drive(str(tmp_path), Host(sys=tmp_path))
    assert drive.ata is not None
    assert drive.ata.answers is not None
    assert drive.ata.answers.statistics is not None
    assert drive.ata.answers.statistics.power_on_h == 1234
    assert drive.unread == ()


def test_a_drive_behind_a_bridge_answers_if_the_bridge_says_that_it_translates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = tree(tmp_path, "usb1/1-2/host6/target6:0:0/6:0:0:0/block/sdb", device__model="Bridge")
    assert read_drive(str(tmp_path), Host(sys=tmp_path)).restriction is not None
    (disk / "device/vpd_pg89").write_bytes(bytes(572))
    opened_as(monkeypatch, "/dev/sdb", tmp_path.stat().st_dev)
    monkeypatch.setattr(drives, "AtaDevice", lambda fd: ata_images.ssd())
    drive = read_drive(str(tmp_path), Host(sys=tmp_path))
    assert drive.ata is not None
    assert drive.ata.identity is None
    assert drive.ata.answers is not None
    assert drive.ata.answers.identity is not None
    assert drive.ata.answers.identity.model == "QEMU SATA"


def opened_as(monkeypatch: pytest.MonkeyPatch, path: str, number: int) -> int:
    """Let ``path`` be a block device of this number; return the descriptor that opening it will give."""
    status = os.stat_result((0o60600, 0, 0, 0, 0, 0, 0, 0, 0, 0), {"st_rdev": number})
    null = os.open("/dev/null", os.O_RDONLY)
    real_open, real_status = os.open, os.fstat

    def open_node(node: str, flags: int, *rest: object, **options: object) -> int:
        return null if node == path else real_open(node, flags, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(drives.os, "open", open_node)
    monkeypatch.setattr(drives.os, "fstat", lambda fd: status if fd == null else real_status(fd))
    return null


def test_a_drive_behind_a_port_multiplier_is_known_by_its_model(tmp_path: Path) -> None:
    port = sata(tmp_path)
    other = port / "link0" / "dev1.0" / "ata_device" / "dev1.0"
    other.mkdir(parents=True)
    (other / "id").write_text(IDENTITY.replace("5145 4d55", "4f74 6865").replace("5331", "4f31"))
    drive = read_drive(str(tmp_path), Host(sys=tmp_path))
    assert drive.ata is not None
    assert drive.ata.identity is not None
    assert drive.ata.identity.serial == "S1"


@pytest.mark.parametrize("text", ["", "0000 " * 255, "0000 " * 257, "00zz " * 256, "0 " * 256])
def test_a_damaged_identity_is_refused(text: str) -> None:
    with pytest.raises(IogaugeError, match="256 words"):
        parse_words(text)


@given(st.lists(st.integers(0, 0xFFFF), min_size=256, max_size=256))
def test_any_identity_is_parsed(words: list[int]) -> None:
    identity = parse_identity(words)
    assert identity.queue_depth is None or 1 <= identity.queue_depth <= 32
    assert identity.rotation_rpm is None or identity.rotation_rpm >= 0


@pytest.mark.parametrize(
    ("place", "attributes", "expected"),
    [
        ("virtual/vda", {}, "it is virtual, and its hypervisor says nothing more of the drive behind it"),
        ("virtual/zram0", {}, "Linux made it, and there is no drive behind it"),
        ("virtual/nbd0", {}, "its server says nothing"),
        ("host1/sdb", {}, "neither NVMe nor SATA"),
        ("virtual/loop0", {"loop__backing_file": "/tmp/x"}, "it is a loop device over /tmp/x"),
    ],
)
def test_another_device_says_why_there_is_no_more(
    tmp_path: Path, place: str, attributes: dict[str, str], expected: str
) -> None:
    tree(tmp_path, place, **attributes)
    drive = read_drive(str(tmp_path), Host(sys=tmp_path))
    assert drive.restriction is not None
    assert expected in drive.restriction
    assert (drive.nvme, drive.ata, drive.unread) == (None, None, ())


def test_a_device_of_several_names_them(tmp_path: Path) -> None:
    disk = tree(tmp_path, "virtual/md0")
    (disk / "slaves").mkdir()
    for name in ("sda", "sdb"):
        (tmp_path / "class/block" / name).mkdir()
        (disk / "slaves" / name).touch()
    drive = read_drive(str(tmp_path), Host(sys=tmp_path))
    assert drive.restriction == "it is made of sda and sdb; name one of them to see what it says"


def test_a_file_is_on_the_drive_below_its_mapped_device(tmp_path: Path) -> None:
    disk = tree(tmp_path, "virtual/dm-0")
    lower = tmp_path / "devices" / "ata2" / "sdc"
    lower.mkdir(parents=True)
    (lower / "size").write_text("4096")
    (tmp_path / "class/block/sdc").symlink_to(lower)
    (disk / "slaves").mkdir()
    (disk / "slaves" / "sdc").touch()
    (tmp_path / "file").touch()
    drive = read_drive(str(tmp_path / "file"), Host(sys=tmp_path))
    assert (drive.facts.device, drive.facts.size_bytes) == ("sdc", 2 << 20)


def test_a_file_on_no_device_is_refused(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    with pytest.raises(TargetRefused, match="does not say which drive") as caught:
        read_drive(str(tmp_path), Host(sys=tmp_path, proc=tmp_path / "proc"))
    assert "lsblk" in str(caught.value.hint)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("/nowhere", "No such file"),
        ("/dev/null", "a character device without a drive"),
        ("a\0b", "null byte"),
    ],
)
def test_what_is_no_drive_is_refused(path: str, message: str) -> None:
    with pytest.raises(TargetRefused, match=message) as caught:
        read_drive(path)
    assert path == "a\0b" or caught.value.hint


def test_an_nvme_drive_that_may_not_be_opened_has_what_linux_has(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "nvme0/nvme987n1",
        device__model="Fast",
        device__serial="F1",
        device__hwmon0__temp1_input="38850",
    )
    drive = read_drive(str(tmp_path), Host(sys=tmp_path))
    assert (drive.facts.model, drive.facts.serial, drive.temperature_C) == ("Fast", "F1", 38.85)
    assert drive.nvme is None
    ((names, why, hint),) = by_reason(drive.unread)
    assert names[:3] == ["power states", "features", "SMART"]
    assert why == "/dev/nvme987n1: opening it failed: No such file or directory"
    assert hint


def test_an_nvme_drive_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "nvme0/nvme987n1")
    null = opened_as(monkeypatch, "/dev/nvme987n1", tmp_path.stat().st_dev)
    monkeypatch.setattr(drives, "NvmeDevice", lambda fd: images.laptop())
    drive = read_drive(str(tmp_path), Host(sys=tmp_path))
    assert drive.nvme is not None
    assert drive.nvme.controller is not None
    assert drive.nvme.controller.model == "Laptop SSD"
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.close(null)


def test_no_command_goes_to_a_node_of_another_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree(tmp_path, "nvme0/nvme987n1")
    real_open = os.open
    monkeypatch.setattr(
        drives.os,
        "open",
        lambda path, *rest: real_open("/dev/zero" if path == "/dev/nvme987n1" else path, *rest),
    )
    monkeypatch.setattr(NvmeDevice, "__init__", lambda *_: pytest.fail("a command was sent"))
    drive = read_drive(str(tmp_path), Host(sys=tmp_path))
    assert {item.why for item in drive.unread} == {"/dev/nvme987n1 is another device here"}
