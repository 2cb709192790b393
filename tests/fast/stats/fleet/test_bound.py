"""Drives that are slow at times: events beyond the bound of latency against throughput, and how many are chance."""

from __future__ import annotations

import numpy as np
import pytest

from iogauge.stats.fleet.bound import slow_times
from iogauge.stats.fleet.peers import peers
from iogauge.stats.fleet.slow import slow
from tests.fast.stats.fleet.made_up import MadeUpFleet


def fleet(seed: int = 2) -> MadeUpFleet:
    return MadeUpFleet(hosts=10, per_host=10, seed=seed, batches=20)


def test_a_drive_that_is_slow_at_times_is_found() -> None:
    sometimes = fleet()
    sometimes.logs[42, :, 5:8] += np.log(1.5)
    result = slow(sometimes.observations())
    (finding,) = result.findings
    assert (finding.name, finding.at_times) == ("d0042", True)
    assert finding.low < 1.5 < finding.high
    assert "of its time, in 3 events" in finding.why
    (point,) = [point for point in result.points if point.drive == "d0042"]
    assert point.slow_share == pytest.approx(3 / 20)


def test_a_drive_that_is_slow_half_of_the_time_is_found() -> None:
    often = fleet()
    often.logs[42, :, ::4] += np.log(1.5)
    often.logs[42, :, 1::4] += np.log(1.5)
    assert [finding.name for finding in slow(often.observations()).findings] == ["d0042"]


def test_one_slow_batch_is_no_event() -> None:
    once = fleet()
    once.logs[42, :, 5] += np.log(3)
    observations = once.observations()
    times = slow_times(observations, peers(observations))
    assert times.events[42] == 0
    assert slow(observations).findings == ()


def test_lower_throughput_does_not_excuse_latency() -> None:
    """With a fixed depth, latency times throughput is constant: all slow batches lie on the curve of the healthy."""
    sometimes = fleet()
    sometimes.logs[42, :, 5:8] += np.log(1.5)
    observations = sometimes.observations()
    product = observations.iops * observations.mean_ns
    assert product.min() == pytest.approx(product.max())
    assert slow_times(observations, peers(observations)).events[42] == 3


def test_higher_throughput_does() -> None:
    """Batches in which more is requested may take longer, if all drives take longer."""
    bursts = fleet()
    load = np.random.default_rng(2).random(bursts.logs.shape)
    load[:, :, ::4] += 1
    bursts.logs += 0.3 * load**2
    observations = bursts.observations()
    observations.iops[:] = np.exp(load.ravel()) * 1000
    times = slow_times(observations, peers(observations))
    assert np.mean(times.events > 0) < 0.05


def test_what_all_drives_of_a_host_do_at_once_is_no_drives_event() -> None:
    together = fleet()
    together.logs[20:30, :, 5:9] += np.log(2)
    observations = together.observations()
    assert slow_times(observations, peers(observations)).events[20:30].sum() == 0


def test_events_that_all_drives_have_are_no_finding() -> None:
    busy = fleet()
    random = np.random.default_rng(3)
    for drive in range(100):
        for _ in range(random.poisson(2)):
            begin = random.integers(0, 17)
            busy.logs[drive, random.integers(0, 3), begin : begin + 3] += np.log(1.3)
    assert not any(finding.at_times for finding in slow(busy.observations()).findings)
