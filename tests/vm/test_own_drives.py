"""Drives that only a guest of their own can have: with polled queues, with an error, one that stops answering, and two
that vanish.

By block I/O and by NVMe commands past the block layer (io_uring_cmd). A guest takes longer to boot than most tests do,
so they share one; a drive that a test takes away is its own.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.vm.guest import PYTHON, Drive, Guest
from tests.vm.test_nvme import SHORT, drive
from tests.vm.test_passthrough import ONCE, commands, job_of

_MIB = 1 << 20
HELD_BPS = 1
"""One byte a second: a request of 4 KiB takes longer than the test."""


@pytest.fixture(scope="module")
def special(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Return a guest with polled queues, and drives.

    The second megabyte of E1 cannot be read; QEMU can slow H1 down; V1 and V2 are there to be taken away.
    """
    folder = tmp_path_factory.mktemp("special")
    config = folder / "errors"
    config.write_text('[inject-error]\nevent = "read_aio"\nerrno = "5"\nsector = "2048"\nonce = "off"\n')
    failing = Drive("E1", file=f"driver=blkdebug,config={config},image.driver=file,image.filename=FILE")
    drives = [Drive("P1", file="driver=file,discard=unmap"), failing, Drive("H1", namespace="id=held")]
    drives += map(Drive, ("V1", "V2"))
    with Guest(folder, drives, kernel_options="nvme.poll_queues=1") as guest:
        yield guest


def test_polled_queues_poll(special: Guest) -> None:
    path = drive(special, "P1")
    assert special.sh(f"cat /sys/block/{Path(path).name}/queue/io_poll").strip() == "1"
    ran = special.iogauge(f"run --name=x --filename={path} --rw=randread --ioengine=io_uring --hipri {SHORT}")
    assert json.loads(ran.ok())["jobs"][0]["read"]["total_ios"] > 100
    assert "poll" not in ran.err


def test_an_injected_error_is_counted(special: Guest) -> None:
    ran = special.iogauge(
        f"run -v --name=x --filename={drive(special, 'E1')} --rw=read --size=4m --bs=4k --direct=1 --no-ceiling"
    )
    assert ran.status == 1
    # The drive reports a media error, which Linux gives to programs as ENODATA.
    assert "1 requests failed (1 ENODATA)" in ran.err
    assert "256 I/Os" in ran.out


def throttle(guest: Guest, Bps: int) -> None:
    """Let the drive move so many bytes a second; 0: any number."""
    limits = dict.fromkeys(("bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr"), 0)
    guest.monitor("block_set_io_throttle", id="held", bps=Bps, **limits)


@pytest.mark.parametrize("engine", ["io_uring", "io_uring_cmd", "libaio"])
def test_a_drive_that_stops_answering_ends_the_run(special: Guest, engine: str) -> None:
    path = drive(special, "H1")
    direct = "" if engine == "io_uring_cmd" else "--direct=1"
    running = special.start(
        f"iogauge run --name=x --filename={path} --rw=randread --bs=4k --ioengine={engine} {direct} --iodepth=4 "
        "--runtime=5 --time_based --no-ceiling --give-up=4 --output-format=json --output=/tmp/held.json "
        "2>/tmp/held.err"
    )
    special.sh("until grep -qs iogauge-0 /proc/[0-9]*/task/*/comm; do sleep 0.1; done")
    throttle(special, HELD_BPS)
    try:
        special.sh("until grep -s 'still in the kernel' /tmp/held.err; do sleep 0.2; done")
        assert "results are complete without" in special.sh("cat /tmp/held.err")
    finally:
        throttle(special, 0)
    ended = running.get(timeout=300)
    errors = special.sh("cat /tmp/held.err")
    assert ended.status == 1, errors
    assert "Traceback" not in errors
    result = json.loads(special.sh("cat /tmp/held.json"))
    assert result["jobs"][0]["read"]["total_ios"] > 0
    flights = result["iogauge"]["in_flight"]
    assert 1 <= len(flights) <= 4
    assert all(flight["age_ns"] > 3 * 10**9 for flight in flights)
    special.sh("rm /tmp/held.err /tmp/held.json")


