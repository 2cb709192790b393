"""The judgement of a saved fleet: which rows its reviews give, and that a slow drive among them is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from iogauge.cli import main
from iogauge.fleet.judge import judge, observations
from iogauge.schema import Direction, FleetHost, FleetManifest, HostOutcome
from iogauge.stats.fleet.findings import Suspect
from iogauge.store import Review
from iogauge.store.fleet import FleetStore
from tests.fast.cli.fleet import saved_fleet
from tests.fast.stats.fleet.made_up import varied_model

HOSTS = 8
SLOW, LOST = 5, 6


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FleetStore:
    """Eight hosts with one drive model each; one drive's medium takes twice as long, and one host saved nothing."""
    top = tmp_path_factory.mktemp("fleet")
    random = np.random.default_rng(3)
    manifest = FleetManifest(
        id="0" * 32,
        created="2026-11-29T02:00:00+00:00",
        seed=1,
        hosts=tuple(
            FleetHost(
                name=f"r{number}",
                targets=(f"model:{top / str(number) / 'drive.toml'}",),
                labels={"slot": "bay 1"},
                outcome=HostOutcome.LOST if number == LOST else HostOutcome.DONE,
                seed=number,
            )
            for number in range(HOSTS)
        ),
    )
    saved = FleetStore.create(top / "saved", manifest)
    for number, host in enumerate(manifest.hosts):
        if number == LOST:
            continue
        (top / str(number)).mkdir()
        varied_model(
            top / str(number) / "drive.toml", random, spread=0.01, ratio=2.0 if number == SLOW else 1.0
        )
        arguments = ["--suite=mixed", "--runtime=50ms", f"--seed={number}"]
        assert main(["review", *host.targets, *arguments, f"--output={saved.host_directory(host.name)}"]) == 0
    return saved


@pytest.mark.slow
def test_rows_are_the_batches_of_every_step_and_direction(store: FleetStore) -> None:
    rows = observations(store)
    assert set(rows.host) == {host.name for host in store.manifest.hosts} - {f"r{LOST}"}
    assert len(set(rows.model)) == 1
    assert set(rows.slot) == {"bay 1"}
    assert rows.drives == tuple(
        sorted(f"{host.name}:{host.targets[0]}" for host in store.manifest.hosts if host.name != f"r{LOST}")
    )
    assert {position.rpartition(", ")[2] for position in rows.positions} == {Direction.READ, Direction.WRITE}
    assert all(position.startswith("mixed: ") for position in rows.positions)
    by_drive = [sum(drive == name for drive in rows.drive) for name in rows.drives]
    assert min(by_drive) == max(by_drive)


@pytest.mark.slow
def test_a_slow_drive_of_a_saved_fleet_is_found(store: FleetStore) -> None:
    result = judge(store)
    (finding,) = result.findings
    assert (finding.suspect, finding.host) == (Suspect.DRIVE, f"r{SLOW}")
    assert finding.ratio > 1.1
    assert any("Each host has one drive" in line for line in result.cannot_tell)


def test_one_drive_is_not_judged(tmp_path: Path) -> None:
    store = FleetStore.open(saved_fleet.saved(tmp_path / "fleet", hosts=1))
    rows = observations(store)
    assert rows.drives == ("r1:model:p4800x",)
    assert len(rows.positions) > 5
    result = judge(store)
    assert result.findings == ()
    assert any(
        line.endswith("has 1 drive. 5 are needed to show what is usual, so it is not judged.")
        for line in result.cannot_tell
    )


def test_a_drive_that_several_hosts_use_is_a_drive_of_each(tmp_path: Path) -> None:
    store = FleetStore.open(saved_fleet.saved(tmp_path / "fleet", hosts=3))
    for host in ("r1", "r3"):
        review = Review.open(store.host_directory(host))
        (target,) = review.manifest.targets
        targets = (target.model_copy(update={"serial": "S1"}),)
        review.save_manifest(review.manifest.model_copy(update={"targets": targets}))
    assert observations(store).drives == ("r1:S1", "r3:S1")
    assert judge(store).findings == ()


def test_a_fleet_of_which_nothing_is_saved_has_no_findings(tmp_path: Path) -> None:
    manifest = FleetManifest(
        id="1" * 32,
        created="2026-11-29T02:00:00+00:00",
        seed=1,
        hosts=(FleetHost(name="r0", targets=("/dev/nvme0n1",), seed=0),),
    )
    result = judge(FleetStore.create(tmp_path / "fleet", manifest))
    assert (result.findings, result.points) == ((), ())
