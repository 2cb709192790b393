"""Made-up fleets to look at: one with a slow drive, a slow host and a lost host, and one where nothing is wrong."""

from __future__ import annotations

import math
import random
from dataclasses import replace

from iogauge.report.fleet.view import (
    Difference,
    Drive,
    Event,
    FleetView,
    Group,
    Host,
    Moment,
    Slow,
    Standing,
    Start,
)

STEPS = ("mixed.reads-100", "mixed.reads-70")
LOST, SLOW_HOST, SLOW_DRIVE = "r9", "r4", "r7-nvme3"


def fleet(hosts: int = 10, drives: int = 8, moments: int = 30) -> FleetView:
    """Return a fleet of so many hosts, at least ten: one has a slow drive, one is slow, one was lost."""
    chance = random.Random(1)
    return FleetView(
        path="saved",
        created="2026-11-29T02:00:00+00:00",
        mode="together",
        options={"suites": ["mixed"], "pace": "quick"},
        hosts=tuple(_host(number) for number in range(1, hosts + 1)),
        drives=tuple(
            _drive(f"r{host}", number, chance)
            for host in range(1, hosts + 1)
            for number in range(drives)
            if f"r{host}" != LOST
        ),
        slow=(
            Slow(
                kind="drive",
                name=f"{SLOW_DRIVE} of host r7",
                slowness=1.31,
                low=1.22,
                high=1.4,
                why="slow throughout: 1.31x (1.22 to 1.40) the latency of its peers",
            ),
            Slow(
                kind="host",
                name=SLOW_HOST,
                slowness=1.18,
                low=1.14,
                high=1.22,
                drives=drives,
                why=f"the latency of its {drives} drives is 1.180x that of like drives in other hosts",
            ),
        ),
        moments=tuple(_moment(step, second, hosts, chance) for step in STEPS for second in range(moments)),
        groups=(
            *(_group("fleet", "all", step, hosts - 1) for step in STEPS),
            *(_group("zone", zone, STEPS[0], hosts // 2) for zone in "ab"),
        ),
        starts=tuple(
            Start(host=f"r{host}", step=step, late_ns=chance.gauss(20e3, 30e3), bound_ns=25e3)
            for step in STEPS
            for host in range(1, hosts + 1)
            if f"r{host}" != LOST
        ),
        differences=(
            Difference(
                fact="kernel",
                values=(
                    ("6.1.0-18", tuple(f"r{number}" for number in range(1, hosts - 1))),
                    ("6.8.4", (f"r{hosts - 1}", f"r{hosts}")),
                ),
            ),
            Difference(fact="governor", values=(("performance", ("r1", "r2")), ("<schedutil>", ("r3",)))),
        ),
        events=(
            Event(at="2026-11-29T02:03:20+00:00", host=LOST, kind="lost", text="no answer for 10 s"),
            Event(at="2026-11-29T02:03:21+00:00", host="", kind="message", text="9 hosts go on"),
        ),
    )


def healthy() -> FleetView:
    """Return a fleet where nothing is wrong: four hosts alike."""
    view = fleet()
    return replace(
        view,
        hosts=tuple(host for host in view.hosts if host.name != LOST)[:3],
        drives=tuple(replace(drive, standing=Standing.NORMAL) for drive in view.drives[:16]),
        slow=(),
        differences=(),
        events=(),
    )


def empty() -> FleetView:
    """Return a fleet whose hosts all refused: it has no figures at all."""
    view = fleet()
    hosts = tuple(replace(host, outcome="refused", why="/dev/sda is mounted") for host in view.hosts)
    return FleetView(
        path="saved",
        created=view.created,
        mode="independent",
        options={},
        hosts=hosts,
    )


def _host(number: int) -> Host:
    lost = f"r{number}" == LOST
    return Host(
        name=f"r{number}",
        outcome="lost" if lost else "done",
        why="no answer for 10 s" if lost else "",
        targets=("/dev/nvme0n1",),
        labels={"zone": "ab"[number % 2]},
        kernel="6.1.0-18",
        cpu="EPYC 7543",
        version="0.1.0",
        steps=3 if lost else 11,
        offset_ns=1_200_000 * number,
        bound_ns=25_000,
    )


def _drive(host: str, number: int, chance: random.Random) -> Drive:
    name = f"{host}-nvme{number}"
    factor = 1.31 if name == SLOW_DRIVE else 1.18 if host == SLOW_HOST else 1.0
    slowness = factor * math.exp(chance.gauss(0, 0.02))
    return Drive(
        name=name,
        host=host,
        model="PM9A3 <MZQL2>",
        firmware="GDC5602Q",
        slot=str(number),
        slowness=slowness,
        low=slowness / 1.06,
        high=slowness * 1.06,
        rate=math.exp(chance.gauss(0, 0.02)) / slowness,
        tail=slowness,
        standing=Standing.SLOW
        if name == SLOW_DRIVE
        else Standing.OF_HOST
        if host == SLOW_HOST
        else Standing.NORMAL,
    )


def _moment(step: str, second: int, hosts: int, chance: random.Random) -> Moment:
    latency_ns = 80_000 * math.exp(chance.gauss(0, 0.03))
    return Moment(
        step=step,
        direction="read",
        start_s=float(second),
        hosts_running=hosts - 1 if second else hosts - 3,
        hosts=hosts - 1,
        iops=4e6 * math.exp(chance.gauss(0, 0.02)),
        bytes_per_s=16e9,
        p50_ns=latency_ns,
        p99_ns=2.6 * latency_ns,
        p999_ns=9 * latency_ns,
        p9999_ns=20 * latency_ns,
    )


def _group(by: str, name: str, step: str, hosts: int) -> Group:
    return Group(
        by=by,
        name=name,
        step=step,
        direction="read",
        hosts=hosts,
        missing=(LOST,),
        requests=123_456_789,
        iops=4_012_345.0,
        mean_ns=81_234.0,
        p50_ns=79_000.0,
        p99_ns=210_000.0,
        p999_ns=720_000.0,
        p9999_ns=1_600_000.0,
        excluded_s=1.0 if by == "fleet" else 0.0,
    )
