"""A saved review on many hosts: written, read again, and readable after a kill."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.schema import (
    SCHEMA_VERSION,
    ClockBatch,
    FleetEvent,
    FleetHost,
    FleetManifest,
    FleetMode,
    HostOutcome,
    Start,
)
from iogauge.store.fleet import FleetStore

MANIFEST = FleetManifest(
    id="f1",
    created="2026-01-01T00:00:00Z",
    mode=FleetMode.STAGGERED,
    stagger_ns=5,
    seed=7,
    options={"suites": ["mixed"]},
    hosts=tuple(
        FleetHost(name=name, targets=("/dev/sda",), seed=1, labels={"zone": "a"}) for name in ("db1", "db2")
    ),
)
CLOCK = ClockBatch(host="db1", phase="before", at_ns=-5, offset_ns=-7, bound_ns=3, exchanges=20)
START = Start(host="db1", step="s", planned_ns=1, achieved_ns=None, bound_ns=2)
EVENT = FleetEvent(at="2026-01-01T00:00:01Z", host="db2", kind="lost", text="no answer\nfor 10 s \u2028 é")


def test_a_fleet_is_read_as_it_was_written(tmp_path: Path) -> None:
    fleet = FleetStore.create(tmp_path / "f", MANIFEST)
    fleet.append(CLOCK, EVENT)
    fleet.append(START, EVENT)
    changed = MANIFEST.with_host(MANIFEST.host("db2").model_copy(update={"outcome": HostOutcome.LOST}))
    fleet.save_manifest(changed)
    again = FleetStore.open(tmp_path / "f")
    assert again.manifest == changed
    assert again.manifest.host("db2").outcome is HostOutcome.LOST
    assert (again.clock(), again.starts(), again.events()) == ((CLOCK,), (START,), (EVENT, EVENT))
    assert again.host_directory("db1") == tmp_path / "f" / "hosts" / "db1"
    assert FleetStore.create(tmp_path / "g", MANIFEST).events() == ()


def test_a_line_that_a_kill_tore_is_left_out_and_then_replaced(tmp_path: Path) -> None:
    fleet = FleetStore.create(tmp_path / "f", MANIFEST)
    fleet.append(EVENT)
    path = tmp_path / "f" / "events.jsonl"
    path.write_bytes(path.read_bytes() + path.read_bytes()[:-5])
    assert fleet.events() == (EVENT,)
    fleet.append(EVENT)
    assert fleet.events() == (EVENT, EVENT)


def test_damage_is_named(tmp_path: Path) -> None:
    fleet = FleetStore.create(tmp_path / "f", MANIFEST)
    fleet.append(CLOCK, CLOCK)
    path = tmp_path / "f" / "clock.jsonl"
    path.write_text(path.read_text().replace("20}", "-1}", 1))
    with pytest.raises(IogaugeError, match=r"clock\.jsonl: damaged: line 1") as damaged:
        fleet.clock()
    assert damaged.value.hint
    path = tmp_path / "f" / "fleet.json"
    path.write_text(path.read_text().replace('"seed": 7', '"seed": 8'))
    with pytest.raises(IogaugeError, match="does not agree with the checksum"):
        FleetStore.open(tmp_path / "f")


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    fleet = FleetStore.create(tmp_path / "f", MANIFEST)
    path = fleet.path / "fleet.json"
    path.write_text(path.read_text().replace(f'"schema_version": {SCHEMA_VERSION}', '"schema_version": 1000'))
    with pytest.raises(IogaugeError, match="version 1000"):
        FleetStore.open(fleet.path)


def test_a_directory_that_is_taken_or_no_fleet_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(IogaugeError, match="not empty"):
        FleetStore.create(tmp_path, MANIFEST)
    with pytest.raises(IogaugeError, match="not a saved review of a fleet"):
        FleetStore.open(tmp_path)


@pytest.mark.parametrize("name", ["", "..", "../db1", "db1/..", "db3"])
def test_only_its_hosts_have_directories(tmp_path: Path, name: str) -> None:
    fleet = FleetStore.create(tmp_path / "f", MANIFEST)
    with pytest.raises(IogaugeError, match="has no host"):
        fleet.host_directory(name)


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-a", "a\n", "a" * 64])
def test_a_name_that_is_no_file_name_is_no_host(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        FleetHost(name=name, targets=(), seed=0)


def test_one_process_writes_a_fleet(tmp_path: Path) -> None:
    fleet = FleetStore.create(tmp_path / "f", MANIFEST)
    take = (
        f"from iogauge.store.fleet import FleetStore\nfrom pathlib import Path\n"
        f"with FleetStore.open(Path({str(fleet.path)!r})).lock(): pass"
    )
    with fleet.lock():
        other = subprocess.run([sys.executable, "-c", take], capture_output=True, text=True, check=False)
    assert "another iogauge is writing this fleet" in other.stderr
    subprocess.run([sys.executable, "-c", take], check=True)
