"""What iogauge reads of real devices: facts, counters, users, and blocks never written. Needs root."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import iogauge
from iogauge.machine.extents import unwritten_share
from iogauge.machine.interference import other_processes
from iogauge.machine.stat import differences, read_counters
from iogauge.target import open_target

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(shutil.which("losetup") is None, reason="needs losetup"),
    pytest.mark.skipif(not Path("/dev/loop-control").exists(), reason="needs loop devices"),
]

MIB = 1 << 20


@pytest.fixture
def loop(tmp_path: Path) -> Iterator[str]:
    """A loop device over a file whose first quarter is written."""
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.write(os.urandom(4 * MIB))
        file.truncate(16 * MIB)
        file.flush()
        os.fsync(file.fileno())
    command = ["losetup", "--find", "--show", str(path)]
    device = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    yield device
    subprocess.run(["losetup", "-d", device], check=True)


def test_facts_of_a_loop_device(loop: str) -> None:
    with open_target(loop, write=False) as target:
        facts = target.facts
    assert facts.kind == "block"
    assert facts.device == Path(loop).name
    assert facts.size_bytes == 16 * MIB
    assert facts.logical_block_bytes in (512, 4096)
    assert facts.serial is None
    assert facts.filesystem is None


@pytest.mark.parametrize("direct", ["off", "on"])
def test_a_judge_of_a_loop_device_names_the_cache_below_it(direct: str, loop: str, tmp_path: Path) -> None:
    subprocess.run(["losetup", f"--direct-io={direct}", loop], check=True)
    log = tmp_path / "stamps.log"
    job = f"[j]\nfilename={loop}\nrw=write\nsize=64k\ndirect=1\nverify=stamp\nstamp_log={log}\n"
    iogauge.run(job, ceiling=False, drive_samples=False, destroy=[loop])
    said = str(iogauge.verify(loop, after_run=log))
    assert "nothing violates" in said
    assert ("reads its file through the page cache" in said) == (direct == "off")


def test_a_loop_device_answers_for_its_file(loop: str) -> None:
    with open_target(loop, write=False) as target:
        assert unwritten_share(target.fd, length_bytes=16 * MIB) == pytest.approx(0.75)
        assert unwritten_share(target.fd, length_bytes=4 * MIB) == 0
        assert unwritten_share(target.fd, offset_bytes=8 * MIB, length_bytes=4 * MIB) == 1


def test_a_zram_answers_for_itself(zram: str) -> None:
    with open_target(zram, write=True) as target:
        assert unwritten_share(target.fd, length_bytes=target.size_bytes) == 1
        os.pwrite(target.fd, os.urandom(4 * MIB), 0)
        os.fsync(target.fd)
        assert unwritten_share(target.fd, length_bytes=target.size_bytes) == pytest.approx(0.75)


def test_counters_count_what_was_done(zram: str) -> None:
    with open_target(zram, write=True) as target:
        before = read_counters([target.facts])
        os.pwrite(target.fd, os.urandom(MIB), 0)
        os.fsync(target.fd)
        (counted,) = differences(before, read_counters([target.facts]))
    assert counted.device == Path(zram).name
    assert counted.write_bytes == MIB
    assert counted.write_ios >= 1


def test_another_process_with_the_device_open(loop: str, tmp_path: Path) -> None:
    """By any node of the device: names do not matter."""
    node = tmp_path / "node"
    os.mknod(node, 0o600 | 0o060000, Path(loop).stat().st_rdev)
    program = "import sys; file = open(sys.argv[1], 'rb'); print(flush=True); input()"
    with contextlib.ExitStack() as stack:
        target = stack.enter_context(open_target(loop, write=False))
        other = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", program, str(node)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        )
        assert other.stdout
        assert other.stdin
        stack.callback(other.stdin.close)
        other.stdout.readline()
        (name,) = other_processes([target.facts])[loop]
        assert f"(pid {other.pid})" in name
