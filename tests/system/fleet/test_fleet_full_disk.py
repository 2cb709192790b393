"""A host of a fleet whose disk gets full fails, and says why; the others are done."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from iogauge.fleet import open_fleet
from tests.system.fleet import clusters, fleets

pytestmark = pytest.mark.fleet

IOS = 1000


@pytest.fixture
def small_disk(home: Path) -> Iterator[Path]:
    """A file system with room for a host's review, and little else."""
    folder = home / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "none", str(folder)], check=True)
    try:
        yield folder
    finally:
        fleets.kill_all(home)
        subprocess.run(["umount", str(folder)], check=True)


def test_a_host_with_a_full_disk_fails_and_the_others_are_done(home: Path, small_disk: Path) -> None:
    states = {"r1": "small", "r2": "state", "r3": "state"}
    where = ("--scheduler", clusters.on_loopback(home, states), "--keys", "keys")
    plan = fleets.plan(home, ios=IOS)
    fleet = fleets.review(home, *where, f"{home}/{{host}}.bin", *plan, "--output=saved")
    fleet.until("[2/2]")
    filler = small_disk / "filler"
    filler.write_bytes(bytes(shutil.disk_usage(small_disk).free))
    assert fleet.status() == 1, fleet.stderr
    assert fleets.outcomes(home / "saved") == {"r1": "failed", "r2": "done", "r3": "done"}
    assert "No space left on device" in open_fleet(home / "saved").hosts[0].why
    assert "1 host is missing: r1 (failed" in fleet.stdout.replace("\n", " ")
    fleets.require_whole_steps(home / "saved", ios=IOS)
    filler.unlink()
    resumed = fleets.review(home, *where, "--resume", "saved")
    assert resumed.status() == 0, resumed.stderr
    assert set(fleets.outcomes(home / "saved").values()) == {"done"}
    fleets.require_whole_steps(home / "saved", ios=IOS)
