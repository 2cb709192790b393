"""The way to the drive: several controllers of one drive, and ports of the chipset."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from iogauge.machine.audit import CHECKS, audit
from iogauge.machine.audit.pci_names import identity, pci_name
from iogauge.machine.audit.subject import Subject
from iogauge.target.users.sysfs import BlockDevice
from tests.audit_trees import build, write

BY_ID = {check.id: check for check in CHECKS}
FIRST = "sys/devices/pci0000:80/0000:80:02.0/0000:82:00.0"
SECOND = "sys/devices/pci0000:00/0000:00:03.0/0000:04:00.0"
PORT = "sys/devices/pci0000:00/0000:00:1d.0"


@pytest.fixture
def multipath(tmp_path: Path) -> Subject:
    """A drive with two controllers of one subsystem, at ports of both sockets."""
    subject = build("intel-two-sockets", tmp_path).subject
    shutil.copytree(tmp_path / FIRST, tmp_path / SECOND, symlinks=True)
    (tmp_path / SECOND / "nvme/nvme0").rename(tmp_path / SECOND / "nvme/nvme1")
    for name in ("current_link_speed", "current_link_width"):
        shutil.copy(tmp_path / FIRST / f"../{name}", tmp_path / SECOND / f"../{name}")
    shutil.rmtree(tmp_path / SECOND / "nvme/nvme1/nvme0n1")
    subsystem = tmp_path / "sys/devices/virtual/nvme-subsystem/nvme-subsys0"
    subsystem.mkdir(parents=True)
    (tmp_path / FIRST / "nvme/nvme0/nvme0n1").rename(subsystem / "nvme0n1")
    (subsystem / "nvme0").symlink_to(tmp_path / FIRST / "nvme/nvme0")
    (subsystem / "nvme1").symlink_to(tmp_path / SECOND / "nvme/nvme1")
    return replace(subject, drive=BlockDevice(subsystem / "nvme0n1", subject.host))


def test_every_path_of_a_drive_is_looked_at(multipath: Subject, tmp_path: Path) -> None:
    assert [path.name for path in multipath.controllers] == ["nvme0", "nvme1"]
    same = BY_ID["pcie.link_speed"].fact(multipath)
    assert (same.verdict, same.value, same.meaning) == ("pass", "8.0 GT/s PCIe", "8.0 GT/s PCIe")
    write(tmp_path / SECOND / "current_link_speed", "2.5 GT/s PCIe")
    slower = BY_ID["pcie.link_speed"].fact(multipath)
    assert slower.verdict == "differs", "the worst holds for all"
    assert slower.meaning == "nvme0: 8.0 GT/s PCIe; nvme1: 2.5 GT/s PCIe of 8.0 GT/s PCIe"
    assert "0000:82:00.0" in slower.path
    assert "0000:04:00.0" in slower.path


def test_a_path_that_cannot_be_read_is_unknown(multipath: Subject, tmp_path: Path) -> None:
    (tmp_path / SECOND / "max_link_width").unlink()
    width = BY_ID["pcie.link_width"].fact(multipath)
    assert (width.verdict, width.value) == ("unknown", "nvme0: 4")
    assert width.meaning == "nvme0: 4; nvme1: no such file"


def test_paths_that_cannot_be_read_for_different_reasons_have_no_value(
    multipath: Subject, tmp_path: Path
) -> None:
    (tmp_path / FIRST / "numa_node").unlink()
    (tmp_path / SECOND / "numa_node").unlink()
    (tmp_path / SECOND / "numa_node").mkdir()
    node = BY_ID["pcie.numa_node"].fact(multipath)
    assert (node.verdict, node.value) == ("unknown", None)
    assert node.meaning == "nvme0: no such file; nvme1: is a directory"


def test_the_command_changes_the_path_that_differs(multipath: Subject, tmp_path: Path) -> None:
    write(tmp_path / SECOND / "power/control", "auto")
    power = BY_ID["pcie.runtime_power"].fact(multipath)
    assert power.change == "echo on > /sys/bus/pci/devices/0000:04:00.0/power/control"
    for number, place in enumerate((FIRST, SECOND)):
        write(tmp_path / place / f"nvme/nvme{number}/power/pm_qos_latency_tolerance_us", "auto")
    assert BY_ID["nvme.apst"].fact(multipath).change.count("; echo 0 > /sys/class/nvme/nvme1") == 1


def test_no_check_of_a_path_says_that_there_is_none(multipath: Subject) -> None:
    facts = audit(multipath).facts
    assert len({fact.id for fact in facts}) == len(CHECKS)
    assert not any(
        fact.verdict == "not applicable" for fact in facts if fact.group in ("pcie", "nvme", "interrupts")
    )


def test_a_port_of_the_chipset_is_named(tmp_path: Path) -> None:
    subject = build("desktop", tmp_path).subject
    chain = "0000:00:1d.0 > 0000:04:00.0"
    named = BY_ID["pcie.path"].fact(subject)
    assert named.value == chain
    assert named.meaning == (
        f"behind the chipset, at root port 00:1d.0 (8086:a298, 200 Series PCH PCI Express Root Port #9): {chain}"
    )
    (tmp_path / "usr/share/misc/pci.ids").unlink()
    assert BY_ID["pcie.path"].fact(subject).meaning == f"at root port 00:1d.0 (8086:a298): {chain}"
    (tmp_path / PORT / "vendor").unlink()
    assert BY_ID["pcie.path"].fact(subject).meaning == f"at root port 00:1d.0: {chain}"


def test_names_of_functions(tmp_path: Path) -> None:
    build("desktop", tmp_path)
    assert identity(tmp_path / PORT) == "8086:a298"
    assert pci_name(tmp_path, "8086:a297") == "200 Series PCH PCI Express Root Port #8"
    assert pci_name(tmp_path, "1022:a298") == "another maker of the same number"
    assert (
        pci_name(tmp_path, "8086:ffff")
        == pci_name(tmp_path, "8087:a298")
        == pci_name(tmp_path, "1234:a298")
        == ""
    )
    write(tmp_path / PORT / "device", "a298; rm")
    assert identity(tmp_path / PORT) == ""
