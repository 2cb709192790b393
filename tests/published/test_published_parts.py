"""Where requests spend their time, for loads of which publications say so."""

from __future__ import annotations

import pytest

import iogauge
from iogauge.results.explained.loads import ExplainedLoad

pytestmark = pytest.mark.slow

HOST = ("submission", "noise", "idle exit", "wake-up", "busy thread")


def load(drive: str, jobs: str, name: str) -> ExplainedLoad:
    return iogauge.explain_model(drive, jobs, seed=3)[name]


def job(name: str, rw: str, threads: int, depth: int, seconds: int, *more: str) -> str:
    lines = [
        f"[{name}]",
        f"rw={rw}",
        "bs=4k",
        "direct=1",
        "ioengine=libaio",
        f"numjobs={threads}",
        f"iodepth={depth}",
        "group_reporting=1",
        "time_based=1",
        f"runtime={seconds}",
        *more,
    ]
    return "\n".join(lines) + "\n"


def test_a_single_optane_read_is_its_channel_and_the_host() -> None:
    # Intel: a read at depth one takes about 10 us, most of it in the drive, and no read waits for another.
    mean = load("p4800x", job("reads", "randread", 1, 1, 2), "reads, read").mean
    host = sum(mean.shares.get(part, 0.0) for part in HOST)
    assert mean.shares.get("queue", 0.0) < 0.01
    assert mean.longest == "channel"
    assert 0.25 < host < 0.5
    assert host + sum(mean.shares[part] for part in ("channel", "controller", "pipe", "link")) > 0.95


def test_optane_pays_a_tenth_for_turning_around_where_flash_pays_half_for_its_writes() -> None:
    # Intel: "no read-write turnaround penalty to speak of". A review's bathtub curve does show some: docs/models.md.
    mix = job("mix", "randrw", 4, 4, 1)
    optane = iogauge.explain_model("p4800x", mix, changes={"media.turnaround_ns": 0}, replications=2, seed=3)
    for one, without in zip(optane, optane.differences, strict=True):
        assert one.mean.longest == "queue"
        assert 0.05 < one.mean.shares["turnaround"] < 0.12
        mean = without.figures[0]
        assert 0.8 < mean.after / mean.before < 0.95
    flash = load("p3700-800g", mix, "mix, read").mean
    assert flash.shares["wait for a program"] + flash.shares["wait for collection"] > 0.4


def test_flash_reads_under_writes_wait_for_programs() -> None:
    # ACT: reads of a small record beside large writes, on a filled drive: programs of the writes, and of the collection
    # that they cause, make the reads slow.
    jobs = job("reads", "randread", 1, 1, 3) + job("writes", "write", 1, 4, 3, "rate=400m").replace(
        "4k", "128k"
    )
    reads = load("p3700-800g", jobs, "reads, read")
    waits = ("wait for a program", "wait for collection")
    for at in reads.at:
        if at.label in ("p90", "p99"):
            assert at.longest in waits
            assert sum(at.shares.get(part, 0.0) for part in waits) > 0.6
            assert at.shares.get("wait for a read", 0.0) + at.shares.get("queue", 0.0) < 0.1


def test_a_single_flash_read_is_the_page() -> None:
    mean = load("p3700-800g", job("reads", "randread", 1, 1, 2), "reads, read").mean
    assert mean.longest == "page read"
    assert mean.shares["page read"] > 0.5


def test_the_slowest_optane_writes_wait_for_stalls() -> None:
    writes = load("p4800x", job("writes", "randwrite", 8, 4, 4), "writes, write")
    slow = next(at for at in writes.at if at.label == "p99.99")
    assert slow.parts_ns["stall"] - writes.mean.parts_ns["stall"] > 0.5 * (slow.lat_ns - writes.mean.lat_ns)
