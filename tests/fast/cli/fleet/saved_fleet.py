"""Saved fleets of drive models, as if hosts had been reviewed: what is shown of fleets is tried on them."""

from __future__ import annotations

from pathlib import Path

from iogauge.cli import main
from iogauge.schema import ClockBatch, FleetEvent, FleetHost, FleetManifest, FleetMode, HostOutcome, Start
from iogauge.store import Review
from iogauge.store.fleet import FleetStore

LOST = "r2"


def saved(directory: Path, *, hosts: int = 3, target: str = "model:p4800x", suite: str = "mixed") -> Path:
    """Save a fleet of so many hosts with one drive model each; ``LOST`` was lost before it began."""
    names = [f"r{number}" for number in range(1, hosts + 1)]
    manifest = FleetManifest(
        id="0" * 32,
        created="2026-11-29T02:00:00+00:00",
        mode=FleetMode.TOGETHER,
        seed=1,
        options={"suites": [suite], "pace": "quick"},
        hosts=tuple(
            FleetHost(
                name=name,
                targets=(target,),
                labels={"zone": "ab"[place % 2]},
                outcome=HostOutcome.LOST if name == LOST else HostOutcome.DONE,
                why="it did not answer for 5 s" if name == LOST else "",
                seed=place,
                kernel="6.1.0" if place else "6.8.4",
                cpu="EPYC",
                version="0.1.0",
            )
            for place, name in enumerate(names)
        ),
    )
    store = FleetStore.create(directory, manifest)
    for host in manifest.hosts:
        if host.outcome is HostOutcome.DONE:
            place = store.host_directory(host.name)
            arguments = [f"--suite={suite}", "--runtime=50ms", f"--seed={host.seed}", f"--output={place}"]
            assert main(["review", target, *arguments]) == 0
            steps = [step.id for plan in Review.open(place).manifest.plans for step in plan.steps]
            batch = ClockBatch(
                host=host.name, phase="after", at_ns=9, offset_ns=1_200_000, bound_ns=20_000, exchanges=20
            )
            store.append(
                batch,
                *(
                    Start(host=host.name, step=step, planned_ns=0, achieved_ns=30_000, bound_ns=20_000)
                    for step in steps
                ),
            )
    store.append(
        FleetEvent(at="2026-11-29T02:03:20+00:00", host=LOST, kind="lost", text="it did not answer for 5 s")
    )
    return directory
