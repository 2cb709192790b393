"""Drives with a slow tail: found by their p99 though their mean is as usual, and no more often wrongly than others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from iogauge.stats.fleet.families import is_in_tail
from iogauge.stats.fleet.findings import Suspect
from iogauge.stats.fleet.slow import slow
from tests.fast.stats.fleet.made_up import MadeUpFleet
from tests.fast.stats.fleet.test_power import shares


def small(seed: int = 1) -> MadeUpFleet:
    return MadeUpFleet(hosts=10, per_host=10, seed=seed)


def test_a_drive_with_a_usual_mean_and_a_slow_tail_is_found() -> None:
    fleet = small()
    fleet.tails[42] += np.log(1.5)
    result = slow(fleet.observations())
    (finding,) = result.findings
    assert (finding.suspect, finding.name, finding.in_tail) == (Suspect.DRIVE, "d0042", True)
    assert not finding.at_times
    assert finding.low < 1.5 < finding.high
    assert finding.why.startswith("slow tail: 1.")
    (point,) = [point for point in result.points if point.suspect]
    assert (point.drive, point.in_tail) == ("d0042", True)
    assert point.latency_ratio == pytest.approx(1, abs=0.03)
    assert point.tail_ratio == pytest.approx(1.5, rel=0.05)


def test_a_drive_that_is_slow_throughout_is_not_named_for_its_tail() -> None:
    fleet = small()
    fleet.slow_down([42], 1.2)
    (finding,) = slow(fleet.observations()).findings
    assert (finding.name, finding.in_tail) == ("d0042", False)


def test_a_tail_far_slower_than_the_mean_is_named() -> None:
    """One request in fifty that takes ten times as long makes the mean slower, too."""
    fleet = small()
    fleet.slow_down([42], 1.18)
    fleet.tails[42] += np.log(4)
    (finding,) = slow(fleet.observations()).findings
    assert (finding.name, finding.in_tail) == ("d0042", True)
    assert "latency of its peers, and 1.1" in finding.why


def test_a_host_whose_drives_have_slow_tails_is_one_finding() -> None:
    fleet = small()
    fleet.tails[fleet.of_host(3)] += np.log(1.4)
    (finding,) = slow(fleet.observations()).findings
    assert (finding.suspect, finding.name, finding.in_tail) == (Suspect.HOST, "h003", True)
    assert "the p99 latency of its 10 drives" in finding.why


def test_without_requests_enough_for_tails_means_are_judged() -> None:
    fleet = small()
    fleet.slow_down([42], 1.2)
    observations = replace(fleet.observations(), tail_ns=np.full(len(fleet.observations().mean_ns), np.nan))
    result = slow(observations)
    assert [finding.name for finding in result.findings] == ["d0042"]
    assert "No drive has enough requests to judge its p99." in result.cannot_tell
    assert {point.tail_ratio for point in result.points} == {None}


@pytest.mark.filterwarnings("error")
def test_a_model_without_tails_leaves_those_of_others_compared() -> None:
    """A third of the drives is too slow for a p99; of the other two models, one has a slow tail."""
    fleet = small()
    models = ("Disk", "P4800X", "P5800X")
    of_model = {name: list(range(place, 100, 3)) for place, name in enumerate(models)}
    for name, drives in of_model.items():
        for drive in drives:
            fleet.model_of[drive] = name
    fleet.tails[of_model["Disk"]] = np.nan
    fleet.tails[of_model["P5800X"]] += np.log(1.5)
    result = slow(fleet.observations())
    (finding,) = result.findings
    assert (finding.suspect, finding.name, finding.in_tail) == (Suspect.MODEL, "P5800X", True)
    unjudged = [text for text in result.cannot_tell if "p99" in text]
    assert unjudged == ["No drive of model Disk has enough requests to judge its p99."]


def test_a_drive_without_tails_is_judged_by_its_mean_among_others() -> None:
    fleet = small()
    fleet.slow_down([42], 1.2)
    fleet.tails[43] += np.log(1.5)
    fleet.tails[42] = np.nan
    result = slow(fleet.observations())
    assert {(finding.name, finding.in_tail) for finding in result.findings} == {
        ("d0042", False),
        ("d0043", True),
    }


def test_a_wrong_tail_is_refused() -> None:
    observations = small().observations()
    with pytest.raises(ValueError, match="tail_ns of an observation"):
        replace(observations, tail_ns=-observations.tail_ns)


def test_the_tail_is_named_only_where_the_mean_does_not_say_it() -> None:
    intervals = {"mean_high": 1.3, "tail_low": 1.2}
    assert is_in_tail(mean_p=0.5, tail_p=0.001, most_p=0.01, **intervals)
    assert not is_in_tail(mean_p=0.001, tail_p=0.001, most_p=0.01, **intervals)
    assert not is_in_tail(mean_p=0.5, tail_p=0.5, most_p=0.01, **intervals)
    assert is_in_tail(mean_p=0.001, tail_p=0.001, most_p=0.01, mean_high=1.3, tail_low=1.4)


@pytest.mark.slow
def test_slow_tails_are_found_among_a_thousand_drives() -> None:
    """Ten drives have a p99 that is a quarter higher, ten others are slower by a tenth throughout."""
    outcomes = []
    for seed in range(40):
        fleet = MadeUpFleet(hosts=100, per_host=10, seed=seed)
        chosen = np.random.default_rng(2000 + seed).choice(1000, 20, replace=False).tolist()
        fleet.tails[chosen[:10]] += np.log(1.25)
        fleet.slow_down(chosen[10:], 1.1)
        result = slow(fleet.observations())
        power, false = shares(result, {fleet.names[drive] for drive in chosen})
        in_tail = {finding.name for finding in result.findings if finding.in_tail}
        of_tail = len(in_tail & {fleet.names[drive] for drive in chosen[:10]}) / 10
        outcomes.append((power, false, of_tail))
    power, false, of_tail = np.mean(outcomes, axis=0)
    assert power >= 0.95
    assert of_tail >= 0.95
    assert false <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("hosts", "per_host"), [(10, 10), (4, 25)])
def test_tails_that_scatter_as_means_do_not_find_more(hosts: int, per_host: int) -> None:
    """A fleet in which nothing is wrong, and whose tails differ four times as much between drives as usual."""
    findings = 0
    for seed in range(200):
        fleet = MadeUpFleet(hosts=hosts, per_host=per_host, seed=500 + seed)
        own = np.random.default_rng(seed).normal(0, 0.06, hosts * per_host)
        fleet.tails += own[:, None, None]
        findings += bool(slow(fleet.observations()).findings)
    assert findings <= 10
