"""Which drives are slow, and which hosts, slots, firmwares and models: one thing made slow, and that thing found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from iogauge.stats.fleet.findings import Suspect
from iogauge.stats.fleet.slow import slow
from tests.fast.stats.fleet.made_up import SPREAD, MadeUpFleet


def small(seed: int = 1) -> MadeUpFleet:
    return MadeUpFleet(hosts=10, per_host=10, seed=seed)


def test_a_slow_drive_is_a_finding_with_its_effect() -> None:
    fleet = small()
    fleet.slow_down([42], 1.2)
    result = slow(fleet.observations())
    (finding,) = result.findings
    assert (finding.suspect, finding.name, finding.host) == (Suspect.DRIVE, "d0042", "h004")
    assert finding.low < 1.2 < finding.high
    assert finding.q <= result.rate
    assert not finding.at_times
    assert finding.why.startswith("slow throughout: 1.")
    (point,) = [point for point in result.points if point.suspect]
    assert point.drive == "d0042"
    assert point.latency_ratio == pytest.approx(1.2, rel=0.03)
    assert point.iops_ratio == pytest.approx(1 / 1.2, rel=0.04)


def test_a_slow_host_is_one_finding() -> None:
    fleet = small()
    fleet.slow_down(fleet.of_host(3), 1.15)
    (finding,) = slow(fleet.observations()).findings
    assert (finding.suspect, finding.name, len(finding.drives)) == (Suspect.HOST, "h003", 10)
    assert finding.low < 1.15 < finding.high


def test_a_slow_drive_of_a_slow_host_is_found_beside_its_neighbours() -> None:
    fleet = small()
    fleet.slow_down(fleet.of_host(3), 1.15)
    fleet.slow_down([37], 1.2)
    result = slow(fleet.observations())
    assert [(finding.suspect, finding.name) for finding in result.findings] == [
        (Suspect.HOST, "h003"),
        (Suspect.DRIVE, "d0037"),
    ]
    assert result.findings[1].low < 1.2 < result.findings[1].high
    suspects = {point.drive: point.suspect for point in result.points}
    assert (suspects["d0037"], suspects["d0036"], suspects["d0046"]) == (Suspect.DRIVE, Suspect.HOST, None)


def test_a_slow_slot_is_one_finding() -> None:
    fleet = small()
    fleet.slow_down(range(4, 100, 10), 1.15)
    (finding,) = slow(fleet.observations()).findings
    assert (finding.suspect, finding.name, len(finding.drives)) == (Suspect.SLOT, "s4", 10)


def test_a_slow_model_is_one_finding_and_no_drive_of_it_is() -> None:
    fleet = small()
    fleet.model_of = ["A" if number % 2 else "B" for number in range(100)]
    fleet.slow_down(range(1, 100, 2), 1.5)
    fleet.slow_down([50], 1.2)
    result = slow(fleet.observations())
    assert [(finding.suspect, finding.name) for finding in result.findings] == [
        (Suspect.MODEL, "A"),
        (Suspect.DRIVE, "d0050"),
    ]
    assert result.findings[0].low < 1.5 < result.findings[0].high


def test_a_slow_firmware_is_one_finding() -> None:
    fleet = small()
    fleet.firmware_of = ["new" if number % 4 == 1 else "old" for number in range(100)]
    fleet.slow_down(range(1, 100, 4), 1.2)
    (finding,) = slow(fleet.observations()).findings
    assert (finding.suspect, finding.name, len(finding.drives)) == (Suspect.FIRMWARE, "P4800X new", 25)


def test_a_model_that_differs_a_little_is_no_finding() -> None:
    fleet = small()
    fleet.model_of = ["A" if number % 2 else "B" for number in range(100)]
    fleet.slow_down(range(1, 100, 2), 1.03)
    assert slow(fleet.observations()).findings == ()


def test_a_fast_drive_is_no_finding() -> None:
    fleet = small()
    fleet.slow_down([42], 1 / 1.5)
    assert slow(fleet.observations()).findings == ()


def test_drives_that_are_all_but_equal_have_no_findings() -> None:
    fleet = MadeUpFleet(
        hosts=10, per_host=10, seed=2, spread=1e-5, host_spread=1e-5, position_spread=SPREAD * 0
    )
    fleet.slow_down([42], 1.01)
    assert slow(fleet.observations()).findings == ()


def test_with_one_drive_a_host_it_says_that_they_cannot_be_told_apart() -> None:
    fleet = MadeUpFleet(hosts=100, per_host=1, seed=3)
    fleet.slow_down([42], 1.2)
    result = slow(fleet.observations())
    assert [finding.name for finding in result.findings] == ["d0042"]
    assert (
        "Each host has one drive, so a slow drive and a slow host cannot be told apart." in result.cannot_tell
    )
    assert result.host_spread is None


def test_drives_of_one_host_are_compared_with_each_other() -> None:
    fleet = MadeUpFleet(hosts=1, per_host=24, seed=4)
    fleet.slow_down([5], 1.25)
    result = slow(fleet.observations())
    assert [finding.name for finding in result.findings] == ["d0005"]
    assert result.cannot_tell == ("All drives are in one host, so nothing shows whether the host is slow.",)


def test_few_hosts_are_assumed_to_differ() -> None:
    fleet = MadeUpFleet(hosts=3, per_host=12, seed=5)
    fleet.slow_down(fleet.of_host(1), 1.4)
    result = slow(fleet.observations())
    assert [(finding.suspect, finding.name) for finding in result.findings] == [(Suspect.HOST, "h001")]
    assert any("3 hosts do not show how much healthy hosts differ" in line for line in result.cannot_tell)


def test_a_kind_of_few_drives_is_not_judged() -> None:
    fleet = small()
    fleet.model_of[7] = "rare"
    fleet.slow_down([7], 3)
    result = slow(fleet.observations())
    assert result.findings == ()
    assert any(line.startswith("Model rare has 1 drive.") for line in result.cannot_tell)
    (point,) = [point for point in result.points if point.drive == "d0007"]
    assert (point.latency_ratio, point.q) == (None, 1.0)


def test_a_firmware_of_few_drives_is_compared_with_its_model() -> None:
    fleet = small()
    fleet.firmware_of[7] = "rare"
    fleet.slow_down([7], 1.3)
    result = slow(fleet.observations())
    assert [finding.name for finding in result.findings] == ["d0007"]
    assert any("a slow drive and a slow firmware cannot be told apart" in line for line in result.cannot_tell)


def test_causes_that_always_occur_together_are_named() -> None:
    fleet = small()
    fleet.model_of = [f"m{int(host[1:]) // 5}" for host in fleet.host_of]
    fleet.firmware_of = [f"f{model}" for model in fleet.model_of]
    lines = slow(fleet.observations()).cannot_tell
    assert (
        "Each model has its own firmware, so a slow model and a slow firmware cannot be told apart." in lines
    )
    fleet.model_of = ["lonely" if host == "h002" else "m" for host in fleet.host_of]
    lines = slow(fleet.observations()).cannot_tell
    assert "Model lonely is only in host h002, so the two cannot be told apart." in lines


def test_a_drive_that_lacks_positions_is_judged_by_the_others() -> None:
    fleet = small()
    fleet.slow_down([42, 43], 1.2)
    observations = fleet.observations()
    kept = [
        row
        for row, (drive, position) in enumerate(zip(observations.drive, observations.position, strict=True))
        if drive not in ("d0043", "d0044") or position == "reads"
    ]
    columns = {
        name: [getattr(observations, name)[row] for row in kept]
        for name in ("drive", "host", "model", "firmware", "slot", "position")
    }
    arrays = {name: getattr(observations, name)[kept] for name in ("batch", "iops", "mean_ns", "tail_ns")}
    result = slow(replace(observations, **columns, **arrays))
    assert {finding.name for finding in result.findings} == {"d0042", "d0043"}


def test_no_drives_have_no_findings() -> None:
    fleet = MadeUpFleet(hosts=1, per_host=2, seed=6)
    result = slow(fleet.observations())
    assert result.findings == ()
    assert len(result.points) == 2
    assert result.detectable is None


def test_wrong_columns_and_rates_are_refused() -> None:
    observations = small().observations()
    with pytest.raises(ValueError, match="not between 0 and 1"):
        slow(observations, rate=0)
    with pytest.raises(ValueError, match="differ in length"):
        replace(observations, host=["h"])
    with pytest.raises(ValueError, match="not positive"):
        replace(observations, mean_ns=0 * observations.mean_ns)
    with pytest.raises(ValueError, match="two hosts"):
        replace(observations, host=["other", *observations.host[1:]])


def test_what_is_detectable_follows_the_spread() -> None:
    narrow = slow(small().observations()).detectable
    wide = slow(MadeUpFleet(hosts=10, per_host=10, seed=1, spread=0.05).observations()).detectable
    assert narrow is not None
    assert wide is not None
    assert 1.03 < narrow < 1.1 < 1.2 < wide
    assert np.isfinite(wide)