def test_a_controller_that_vanishes_ends_the_run(special: Guest) -> None:
    path = drive(special, "V1")
    running = special.start(
        f"iogauge run --name=x --filename={path} --rw=randread --bs=4k --direct=1 --ioengine=io_uring "
        "--iodepth=4 --runtime=60 --time_based --no-ceiling --eta=always --eta-interval=1s"
    )
    stat = f"/sys/block/{Path(path).name}/stat"
    special.sh(f"until read -r reads rest <{stat} && [ $reads -gt 500 ]; do sleep 0.2; done")
    special.sh(f"echo 1 > /sys/block/{Path(path).name}/device/device/remove")
    ended = running.get(timeout=300)
    assert ended.status == 1
    assert "error: " in ended.err
    assert "hint: " in ended.err
    assert "Traceback" not in ended.err


def test_polled_queues_poll_for_commands(special: Guest) -> None:
    path = commands(special, "P1")
    interrupts = "awk '/nvme[0-9]+q/ { for (i = 2; i <= 3; i++) n += $i } END { print n }' /proc/interrupts"
    counts = []
    for hipri in ("", "--hipri"):
        before = int(special.sh(interrupts))
        ran = special.iogauge(
            f"run --name=x --filename={path} --rw=randread --bs=4k --iodepth=4 --number_ios=2000 {ONCE} {hipri}"
        )
        assert job_of(ran.ok())["read"]["total_ios"] == 2000
        assert "poll" not in ran.err
        counts.append(int(special.sh(interrupts)) - before)
    assert counts[1] < counts[0] / 2


def test_trims_deallocate(special: Guest) -> None:
    block, path = drive(special, "P1"), commands(special, "P1")
    special.sh(f"dd if=/dev/urandom of={block} bs=1M seek=16 count=4 oflag=direct status=none")
    zeros = f"dd if={block} bs=1M count=1 iflag=direct status=none | tr -d '\\0' | wc -c"
    out = special.iogauge(
        f"run --name=x --filename={path} --rw=randtrim --bs=64k --iodepth=4 --offset=17m --size=2m {ONCE} --destroy P1"
    ).ok()
    assert job_of(out)["trim"]["io_bytes"] == 2 * _MIB
    left = [int(special.sh(zeros.replace("count", f"skip={skip} count"))) > 0 for skip in (16, 17, 18, 19)]
    assert left == [True, False, False, True]


def test_syncs_and_trims_complete_while_the_ring_polls(special: Guest) -> None:
    ran = special.iogauge(
        f"run --name=x --filename={commands(special, 'P1')} --rw=trimwrite --bs=4k --iodepth=4 --number_ios=256 "
        f"--fsync=16 --hipri {ONCE} --destroy P1"
    )
    job = job_of(ran.ok())
    assert job["write"]["total_ios"] == job["trim"]["total_ios"] == 256
    assert job["sync"]["total_ios"] == 15


def test_an_error_of_the_drive_is_counted_where_it_is(special: Guest) -> None:
    ran = special.iogauge(
        f"run --name=x --filename={commands(special, 'E1')} --rw=read --size=4m --bs=4k --ioengine=io_uring_cmd "
        "--iodepth=4 --no-ceiling --request-log=/tmp/requests.parquet"
    )
    assert ran.status == 1
    # As by the block device: the drive reports a media error, which Linux gives to programs as ENODATA.
    assert "1 requests failed (1 ENODATA)" in ran.err
    failed = special.sh(
        f"{PYTHON} -",
        input="import duckdb\n"
        "log = duckdb.read_parquet('/tmp/requests.parquet').filter('result < 0')\n"
        "print(log.select('offset_bytes, length_bytes, result').fetchall())",
    )
    assert failed.strip() == f"[({_MIB}, 4096, {-errno.ENODATA})]"


def test_a_drive_that_vanishes_ends_the_run(special: Guest) -> None:
    path, block = commands(special, "V2"), drive(special, "V2")
    running = special.start(
        f"iogauge run --name=x --filename={path} --rw=randread --bs=4k --ioengine=io_uring_cmd --iodepth=4 "
        "--runtime=600 --time_based --no-ceiling"
    )
    special.sh("until grep -qs iogauge-0 /proc/[0-9]*/task/*/comm; do sleep 0.2; done")
    special.sh(f"echo 1 > /sys/block/{Path(block).name}/device/device/remove")
    ended = running.get(timeout=300)
    assert ended.status == 1
    assert "error: " in ended.err
    assert "Traceback" not in ended.err
