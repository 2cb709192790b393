"""Where the time goes on an emulated NVMe drive, and on null_blk, whose device time is known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.vm.guest import Guest
from tests.vm.test_nvme import drive

READS = "--rw=randread --bs=4k --direct=1 --time_based --no-ceiling --output-format=json+"
INSTANCES = "ls /sys/kernel/tracing/instances"


def split(guest: Guest, path: str, options: str) -> tuple[float, dict[str, Any], dict[str, Any]]:
    """Run reads; return their mean lat, the split and json+'s additions."""
    shown = json.loads(guest.iogauge(f"run --name=x --filename={path} {READS} {options}").ok())
    (means,) = shown["iogauge"]["latency_splits"]
    return shown["jobs"][0]["read"]["lat_ns"]["mean"], means, shown["iogauge"]


@pytest.mark.parametrize("engine", ["libaio --iodepth=1", "io_uring --iodepth=4", "psync"])
def test_the_means_add_up_on_nvme(guest: Guest, engine: str) -> None:
    lat_ns, means, _ = split(guest, drive(guest, "A1"), f"--runtime=3 --ioengine={engine}")
    assert means["unknown"] == ""
    assert means["lat_ns"] == pytest.approx(lat_ns, rel=0.02)
    assert 0 < means["block_ns"] < lat_ns


def test_a_ramp_is_in_the_split_and_named(guest: Guest) -> None:
    _, means, _ = split(guest, drive(guest, "A1"), "--runtime=2 --ramp_time=1 --ioengine=libaio")
    assert means["ramp"]
    assert means["block_ns"] is not None


def test_null_blk_takes_as_long_as_it_was_told(guest: Guest) -> None:
    """Its timer completes every request after two milliseconds, never earlier."""
    guest.sh("modprobe null_blk nr_devices=1 queue_mode=2 irqmode=2 completion_nsec=2000000 gb=1")
    try:
        lat_ns, means, more = split(guest, "/dev/nullb0", "--runtime=10 --ioengine=libaio --trace-latency")
        (trace,) = more["latency_traces"]
        device = next(part for part in trace["latencies"] if part["part"] == "device")
        assert 2_000_000 * 0.99 <= means["block_ns"] <= lat_ns
        assert device["min_ns"] >= 2_000_000 * 0.95
        assert means["lat_ns"] == pytest.approx(lat_ns, rel=0.02)
    finally:
        guest.sh("rmmod null_blk")


def test_nvme_is_traced_and_nothing_is_left(guest: Guest) -> None:
    _, _, more = split(guest, drive(guest, "A1"), "--runtime=4 --ioengine=libaio --trace-latency")
    (trace,) = more["latency_traces"]
    means = {part["part"]: part["mean_ns"] for part in trace["latencies"]}
    assert trace["requests"]
    assert trace["matched"] > 0
    assert trace["lost_events"] == 0
    assert means["queue"] + means["device"] == pytest.approx(means["block"], rel=0.02)
    assert means["submission"] > 0
    assert guest.sh(INSTANCES).strip() == ""
