"""NVMe commands past the block layer (io_uring_cmd): what they move, what is refused, errors, polled queues."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.vm.guest import PYTHON, Guest
from tests.vm.test_nvme import drive

ONCE = "--ioengine=io_uring_cmd --no-ceiling --output-format=json"
SHORT = f"{ONCE} --runtime=1 --time_based"
_MIB = 1 << 20

PLACES = """
import os, struct, sys
path, offset, length = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
descriptor = os.open(path, os.O_RDONLY)
data = os.pread(descriptor, length, offset)
assert len(data) == length
for place in range(0, length, 512):
    lines = struct.unpack_from("<64Q", data, place)[::8]
    assert offset + place in lines, f"sector at {offset + place} was written for another place: {lines}"
"""
"""Checks that every sector holds its own offset, as scrambled buffers do; read through the page cache."""


PARTITION = r"\0\0\0\0\203\0\0\0\0\010\0\0\0\020\0\0" + r"\0" * 48 + r"\125\252"
"""A partition table for printf, from byte 446: one partition of Linux, 4096 sectors from sector 2048."""


def commands(guest: Guest, serial: str) -> str:
    """Return the character device of a drive's namespace."""
    return drive(guest, serial).replace("/dev/nvme", "/dev/ng")


def job_of(out: str) -> dict[str, Any]:
    """Return the only job of a run's JSON."""
    (job,) = json.loads(out)["jobs"]
    return dict(job)


REFUSALS = """
import contextlib, io, json, shlex, sys
from iogauge.cli import main
options = json.load(open("/run/options"))
said = []
for line in options:
    error = io.StringIO()
    with contextlib.redirect_stderr(error), contextlib.redirect_stdout(io.StringIO()):
        status = main(["run", "--name=x", *shlex.split(line)])
    said.append([status, error.getvalue()])
json.dump(said, sys.stdout)
"""
"""Runs commands in one process, since a process takes many seconds to begin here."""


def refusals(guest: Guest, *options: str) -> list[str]:
    """Return why runs are refused, each with its options."""
    lines = json.dumps([f"--bs=4k {SHORT} {line}" for line in options])
    guest.sh("cat >/run/options", input=lines)
    errors = []
    for status, error in json.loads(guest.sh(f"{PYTHON} -", input=REFUSALS)):
        assert status == 1, error
        assert "hint: " in error
        errors.append(error)
    return errors


@pytest.mark.parametrize("bs", ["4k", "64k"])
@pytest.mark.parametrize("iodepth", [1, 32])
@pytest.mark.parametrize("rw", ["randread", "randwrite"])
def test_figures_are_sane(guest: Guest, rw: str, iodepth: int, bs: str) -> None:
    destroy = "--destroy A1" if rw == "randwrite" else ""
    path = commands(guest, "A1")
    ran = guest.iogauge(
        f"run --name=x --filename={path} --rw={rw} --iodepth={iodepth} --bs={bs} {SHORT} {destroy}"
    )
    job = job_of(ran.ok())
    side = job[rw.removeprefix("rand")]
    assert job["error"] == 0
    assert side["total_ios"] > 20
    assert side["io_bytes"] == side["total_ios"] * {"4k": 4096, "64k": 65536}[bs]
    assert 0 < side["slat_ns"]["mean"] < side["lat_ns"]["mean"]
    # Little's law: as many requests are in flight as the rate times the latency.
    in_flight = side["iops"] * side["lat_ns"]["mean"] / 1e9
    assert iodepth / 2 < in_flight < iodepth * 1.1
    # The kernel counts no commands, which makes nobody else a user of the drive, and no counters of zero.
    assert "besides the run's own" not in ran.err
    assert json.loads(ran.out)["disk_util"] == []


@pytest.mark.parametrize(
    "options", ["--fixedbufs", "--registerfiles", "--sqthread_poll", "--iodepth_batch=0"]
)
def test_options_of_the_ring(guest: Guest, options: str) -> None:
    path = commands(guest, "A1")
    ran = guest.iogauge(
        f"run --name=x --filename={path} --rw=randrw --bs=4k --iodepth=8 --destroy A1 {SHORT} {options}"
    )
    job = job_of(ran.ok())
    assert job["error"] == 0
    assert job["read"]["total_ios"] > 20
    assert job["write"]["total_ios"] > 20


