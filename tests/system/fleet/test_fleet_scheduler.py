"""A fleet whose Dask scheduler is killed reports what is there, and completes with another scheduler."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest

from tests.system.fleet import clusters, fleets

pytestmark = pytest.mark.fleet

IOS = 2000
NAMES = ("r1", "r2")


def test_a_fleet_whose_scheduler_is_killed_is_resumed_with_another(home: Path) -> None:
    states = dict.fromkeys(NAMES, "state")
    address = clusters.on_loopback(home, states)
    (scheduler,) = (process for process in fleets.processes(home) if "scheduler" in process.cmdline())
    keys = ("--keys", "keys")
    plan = (*fleets.plan(home, ios=IOS), "--output=saved")
    fleet = fleets.review(home, "--scheduler", address, *keys, f"{home}/{{host}}.bin", *plan)
    fleet.until("[2/2]")
    scheduler.kill()
    killed = time.monotonic()
    assert fleet.status() == 1, fleet.stderr
    print(f"report {time.monotonic() - killed:.1f} s after the scheduler was killed")
    outcomes = fleets.outcomes(home / "saved")
    assert set(outcomes.values()) == {"lost"}
    assert all(f"{name} (lost" in fleet.stdout.replace("\n", " ") for name in NAMES)
    fleets.require_whole_steps(home / "saved", ios=IOS)
    # Hosts without a scheduler end, and their reviews with them.
    psutil.wait_procs([*fleets.workers(home).values()], timeout=60)
    assert fleets.workers(home) == {}
    address = clusters.on_loopback(home, states)
    resumed = fleets.review(home, "--scheduler", address, *keys, "--resume", "saved")
    assert resumed.status() == 0, resumed.stderr
    assert fleets.outcomes(home / "saved") == dict.fromkeys(NAMES, "done")
    fleets.require_whole_steps(home / "saved", ios=IOS)
