"""A drive that stops answering in the middle of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.vm.guest import Drive, Guest
from tests.vm.test_nvme import drive

HELD_BPS = 1
"""One byte a second: a request of 4 KiB takes longer than the test."""


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Return a guest whose drive H1 can be slowed down by QEMU."""
    with Guest(tmp_path_factory.mktemp("held"), [Drive("H1", namespace="id=held")]) as guest:
        yield guest


def throttle(guest: Guest, Bps: int) -> None:
    """Let the drive move so many bytes a second; 0: any number."""
    limits = dict.fromkeys(("bps_rd", "bps_wr", "iops", "iops_rd", "iops_wr"), 0)
    guest.monitor("block_set_io_throttle", id="held", bps=Bps, **limits)


@pytest.mark.parametrize("engine", ["io_uring", "io_uring_cmd", "libaio"])
def test_a_drive_that_stops_answering_ends_the_run(held: Guest, engine: str) -> None:
    path = drive(held, "H1")
    direct = "" if engine == "io_uring_cmd" else "--direct=1"
    running = held.start(
        f"iogauge run --name=x --filename={path} --rw=randread --bs=4k --ioengine={engine} {direct} --iodepth=4 "
        "--runtime=5 --time_based --no-ceiling --give-up=4 --output-format=json --output=/tmp/held.json "
        "2>/tmp/held.err"
    )
    held.sh("until grep -qs iogauge-0 /proc/[0-9]*/task/*/comm; do sleep 0.1; done")
    throttle(held, HELD_BPS)
    try:
        held.sh("until grep -s 'still in the kernel' /tmp/held.err; do sleep 0.2; done")
        assert "results are complete without" in held.sh("cat /tmp/held.err")
    finally:
        throttle(held, 0)
    ended = running.get(timeout=120)
    errors = held.sh("cat /tmp/held.err")
    assert ended.status == 1, errors
    assert "Traceback" not in errors
    result = json.loads(held.sh("cat /tmp/held.json"))
    assert result["jobs"][0]["read"]["total_ios"] > 0
    flights = result["iogauge"]["in_flight"]
    assert 1 <= len(flights) <= 4
    assert all(flight["age_ns"] > 3 * 10**9 for flight in flights)
    held.sh("rm /tmp/held.err /tmp/held.json")
