"""Courses of a rate: one level, several, or a drift are told apart, and stationary series are left alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.cases.steadiness import SHAPES, Departures, departures
from bench.streams import noisy
from iogauge.stats.course import Drift, course


def test_several_changes_are_found_in_order() -> None:
    assert course(noisy((60, 1e5), (80, 7e4), (100, 9e4), spread=0.01)).level_starts_s == (60, 140)


def test_what_matters_to_nobody_is_no_change() -> None:
    assert course(noisy((100, 1e5), (100, 0.97e5), spread=0.001)).level_starts_s == ()
    assert course(noisy((100, 1e5), (100, 0.93e5), spread=0.001)).level_starts_s == (100,)


@pytest.mark.parametrize(
    ("correlation", "seconds", "trials"), [(0.0, 60, 60), (0.9, 60, 100), (0.9, 600, 20)]
)
def test_stationary_series_are_hardly_ever_warned_of(correlation: float, seconds: int, trials: int) -> None:
    result = departures("flat", noise=0.2, correlation=correlation, seconds=seconds, trials=trials)
    assert result.warned <= 0.05


@pytest.mark.parametrize(("noise", "correlation"), [(0.03, 0.0), (0.05, 0.5)])
@pytest.mark.parametrize("shape", ["30 % down, linear", "down to half, exponential"])
def test_drifts_are_told_as_drifts(shape: str, noise: float, correlation: float) -> None:
    result = departures(shape, noise=noise, correlation=correlation, seconds=60, trials=50)
    assert result.drifts >= 0.9
    assert result.jumps <= 0.05


@pytest.mark.parametrize(("noise", "correlation"), [(0.02, 0.0), (0.03, 0.0), (0.05, 0.5)])
def test_a_small_drift_is_not_told_as_a_jump(noise: float, correlation: float) -> None:
    assert (
        departures("8 % down, linear", noise=noise, correlation=correlation, seconds=60, trials=50).jumps
        <= 0.05
    )


def test_jumps_are_told_as_jumps() -> None:
    result = departures("20 % down at once", noise=0.03, correlation=0.5, seconds=60, trials=50)
    assert result.jumps >= 0.9
    assert result.drifts <= 0.05


def test_every_shape_begins_at_the_rate() -> None:
    assert {shape(np.array([0.0]))[0] for shape in SHAPES.values()} == {1.0}
    assert Departures(0.25, 0.5).warned == 0.75


def test_the_size_and_the_time_of_a_drift_are_told() -> None:
    result = course(noisy((300, 1e5)) * np.linspace(1.0, 0.8, 300)).drift
    assert result is not None
    assert result.present
    assert result.change == pytest.approx(-0.2, abs=0.03)
    small = course(noisy((300, 1e5), spread=0.001) * np.linspace(1.0, 0.95, 300)).drift
    assert small is not None
    assert small.change == pytest.approx(-0.05, abs=0.01)
    assert not small.present
    late = course(noisy((120, 1e5), spread=0.01) * np.interp(np.arange(120), [80, 120], [1.0, 0.7])).drift
    assert late is not None
    assert late.change == pytest.approx(-0.3, abs=0.05)
    assert abs(late.start_s - 80) <= 10
    assert late.end_s == 120


def test_a_drift_that_follows_on_a_jump_is_told_beside_it() -> None:
    shape = np.concatenate([np.ones(40), np.linspace(0.6, 0.45, 80)])
    result = course(noisy((120, 1e5), spread=0.01) * shape)
    assert result.level_starts_s == (40,)
    assert result.drift is not None
    assert (result.drift.start_s, result.drift.end_s) == (40, 120)
    assert result.drift.change == pytest.approx(-0.25, abs=0.04)


def _settling(seconds: int) -> NDArray[np.float64]:
    return 0.6 + 0.4 * np.exp(-10 * np.arange(seconds) / seconds)


def test_a_rate_that_settles_drifts_and_does_not_jump() -> None:
    result = course(noisy((600, 1e5), spread=0.01, correlation=0.0) * _settling(600))
    assert result.level_starts_s == ()
    assert result.drift is not None
    assert result.drift.change == pytest.approx(-0.4, abs=0.03)


def test_a_rate_that_rises_drifts_upwards() -> None:
    drift = course(np.geomspace(50.0, 100.0, 60)).drift
    assert drift is not None
    assert (drift.change, drift.start_s, drift.end_s) == (pytest.approx(1.0), 0, 60)


def test_a_rate_that_falls_to_next_to_nothing_is_told() -> None:
    drift = course(np.geomspace(1e6, 0.5, 60)).drift
    assert drift is not None
    assert drift.present
    assert drift.log_change == pytest.approx(np.log(0.5e-6), rel=0.01)
    assert not Drift(np.log(1.05), 0, 60).present
