"""iogauge drive-info on emulated drives: NVMe with and without root, SATA, virtio, and a file on a drive."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.vm.guest import Drive, Guest, Ran
from tests.vm.test_nvme import drive

AS_NOBODY = "setpriv --reuid=65534 --regid=65534 --clear-groups"


@pytest.fixture(scope="module")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Return a guest with an NVMe, a SATA and a virtio drive."""
    folder = tmp_path_factory.mktemp("drives")
    options = []
    for name, device in (
        ("S1", "ide-hd,drive=S1,bus=ide.0,serial=S1,model=QEMU SATA,rotation_rate=1"),
        ("V1", "virtio-blk-pci,drive=V1,serial=V1"),
    ):
        path = folder / f"{name}-disk"
        with path.open("wb") as file:
            file.truncate(64 << 20)
        options += ["-blockdev", f"node-name={name},driver=file,filename={path}", "-device", device]
    with Guest(folder, [Drive("N1")], qemu_options=options) as guest:
        guest.sh("modprobe -a ahci sd_mod virtio_blk && udevadm settle")
        guest.sh("until [ -e /dev/sda ] && [ -e /dev/vda ]; do sleep 0.2; done")
        yield guest


def info(guest: Guest, target: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(guest.iogauge(f"drive-info {target} --json").ok())
    return loaded


def test_an_nvme_drive(guest: Guest) -> None:
    path = drive(guest, "N1")
    before = guest.sh(f"nvme smart-log {path} --output-format=json")
    text = guest.iogauge(f"drive-info {path}").ok()
    assert text.startswith("QEMU NVMe Ctrl, 1.074 GB, firmware ")
    assert ": healthy, 0 % worn, 50 C, 0 h on." in text
    assert "  0 now  yes  -          25 W     -       -  16 us  4 us\n" in text
    assert "temperatures       warning 70 C, critical 100 C" in text
    assert "Not read" not in text
    data = info(guest, path)
    assert data["unread"] == []
    assert data["nvme"]["controller"]["serial"] == "N1"
    # The same numbers as another program's.
    assert data["nvme"]["smart"]["temperature_C"] == json.loads(before)["temperature"] - 273
    other = json.loads(guest.sh(f"nvme id-ctrl {path} --output-format=json"))
    controller = data["nvme"]["controller"]
    assert (controller["warning_C"] + 273, controller["critical_C"] + 273) == (
        other["wctemp"],
        other["cctemp"],
    )
    assert controller["pci_vendor"] == other["vid"]
    assert controller["error_entries"] == other["elpe"] + 1
    # No command was refused.
    after = json.loads(guest.sh(f"nvme smart-log {path} --output-format=json"))
    assert after["num_err_log_entries"] == json.loads(before)["num_err_log_entries"]


def test_a_controller_and_a_file_mean_the_drive(guest: Guest) -> None:
    path = drive(guest, "N1")
    controller = path.removesuffix("n1")
    assert info(guest, controller)["facts"]["serial"] == "N1"
    assert info(guest, "/agent.py")["facts"]["serial"] == "root"


def test_without_root_it_says_what_is_missing(guest: Guest) -> None:
    path = drive(guest, "N1")
    ran = guest.run(f"{AS_NOBODY} iogauge drive-info {path}")
    text = " ".join(ran.ok().split())
    assert "health unknown (run as root)" in text
    assert f"{path}: opening it failed: Permission denied (run as root)" in text
    assert "serial N1" in text


def test_a_node_that_may_be_opened_is_identified_and_its_logs_need_root(guest: Guest) -> None:
    path = drive(guest, "N1")
    guest.sh(f"chmod o+r {path}")
    try:
        data = json.loads(guest.run(f"{AS_NOBODY} iogauge drive-info {path} --json").ok())
    finally:
        guest.sh(f"chmod o-r {path}")
    assert data["nvme"]["controller"]["serial"] == "N1"
    assert data["nvme"]["namespace"]["size_bytes"] == 1 << 30
    assert data["nvme"]["smart"] is None
    assert {(item["why"], item["hint"]) for item in data["unread"]} == {
        ("the kernel refused Get log page: Permission denied", "run as root"),
        ("the kernel refused Get features: Permission denied", "run as root"),
    }


def test_a_critical_warning_comes_first(guest: Guest) -> None:
    path = drive(guest, "N1")

    def warn(bits: int) -> None:
        guest.monitor(
            "qom-set", path="/machine/peripheral/nvme1", property="smart_critical_warning", value=bits
        )

    warn(0b1000)
    try:
        text = guest.iogauge(f"drive-info {path}").ok()
    finally:
        warn(0)
    assert text.startswith("Problem: the media are read-only. QEMU NVMe Ctrl, ")


def test_a_sata_drive_answers(guest: Guest) -> None:
    """QEMU's drive has SMART with its thresholds, and no statistics."""
    text = guest.iogauge("drive-info /dev/sda").ok()
    assert "QEMU SATA, 67.11 MB, firmware " in text
    assert ": healthy" in text
    assert "Not read" not in text
    answers = info(guest, "/dev/sda")["ata"]["answers"]
    assert answers["power_mode"] == "active or idle"
    assert answers["healthy"] is True
    assert answers["identity"]["serial"] == "S1"
    assert answers["statistics"] is None
    assert {attribute["id"] for attribute in answers["attributes"]} >= {1, 3, 4, 5, 9, 12, 190}
    assert all(attribute["threshold"] is not None for attribute in answers["attributes"])


def test_the_identity_of_a_sata_drive_needs_no_root(guest: Guest) -> None:
    ran: Ran = guest.run(f"{AS_NOBODY} iogauge drive-info /dev/sda --json")
    data = json.loads(ran.ok())
    assert data["ata"]["link_policy"] == "max_performance"
    assert data["ata"]["identity"]["serial"] == "S1"
    assert data["ata"]["identity"]["model"] == "QEMU SATA"
    assert data["ata"]["identity"]["write_cache"] is True
    assert data["ata"]["identity"]["rotation_rpm"] == 0
    assert data["ata"]["answers"] is None
    assert {item["hint"] for item in data["unread"]} == {"run as root"}
    assert data["nvme"] is None


def test_a_virtio_drive_says_no_more(guest: Guest) -> None:
    text = " ".join(guest.iogauge("drive-info /dev/vda").ok().split())
    assert text.startswith(
        "vda, 67.11 MB: it is virtual, and its hypervisor says nothing more of the drive behind it."
    )
    assert "serial V1" in text