def test_the_block_device_names_its_namespace_too(guest: Guest) -> None:
    block = drive(guest, "A1")
    for path in (block, commands(guest, "A1")):
        out = guest.iogauge(
            f"run --name=x --filename={path} --rw=randread --bs=4k --number_ios=64 {ONCE}"
        ).ok()
        (target,) = json.loads(out)["iogauge"]["targets"]
        assert (target["path"], target["kind"], target["real_path"]) == (path, "block", block)
        assert (target["serial"], target["size_bytes"]) == ("A1", 1 << 30)
        assert job_of(out)["read"]["total_ios"] == 64


def test_commands_and_block_io_in_one_run(guest: Guest) -> None:
    both = f"--bs=4k --number_ios=64 --rw=randwrite {ONCE} --destroy A1"
    ran = guest.iogauge(
        f"run --name=a --filename={commands(guest, 'A1')} {both} "
        f"--name=b --filename={drive(guest, 'A1')} {both} --ioengine=libaio --direct=1"
    )
    assert [job["write"]["total_ios"] for job in json.loads(ran.ok())["jobs"]] == [64, 64]


def test_writes_land_where_they_belong(guest: Guest) -> None:
    block, path = drive(guest, "A1"), commands(guest, "A1")
    at = f"--offset=64m --size=8m {ONCE} --destroy A1"
    # The block device's cache holds other data when the run begins.
    guest.sh(f"dd if=/dev/urandom of={block} bs=1M seek=63 count=10 conv=fsync status=none")
    outside = f"dd if={block} bs=1M count=1 iflag=direct status=none | sha256sum"
    before = [guest.sh(outside.replace("count", f"skip={skip} count")) for skip in (63, 72)]
    out = guest.iogauge(
        f"run --name=x --filename={path} --rw=randwrite --bs=64k --iodepth=8 --fsync=16 {at}"
    ).ok()
    assert job_of(out)["write"]["io_bytes"] == 8 * _MIB
    assert job_of(out)["sync"]["total_ios"] == 7
    guest.sh(f"{PYTHON} - {block} {64 * _MIB} {8 * _MIB}", input=PLACES)
    assert [guest.sh(outside.replace("count", f"skip={skip} count")) for skip in (63, 72)] == before


def test_fio_reads_by_commands_what_iogauge_wrote(guest: Guest) -> None:
    block, path = drive(guest, "A1"), commands(guest, "A1")
    guest.sh(f"dd if=/dev/urandom of={block} bs=1M seek=32 count=3 oflag=direct status=none")
    guest.iogauge(
        f"run --name=x --filename={path} --rw=write --zero_buffers --bs=64k --offset=32m --size=2m {ONCE} --destroy A1"
    ).ok()
    zeros = (
        f"fio --name=x --filename={path} --ioengine=io_uring_cmd --cmd_type=nvme --rw=read --bs=64k "
        "--verify=pattern --verify_pattern=0 --offset=32m"
    )
    guest.sh(f"{zeros} --size=2m")
    assert guest.run(f"{zeros} --size=3m").status != 0


def test_a_mounted_namespace_is_refused(guest: Guest) -> None:
    block, path = drive(guest, "B2"), commands(guest, "B2")
    write = f"--filename={path} --rw=randwrite"
    guest.sh(f"mkfs.ext4 -q -F {block} && mount {block} /mnt")
    try:
        for error in refusals(guest, write, f"{write} --destroy B2", f"{write} --destroy {path}"):
            assert "it is mounted at /mnt" in error
    finally:
        guest.sh("umount /mnt")
    holds, other = refusals(guest, write, f"{write} --destroy A1")
    assert "ext4" in holds
    assert "--destroy B2" in holds
    assert "is not this device" in other
    for name in (path, block):
        guest.iogauge(
            f"run --name=x --filename={path} --rw=write --bs=64k --size=1m --destroy {name} {ONCE}"
        ).ok()


