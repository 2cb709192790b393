"""iogauge on emulated NVMe drives: runs, refusals, polled queues, errors, and a controller that vanishes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.vm.guest import Drive, Guest

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


def test_polled_queues_poll(tmp_path: Path) -> None:
    with Guest(tmp_path, [Drive("P1")], kernel_options="nvme.poll_queues=1") as guest:
        path = drive(guest, "P1")
        assert guest.sh(f"cat /sys/block/{Path(path).name}/queue/io_poll").strip() == "1"
        ran = guest.iogauge(
            f"run --name=x --filename={path} --rw=randread --ioengine=io_uring --hipri {SHORT}"
        )
        assert json.loads(ran.ok())["jobs"][0]["read"]["total_ios"] > 100
        assert "poll" not in ran.err


def test_polling_without_polled_queues_is_a_warning(guest: Guest) -> None:
    path = drive(guest, "A1")
    ran = guest.iogauge(f"run --name=x --filename={path} --rw=randread --ioengine=io_uring --hipri {SHORT}")
    assert "poll" in ran.err


def test_an_injected_error_is_counted(tmp_path: Path) -> None:
    # The second megabyte cannot be read.
    config = tmp_path / "errors"
    config.write_text('[inject-error]\nevent = "read_aio"\nerrno = "5"\nsector = "2048"\nonce = "off"\n')
    failing = Drive("E1", file=f"driver=blkdebug,config={config},image.driver=file,image.filename=FILE")
    with Guest(tmp_path, [failing]) as guest:
        path = drive(guest, "E1")
        ran = guest.iogauge(
            f"run -v --name=x --filename={path} --rw=read --size=4m --bs=4k --direct=1 --no-ceiling"
        )
        assert ran.status == 1
        # The drive reports a media error, which Linux gives to programs as ENODATA.
        assert "1 requests failed (1 ENODATA)" in ran.err
        assert "256 I/Os" in ran.out


def test_a_controller_that_vanishes_ends_the_run(tmp_path: Path) -> None:
    with Guest(tmp_path, [Drive("V1")]) as guest:
        path = drive(guest, "V1")
        running = guest.start(
            f"iogauge run --name=x --filename={path} --rw=randread --bs=4k --direct=1 --ioengine=io_uring "
            "--iodepth=4 --runtime=60 --time_based --no-ceiling --eta=always --eta-interval=1s"
        )
        stat = f"/sys/block/{Path(path).name}/stat"
        guest.sh(f"until read -r reads rest <{stat} && [ $reads -gt 500 ]; do sleep 0.2; done")
        guest.sh(f"echo 1 > /sys/block/{Path(path).name}/device/device/remove")
        ended = running.get(timeout=120)
        assert ended.status == 1
        assert "error: " in ended.err
        assert "hint: " in ended.err
        assert "Traceback" not in ended.err
