"""Purging an emulated NVMe drive by its own format: what is refused, and what is left of the data."""

from __future__ import annotations

import json

from tests.vm.guest import Guest
from tests.vm.test_nvme import drive

REVIEW = "review {path} --suite queue-depth --state fresh --runtime 20ms --size 16m --purge-by {by} {destroy}"
MARK = "written before the format"


def marked(guest: Guest, path: str) -> None:
    """Write a mark, and nothing else, into a MiB behind the 16 MiB that the review uses."""
    guest.sh(
        f"printf '{MARK}' | dd of={path} bs=1M seek=20 count=1 iflag=fullblock conv=notrunc,sync,fsync status=none"
    )


def mark(guest: Guest, path: str) -> str:
    return guest.sh(f"dd if={path} bs=1M skip=20 count=1 iflag=direct status=none | tr -d '\\0'")


def review(guest: Guest, path: str, by: str, destroy: str, more: str = "") -> tuple[int, str]:
    ran = guest.iogauge(REVIEW.format(path=path, by=by, destroy=destroy) + more)
    return ran.status, ran.err


def test_only_a_serial_number_allows_a_format_and_it_leaves_nothing(guest: Guest) -> None:
    path = drive(guest, "B2")
    marked(guest, path)
    status, said = review(guest, path, "format", f"--destroy {path}")
    assert status == 1
    assert "must name the drive by its serial number, not by a path" in said
    assert "hint: if all of it may be lost, add --destroy B2" in said
    assert mark(guest, path) == MARK

    status, said = review(guest, path, "format", "--destroy B2", " --output /tmp/formatted")
    assert status == 0, said
    assert f"{path}: purged: 1.074 GB formatted (user data erase)" in said
    assert mark(guest, path) == ""
    before = json.loads(guest.sh("cat /tmp/formatted/manifest.json"))
    assert before["purge_by"] == "format"
    ledger = [json.loads(line) for line in guest.sh("cat ~/.local/state/iogauge/ledger/*.jsonl").splitlines()]
    assert ("purge", "format") in {(entry["what"], entry["purged_by"]) for entry in ledger}


def test_a_mounted_namespace_is_not_formatted(guest: Guest) -> None:
    path = drive(guest, "B2")
    guest.sh(f"mkfs.ext4 -q -F {path} && mount {path} /mnt && printf '{MARK}' >/mnt/letter && sync")
    try:
        status, said = review(guest, path, "format", "--destroy B2")
        assert status == 1
        assert "/mnt" in said
        assert guest.sh("cat /mnt/letter") == MARK
    finally:
        guest.sh("umount /mnt")
    guest.sh(f"e2fsck -fn {path}")


def test_a_partition_is_not_formatted(guest: Guest) -> None:
    path = drive(guest, "B2")
    table = bytearray(512)
    table[450] = 0x83
    table[454:462] = (2048).to_bytes(4, "little") + (65536).to_bytes(4, "little")
    table[510:] = b"\x55\xaa"
    octal = "".join(f"\\{byte:03o}" for byte in table)
    reread = f"udevadm lock --device={path} blockdev --rereadpt {path} && udevadm settle"
    guest.sh(f"printf '{octal}' | dd of={path} conv=notrunc,fsync status=none && {reread}")
    try:
        marked(guest, f"{path}p1")
        status, said = review(guest, f"{path}p1", "format", "--destroy B2")
        assert status == 1
        assert "which would erase all of" in said
        assert mark(guest, f"{path}p1") == MARK
    finally:
        guest.sh(f"wipefs -aq {path} && {reread}")


def test_what_the_drive_does_not_offer_is_refused(guest: Guest) -> None:
    path = drive(guest, "A1")
    offers = int(json.loads(guest.sh(f"nvme id-ctrl {path} --output-format=json"))["sanicap"])
    assert offers == 0, "QEMU sanitizes now: test that it does"
    marked(guest, path)
    status, said = review(guest, path, "sanitize", "--destroy A1")
    assert status == 1
    assert "the drive does not offer a sanitize" in said
    assert "--purge-by format or --purge-by discard" in said
    assert mark(guest, path) == MARK
