"""A host that is lost is named in the saved fleet while the others go on, and in the report once nothing is left."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.system.fleet import fleets

pytestmark = pytest.mark.fleet

IOS = 120_000
"""A step of a minute: longer than it takes to see who is lost."""
LATE_S = 60.0
"""Ten seconds are usual, but this machine may be busy."""


def running(home: Path) -> fleets.Command:
    """Start a fleet of two hosts; return it in the middle of a step."""
    plan = fleets.plan(home, ios=IOS, depths=[1, 2, 4])
    fleet = fleets.review(home, "--local", "2", "{host}.bin", *plan, "--output", "saved")
    fleet.until("A few writes, ")
    return fleet


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=lambda how: how.name)
def test_a_lost_host_is_named_while_the_others_go_on(home: Path, how: signal.Signals) -> None:
    fleet = running(home)
    fleets.workers(home)["local1"].send_signal(how)
    hit = time.monotonic()
    while fleets.outcomes(home / "saved")["local1"] == "planned":
        assert not fleet.ends_within(0.1), fleet.stderr
    named_s = time.monotonic() - hit
    print(f"named {named_s:.1f} s after {how.name}")
    assert named_s < LATE_S
    assert "local1 (lost" in " ".join(fleets.shown(home / "saved", home).split())
    assert fleet.is_running
    os.kill(fleet.pid, signal.SIGINT)
    assert fleet.status() == 130, fleet.stderr
    assert fleets.outcomes(home / "saved") == {"local1": "lost", "local2": "interrupted"}


def test_a_fleet_whose_hosts_are_all_lost_reports_at_once(home: Path) -> None:
    fleet = running(home)
    for worker in fleets.workers(home).values():
        worker.kill()
    killed = time.monotonic()
    assert fleet.status() == 1, fleet.stderr
    report_s = time.monotonic() - killed
    print(f"report {report_s:.1f} s after all hosts were killed")
    assert report_s < LATE_S
    assert all(f"{name} (lost" in " ".join(fleet.stdout.split()) for name in ("local1", "local2"))
    assert fleets.outcomes(home / "saved") == {"local1": "lost", "local2": "lost"}
