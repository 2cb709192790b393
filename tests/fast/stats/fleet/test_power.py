"""What is found and what is found wrongly, over many simulated fleets, and on drive models themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from iogauge.stats.fleet.findings import SlowDrives, Suspect
from iogauge.stats.fleet.observations import DriveObservations
from iogauge.stats.fleet.slow import slow
from tests.fast.stats.fleet.made_up import LOADS, SPREAD, MadeUpFleet, run_of, varied_model


def shares(result: SlowDrives, slowed: set[str]) -> tuple[float, float]:
    """Return which share of the slow drives was found, and which share of all findings is false."""
    names = {finding.name for finding in result.findings}
    return len(names & slowed) / len(slowed), len(names - slowed) / max(len(names), 1)


def over_fleets(fleets: int, *, spread: float, position_spread: np.ndarray = SPREAD) -> tuple[float, float]:
    """Return the mean power and false discovery proportion: 1,000 drives, ten of them slower by a tenth."""
    outcomes = []
    for seed in range(fleets):
        fleet = MadeUpFleet(hosts=100, per_host=10, seed=seed, spread=spread, position_spread=position_spread)
        slowed = np.random.default_rng(1000 + seed).choice(1000, 10, replace=False)
        fleet.slow_down(slowed.tolist(), 1.1)
        outcomes.append(shares(slow(fleet.observations()), {fleet.names[drive] for drive in slowed}))
    power, false = np.mean(outcomes, axis=0)
    return float(power), float(false)


@pytest.mark.slow
def test_a_tenth_is_found_among_a_thousand_drives() -> None:
    power, false = over_fleets(40, spread=0.005)
    assert power >= 0.95
    assert false <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "least", "most"), [(0.015, 0.95, 1), (0.02, 0.75, 0.95), (0.03, 0, 0.6)])
def test_what_is_found_depends_on_how_healthy_drives_differ(spread: float, least: float, most: float) -> None:
    """``spread`` is that of latency. A tenth is 4.8 spreads of 2 %, and 3.2 of 3 %."""
    power, false = over_fleets(20, spread=spread, position_spread=SPREAD * 0)
    assert least <= power <= most
    assert false <= 0.08


@pytest.mark.slow
@pytest.mark.parametrize(("hosts", "per_host"), [(10, 10), (100, 1), (4, 25)])
def test_nothing_is_found_where_nothing_is_wrong(hosts: int, per_host: int) -> None:
    findings = sum(
        bool(slow(MadeUpFleet(hosts=hosts, per_host=per_host, seed=seed).observations()).findings)
        for seed in range(200)
    )
    assert findings <= 10


@pytest.mark.slow
def test_a_slow_host_is_one_finding_in_almost_all_fleets() -> None:
    right = 0
    for seed in range(40):
        fleet = MadeUpFleet(hosts=100, per_host=10, seed=seed)
        fleet.slow_down(fleet.of_host(seed), 1.1)
        findings = slow(fleet.observations()).findings
        hosts = [finding.name for finding in findings if finding.suspect is Suspect.HOST]
        of_host = [finding for finding in findings if finding.host == f"h{seed:03}"]
        right += f"h{seed:03}" in hosts and not of_host
    assert right >= 38


@pytest.mark.slow
def test_a_slow_drive_model_is_found_among_its_like(tmp_path: Path) -> None:
    """Each time of the medium varies by 2.5 %, and one drive's are a fifth longer."""
    random = np.random.default_rng(11)
    rows = []
    for number in range(40):
        model = varied_model(
            tmp_path / "drive.toml", random, spread=0.025, ratio=1.2 if number == 17 else 1.0
        )
        for position, batches in run_of(model, seed=number).items():
            rows += [(f"d{number:02}", f"h{number // 10}", position, batch) for batch in batches]
    assert {position for _, _, position, _ in rows} == {name for name, *_ in LOADS}
    observations = DriveObservations(
        drive=[row[0] for row in rows],
        host=[row[1] for row in rows],
        model=["P4800X"] * len(rows),
        firmware=[""] * len(rows),
        slot=[""] * len(rows),
        position=[row[2] for row in rows],
        batch=np.array([row[3].number for row in rows]),
        iops=np.array([row[3].iops for row in rows]),
        mean_ns=np.array([row[3].mean_ns for row in rows]),
        tail_ns=np.array([row[3].tail_ns for row in rows]),
    )
    assert [finding.name for finding in slow(observations).findings] == ["d17"]
