"""iogauge on devices that the host's kernel may lack: null_blk, NBD and device-mapper on NVMe."""

from __future__ import annotations

import json

from tests.vm.guest import Guest
from tests.vm.test_nvme import SHORT, drive


def reads(guest: Guest, path: str, *, seconds: int = 2) -> int:
    out = guest.iogauge(
        f"run --name=x --filename={path} --rw=randread --ioengine=io_uring --iodepth=4 {SHORT} --runtime={seconds}"
    ).ok()
    return int(json.loads(out)["jobs"][0]["read"]["total_ios"])


def test_null_blk(guest: Guest) -> None:
    guest.sh("modprobe null_blk nr_devices=1 gb=1")
    try:
        assert reads(guest, "/dev/nullb0") > 1000
    finally:
        guest.sh("modprobe -r null_blk")


def test_device_mapper(guest: Guest) -> None:
    path = drive(guest, "A1")
    sectors = guest.sh(f"blockdev --getsz {path}").strip()
    guest.sh(f"dmsetup create lower --table '0 {sectors} linear {path} 0'")
    try:
        assert reads(guest, "/dev/mapper/lower") > 100
        below = guest.iogauge(f"run --name=x --filename={path} --rw=randwrite --destroy A1 {SHORT}")
        assert below.status == 1
        assert "lower" in below.err
    finally:
        guest.sh("dmsetup remove lower")


def test_a_served_model_is_an_nbd_device(guest: Guest) -> None:
    guest.sh("modprobe nbd nbds_max=1")
    # A read takes 33 ms then: a busy guest adds less to it than the server allows.
    serving = guest.start("exec iogauge model serve ram --size=64m --dilate=1000000 --socket=/run/served")
    guest.sh("until nbd-client -unix /run/served /dev/nbd0; do sleep 0.5; done")
    try:
        assert reads(guest, "/dev/nbd0", seconds=10) > 100
    finally:
        guest.sh("nbd-client -d /dev/nbd0; pkill -f 'model [s]erve'")
    assert serving.get(timeout=300).status == 0