def test_the_drive_of_the_system_is_refused(guest: Guest) -> None:
    path = commands(guest, "root")
    root = f"--filename={path}"
    for error in refusals(
        guest,
        f"{root} --rw=randwrite",
        f"{root} --rw=randwrite --destroy root",
        f"{root} --rw=randtrim --destroy {path}",
    ):
        assert "is mounted at /" in error
    # Reading needs no flag, as of any drive.
    guest.iogauge(f"run --name=x {root} --rw=randread --bs=4k --number_ios=16 {ONCE}").ok()


@pytest.mark.parametrize("which", ["commands", "block"])
def test_a_namespace_that_another_program_writes_is_refused(guest: Guest, which: str) -> None:
    block, path = drive(guest, "B2"), commands(guest, "B2")
    opened = path if which == "commands" else block
    holding = guest.start(f"exec 3<>{opened}; echo $$ >/run/holder; exec sleep 1000")
    guest.sh("until [ -s /run/holder ]; do sleep 0.1; done")
    try:
        by_block = f"--filename={block} --rw=randwrite --destroy B2 --ioengine=libaio"
        for error in refusals(
            guest, *(f"--filename={name} --rw=randwrite --destroy B2" for name in (path, block)), by_block
        ):
            assert "open for writing in sleep" in error
    finally:
        guest.sh("kill $(cat /run/holder); rm /run/holder")
    holding.get(timeout=300)


def test_a_running_job_holds_the_namespace(guest: Guest) -> None:
    block, path = drive(guest, "B2"), commands(guest, "B2")
    running = guest.start(
        f"echo $$ >/run/writer; exec iogauge run --name=x --filename={path} --rw=randwrite --bs=4k --destroy B2 "
        f"{ONCE} --runtime=600 --time_based"
    )
    guest.sh("until grep -qs iogauge-0 /proc/[0-9]*/task/*/comm; do sleep 0.2; done")
    assert guest.run(f"mkfs.ext4 -q -F {block}").status != 0
    for error in refusals(
        guest, *(f"--filename={name} --rw=randwrite --destroy B2" for name in (path, block))
    ):
        assert "cannot be opened exclusively" in error
    guest.sh("kill -INT $(cat /run/writer)")
    assert job_of(running.get(timeout=300).out)["write"]["total_ios"] > 0


def test_what_commands_cannot_do(guest: Guest) -> None:
    block, path = drive(guest, "A1"), commands(guest, "A1")
    read = "--rw=randread"
    expected = {
        f"--filename={path} {read} --bs=1000": "1000 bytes is not a multiple of 512",
        f"--filename={path} {read} --bs=1m": "use a bs of at most 524288",
        f"--filename={path} {read} --ioengine=psync": "which takes NVMe commands only",
        f"--filename=/dev/ttyS0 {read}": "this is no NVMe namespace",
        f"--filename=/etc/passwd {read}": "this is no NVMe namespace",
        f"--filename=/dev/ng9n1 {read} --size=1m": "there is no such device",
        f"--filename=/dev/nullb0 {read}": "nullb0 is no NVMe namespace",
        f"--filename={block}p1 {read}": "whole namespaces only",
        f"--filename={path} --rw=randwrite": "partition",
    }
    guest.sh("modprobe null_blk nr_devices=1 gb=1")
    guest.sh(f"printf '{PARTITION}' | dd of={block} bs=1 seek=446 conv=notrunc,fsync status=none")
    guest.sh(
        f"udevadm lock --device={block} blockdev --rereadpt {block} && udevadm settle && test -b {block}p1"
    )
    try:
        for error, reason in zip(refusals(guest, *expected), expected.values(), strict=True):
            assert reason in error
        guest.sh("! test -e /dev/ng9n1")
    finally:
        guest.sh(
            f"dd if=/dev/zero of={block} bs=512 count=1 conv=fsync status=none; blockdev --rereadpt {block}"
        )
        guest.sh("modprobe -r null_blk")
