"""Hosts whose clocks are up to 50 ms off start together nevertheless, and what is said of their clocks is true.

The kernel shifts each host's clock, so the truth is known to the nanosecond. What such hosts do is what each does
alone, merged by hand.
"""

from __future__ import annotations

import os
import random
import statistics
import sys
from pathlib import Path

import pytest

from iogauge.fleet import make_keys, open_fleet
from iogauge.fleet.dask.workers import shares_of_cpus
from iogauge.schema import Direction, Kind
from iogauge.stats.histogram import Histogram
from iogauge.store import Review
from iogauge.store.fleet import FleetStore
from tests.system.fleet import clusters, fleets

pytestmark = pytest.mark.fleet

HOSTS = int(os.environ.get("FLEET_HOSTS", "4"))
READ = Direction.READ
OFF_NS = 50_000_000
EARLY_NS = 2_000_000
SHIFTED = str(Path(__file__).with_name("shifted_clock.py"))
SUITE = """
name = "starts"
title = "Starts"
axis = {{ name = "reads in flight", unit = "in flight" }}

[options]
rw = "randread"
bs = "4k"
time_based = true
ramp_time = "0"
{engine}
"""
STEP = """
[[step]]
at = {depth}
options = {{ iodepth = {depth} }}
"""
DEPTHS = (1, 2, 4)


def suite(home: Path, *, engine: str) -> str:
    """Write a suite of reads; return its path."""
    path = home / "starts.toml"
    text = SUITE.format(engine=f'ioengine = "{engine}"' if engine else "")
    path.write_text(text + "".join(STEP.format(depth=depth) for depth in DEPTHS))
    return str(path)


def target(home: Path, kind: str) -> str:
    return "model:p4800x" if kind == "drive models" else f"{home}/{{host}}.bin"


@pytest.fixture
def shifted(home: Path) -> tuple[str, dict[str, int]]:
    """Start a scheduler and hosts whose clocks are off; return its address, and by how much each is ahead."""
    chance = random.Random(fleets.SEED)
    ahead_ns = {f"r{number:02}": chance.randint(-OFF_NS, OFF_NS) for number in range(1, HOSTS + 1)}
    make_keys(home / "keys", [*ahead_ns])
    scheduler = clusters.scheduler(home, "tls://127.0.0.1:0", *clusters.with_keys(home, "controller"))
    address = scheduler.word_after("Scheduler at:")
    workers = []
    # Hosts share the CPUs of this computer evenly, as local ones do.
    shares = shares_of_cpus(HOSTS, sorted(os.sched_getaffinity(0)))
    for (name, ahead), cpus in zip(ahead_ns.items(), shares, strict=True):
        on = ["taskset", "--cpu-list", ",".join(map(str, cpus)), sys.executable, SHIFTED, str(ahead)]
        options = ("--host", "127.0.0.1", *clusters.with_keys(home, name))
        workers.append(clusters.worker(home, address, name, *options, on=on))
    assert all(map(clusters.is_registered, workers))
    return address, ahead_ns


def require_true_clocks(store: FleetStore, ahead_ns: dict[str, int]) -> None:
    """Check that each clock is off by what was measured, within its bound."""
    batches = store.clock()
    assert {batch.host for batch in batches} == set(ahead_ns)
    assert {batch.phase for batch in batches} >= {"before", "after"}
    for batch in batches:
        assert batch.exchanges >= 20
        assert abs(batch.offset_ns - ahead_ns[batch.host]) <= batch.bound_ns, batch
    bounds = [batch.bound_ns / 1e3 for batch in batches]
    print(f"clocks: bound {statistics.median(bounds):.0f} us median, {max(bounds):.0f} us most")


def require_true_starts(store: FleetStore, ahead_ns: dict[str, int]) -> None:
    """Check that each host started when it is said to have, and none early: how late they are depends on the CPUs."""
    late_ns = []
    for start in store.starts():
        result = Review.open(store.host_directory(start.host)).record(start.step).result
        began_ns = result.started_ns if result.first_issued_ns is None else result.first_issued_ns
        assert began_ns is not None
        began_ns -= ahead_ns[start.host]
        assert start.achieved_ns is not None
        assert abs(start.achieved_ns - began_ns) <= start.bound_ns, start
        # When a host hears of a start, its clock is less well known than once it has been compared again.
        assert began_ns >= start.planned_ns - EARLY_NS, start
        late_ns.append(began_ns - start.planned_ns)
    assert len(late_ns) == HOSTS * len(DEPTHS)
    late_us = sorted(late / 1e3 for late in late_ns)
    p99_us = sorted(map(abs, late_us))[-1 - len(late_us) // 100]
    print(
        f"true starts: {statistics.median(late_us):.0f} us late median, {p99_us:.0f} us p99, {late_us[-1]:.0f} us most"
    )


def plan(home: Path, kind: str) -> tuple[str, ...]:
    """Return the options of a review of reads."""
    return (
        "--suite",
        suite(home, engine="null" if kind == "null engine" else ""),
        "--size=1m",
        "--runtime=1s",
    )


def reviewed(home: Path, address: str, kind: str, *options: str) -> None:
    """Review a fleet, and wait until all is saved."""
    where = ("--scheduler", address, "--keys=keys", "--output=saved")
    fleet = fleets.review(home, *where, target(home, kind), *plan(home, kind), "--seed=1", *options)
    assert fleet.status() == 0, fleet.stderr


@pytest.mark.parametrize("kind", ["null engine", "drive models", "files"])
def test_hosts_whose_clocks_are_off_start_together(
    home: Path, shifted: tuple[str, dict[str, int]], kind: str
) -> None:
    address, ahead_ns = shifted
    reviewed(home, address, kind)
    store = FleetStore.open(home / "saved")
    require_true_clocks(store, ahead_ns)
    require_true_starts(store, ahead_ns)


def test_hosts_do_what_each_does_alone(home: Path, shifted: tuple[str, dict[str, int]]) -> None:
    kind = "drive models"
    address, _ = shifted
    reviewed(home, address, kind, "--mode=independent")
    fleet = open_fleet(home / "saved")
    alone = {}
    for host in fleet.hosts:
        own = ("--seed", str(host.seed), "--output", f"alone-{host.name}")
        plain = fleets.Command(home, *fleets.IOGAUGE, "review", target(home, kind), *plan(home, kind), *own)
        assert plain.status() == 0, plain.stderr
        alone[host.name] = Review.open(home / f"alone-{host.name}")
    for step in fleet.steps:
        by_hand = {name: latencies(review, step) for name, review in alone.items()}
        (group,) = fleet.merged(step)
        assert group.requests == {READ: {name: own.count for name, own in by_hand.items()}}
        total, expected = group.total[READ], Histogram.merge(by_hand.values())
        assert total.lowest.tolist() == expected.lowest.tolist()
        assert total.counts.tolist() == expected.counts.tolist()
        assert total.exact == expected.exact


def latencies(review: Review, step: str) -> Histogram:
    """Return the latencies of all reads of a step."""
    tallies = [row.tallies[READ] for row in review.record(step).result.rows]
    return Histogram.merge(
        Histogram.decode(tally.histograms[Kind.LAT], tally.exact[Kind.LAT]) for tally in tallies
    )
