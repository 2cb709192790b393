"""iogauge on emulated NVMe drives: runs, refusals, polled queues, errors, and a controller that vanishes."""

from __future__ import annotations

import json

import pytest

from tests.vm.guest import Guest

SHORT = "--bs=4k --direct=1 --runtime=2 --time_based --no-ceiling --output-format=json"


def drive(guest: Guest, serial: str) -> str:
    """Return the path of the namespace of a drive."""
    lines = guest.sh("lsblk --nodeps --noheadings --output PATH,SERIAL").splitlines()
    return next(path for path, *its_serial in map(str.split, lines) if its_serial == [serial])


@pytest.mark.parametrize("engine", ["io_uring --iodepth=4", "libaio --iodepth=4", "pvsync2", "psync"])
def test_every_engine_reads(guest: Guest, engine: str) -> None:
    ran = guest.iogauge(
        f"run --name=x --filename={drive(guest, 'A1')} --rw=randread --ioengine={engine} {SHORT}"
    )
    job = json.loads(ran.ok())["jobs"][0]
    assert job["error"] == 0
    assert job["read"]["total_ios"] > 100


def test_the_drive_is_described(guest: Guest) -> None:
    out = guest.iogauge(f"run --name=x --filename={drive(guest, 'A1')} --rw=read {SHORT}").ok()
    (target,) = json.loads(out)["iogauge"]["targets"]
    assert target["serial"] == "A1"
    assert target["model"] == "QEMU NVMe Ctrl"
    assert target["write_cache"] == "write back"
    assert target["size_bytes"] == 1 << 30


def test_a_mounted_namespace_is_refused(guest: Guest) -> None:
    path = drive(guest, "B2")
    guest.sh(f"mkfs.ext4 -q -F {path} && mount {path} /mnt")
    try:
        for destroy in ("", "--destroy B2"):
            ran = guest.iogauge(f"run --name=x --filename={path} --rw=randwrite {destroy} {SHORT}")
            assert ran.status == 1
            assert f"{path}: it is mounted" in ran.err or "/mnt" in ran.err
    finally:
        guest.sh("umount /mnt")
    ran = guest.iogauge(f"run --name=x --filename={path} --rw=randwrite {SHORT}")
    assert ran.status == 1
    assert "ext4" in ran.err
    assert "--destroy B2" in ran.err
    guest.iogauge(f"run --name=x --filename={path} --rw=randwrite --destroy B2 {SHORT}").ok()


def test_polling_without_polled_queues_is_a_warning(guest: Guest) -> None:
    path = drive(guest, "A1")
    ran = guest.iogauge(f"run --name=x --filename={path} --rw=randread --ioengine=io_uring --hipri {SHORT}")
    assert "poll" in ran.err
