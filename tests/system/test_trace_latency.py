"""Where the time goes, on real block devices: parts that add up, events that are lost, and nothing left behind."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iogauge.machine.trace.formats import lost_events, page_bytes
from iogauge.machine.trace.ring import parse_pages
from iogauge.machine.trace.tracefs import MOUNTS, Instance, instances, mounted
from tests.refusals import sh

TRACING = MOUNTS[0]

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(not TRACING.exists(), reason="the kernel has no tracing"),
]


@pytest.fixture(autouse=True, scope="module")
def tracefs() -> None:
    """Mount tracefs where it is not. It stays, as most systems have it: tests in another process may use it."""
    command = ("mount", "-t", "tracefs", "tracefs", str(TRACING))
    mounting = subprocess.run(command, capture_output=True, text=True, check=False)
    # Where another process was faster, it is there.
    assert (TRACING / "instances").exists(), mounting.stderr


def command(path: str, *options: str) -> list[str]:
    job = ["--name=r", f"--filename={path}", "--rw=randread", "--bs=4k", "--direct=1", "--time_based"]
    return [sys.executable, "-m", "iogauge", "run", *job, "--no-ceiling", "--trace-latency", *options]


def run(path: str, *options: str) -> dict[str, Any]:
    """Run reads for two seconds, and return json+."""
    ran = subprocess.run(
        command(path, "--runtime=2", "--output-format=json+", *options),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return dict(json.loads(ran.stdout))


def parts(shown: dict[str, Any]) -> tuple[float, dict[str, Any], dict[str, Any], dict[str, float]]:
    """Return the mean lat of the job, the split, the trace, and the means of its parts."""
    (split,), (trace,) = shown["iogauge"]["latency_splits"], shown["iogauge"]["latency_traces"]
    means = {part["part"]: part["mean_ns"] for part in trace["latencies"] if part["direction"] == "read"}
    return shown["jobs"][0]["read"]["lat_ns"]["mean"], split, trace, means


@pytest.mark.parametrize("engine", [["psync"], ["libaio", "--iodepth=4"], ["io_uring", "--iodepth=4"]])
def test_the_parts_add_up_on_a_loop_device(disk: str, engine: list[str]) -> None:
    # At this rate the kernel's buffers hold the whole run, so that a reader that gets no CPU loses nothing.
    lat_ns, split, trace, means = parts(
        run(disk, f"--ioengine={engine[0]}", "--rate_iops=10000", *engine[1:])
    )
    assert split["lat_ns"] == pytest.approx(lat_ns, rel=0.02)
    assert split["unknown"] == ""
    assert 0 < split["block_ns"] <= lat_ns
    assert trace["requests"]
    assert trace["matched"] > 0
    assert trace["lost_events"] == 0
    assert means["queue"] + means["device"] == pytest.approx(means["block"], rel=0.02)
    assert means["submission"] > 0


def test_a_driver_without_requests_has_one_part_and_a_mean_with_an_error(zram: str) -> None:
    with open(zram, "wb", buffering=0) as device:  # noqa: PTH123
        device.write(os.urandom(16 << 20))
    lat_ns, split, trace, means = parts(run(zram, "--ioengine=psync"))
    assert split["lat_ns"] == pytest.approx(lat_ns, rel=0.02)
    if split["block_ns"] is None:
        assert "ticks" in split["unknown"], "the run was too short for so coarse a count"
    else:
        assert 0 < split["error_ns"] < split["block_ns"]
    assert not trace["requests"]
    assert set(means) == {"submission", "block"}


def test_a_file_is_traced_on_the_device_below(disk: str, mount: Any) -> None:
    sh("mkfs.ext4", "-q", disk)
    path = mount(disk) / "file.bin"
    lat_ns, split, trace, means = parts(run(str(path), "--ioengine=libaio", "--size=8m"))
    assert split["lat_ns"] == pytest.approx(lat_ns, rel=0.02)
    assert split["device"] == trace["device"] == Path(disk).name
    assert means["queue"] + means["device"] == pytest.approx(means["block"], rel=0.02)


def test_requests_larger_than_the_device_takes_have_no_split(disk: str) -> None:
    Path(f"/sys/block/{Path(disk).name}/queue/max_sectors_kb").write_text("64")
    _, split, trace, _ = parts(run(disk, "--ioengine=psync", "--bs=256k"))
    assert split["block_ns"] is None
    assert "split" in split["unknown"]
    assert trace["matched"] == 0
    assert trace["unmatched"] > 0


def test_lost_events_are_counted_exactly(disk: str) -> None:
    """A thousand reads, and room for fewer: those that are read and those that are lost are all of them."""
    reads = 1_000
    with contextlib.ExitStack() as stack:
        instance = stack.enter_context(Instance(mounted()))
        width = page_bytes(instance.read("events/header_page"))
        instance.write("buffer_size_kb", "4")
        number = Path(f"/sys/block/{Path(disk).name}/dev").read_text().strip()
        major, minor = map(int, number.split(":"))
        instance.write("events/block/block_bio_queue/filter", f"dev == {major << 20 | minor}")
        instance.write("events/block/block_bio_queue/enable", "1")
        instance.write("tracing_on", "1")
        device = os.open(disk, os.O_RDONLY | os.O_DIRECT)
        stack.callback(os.close, device)
        buffer = mmap.mmap(-1, 4096)
        for read in range(reads):
            assert os.preadv(device, [buffer], 4096 * read) == 4096
        instance.write("tracing_on", "0")
        lost = sum(lost_events(instance.read(f"per_cpu/{cpu}/stats")) for cpu in instance.cpus())
        pages = b""
        for cpu in instance.cpus():
            descriptor = instance.open_pages(cpu)
            with contextlib.suppress(BlockingIOError):
                while page := os.read(descriptor, width):
                    pages += page.ljust(width, b"\0")
            os.close(descriptor)
        kept = len(parse_pages(np.frombuffer(pages, dtype="<u4"), page_bytes=width).time_ns)
        assert lost > 0
        assert kept + lost == reads


def tracing(process: subprocess.Popen[str]) -> Path:
    """Wait until a process has its instance, and return it."""
    directory = TRACING / "instances" / f"iogauge-{process.pid}"
    while not (directory / "tracing_on").exists():
        assert process.poll() is None, process.communicate()[1]
    return directory


def started(path: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command(path, "--runtime=300"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_nothing_is_left_after_a_run(disk: str) -> None:
    ran = subprocess.Popen(
        command(disk, "--runtime=2", "--output-format=json+"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    out, said = ran.communicate()
    assert ran.returncode == 0, said
    assert parts(json.loads(out))[2]["matched"] > 0
    # Other processes may trace beside it.
    assert f"iogauge-{ran.pid}" not in [directory.name for directory in instances(TRACING)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_after_a_signal(disk: str, number: signal.Signals) -> None:
    process = started(disk)
    directory = tracing(process)
    process.send_signal(number)
    _, said = process.communicate(timeout=600)
    assert process.returncode == 128 + number, said
    assert not directory.exists()


def test_the_next_start_removes_what_a_killed_run_left(disk: str) -> None:
    process = started(disk)
    directory = tracing(process)
    while (
        not (directory / "per_cpu" / "cpu0").exists()
        or (directory / "trace_clock").read_text().find("[mono]") < 0
    ):
        assert process.poll() is None
    process.kill()
    process.communicate()
    assert directory.exists()
    assert (directory / "tracing_on").read_text().strip() == "0", "the kernel stops it as the process dies"
    run(disk)
    assert not directory.exists()


def test_an_instance_of_a_live_process_is_left_alone(disk: str) -> None:
    process = started(disk)
    directory = tracing(process)
    run(disk)
    assert directory.exists()
    process.terminate()
    process.communicate(timeout=600)
    assert not directory.exists()
