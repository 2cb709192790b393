"""Fits against functions whose answer is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from iogauge import catalog
from iogauge.calibrate.fit import Fitted, Free, fit
from iogauge.calibrate.write import with_fit

SLOPE = Free(place="slope", start=1.0, low=0.1, high=100.0)
OFFSET = Free(place="offset", start=0.0, low=-10.0, high=10.0)
X = np.linspace(1, 5, 12)


def line(values: dict[str, float]) -> np.ndarray:
    return (values["slope"] * X + values["offset"]) - (3.0 * X + 2.0)


def by_place(fitted: Fitted) -> dict[str, tuple[float, tuple[float, float], bool]]:
    return {
        number.free.place: (number.value, number.interval, number.identified) for number in fitted.numbers
    }


def test_finds_a_line() -> None:
    numbers = by_place(fit([SLOPE, OFFSET], line, seed=1, rounds=20))
    assert numbers["slope"][0] == pytest.approx(3.0, rel=0.01)
    assert numbers["offset"][0] == pytest.approx(2.0, abs=0.1)
    assert numbers["slope"][1][0] < 3.0 < numbers["slope"][1][1]
    assert numbers["slope"][2]
    assert numbers["offset"][2]


def test_says_what_moves_nothing() -> None:
    idle = Free(place="idle", start=5.0, low=1.0, high=50.0)
    numbers = by_place(fit([SLOPE, OFFSET, idle], line, seed=1, pull=0.1))
    value, interval, identified = numbers["idle"]
    assert value == pytest.approx(5.0)
    assert not identified
    assert interval[0] < 2.5
    assert interval[1] > 10


def test_two_that_only_their_sum_shows_are_not_told_apart_and_move_together() -> None:
    pair = [Free(place=name, start=10.0, low=1.0, high=100.0) for name in ("first", "second")]

    def residuals(values: dict[str, float]) -> np.ndarray:
        return np.full(8, (values["first"] + values["second"]) / 40 - 1) / 0.01

    numbers = by_place(fit(pair, residuals, seed=1, rounds=20, pull=0.2))
    assert numbers["first"][0] + numbers["second"][0] == pytest.approx(40, rel=0.01)
    assert numbers["first"][0] == pytest.approx(numbers["second"][0], rel=0.05)
    for name in ("first", "second"):
        assert not numbers[name][2]


def test_a_figure_that_jumps_identifies_nothing() -> None:
    free = Free(place="edge", start=10.0, low=1.0, high=100.0)

    def residuals(values: dict[str, float]) -> np.ndarray:
        """A bound that breaks just beyond where the fit begins, by so much that nothing else counts."""
        return np.array([70.0 if values["edge"] > 10.5 else 0.0, 0.1])

    value, interval, identified = by_place(fit([free], residuals, seed=1))["edge"]
    assert value <= 10.5
    assert not identified
    assert interval[1] > 50


def test_where_steps_lead_nowhere_shorter_ones_are_tried() -> None:
    free = Free(place="narrow", start=0.5, low=0.0, high=1.0)

    def residuals(values: dict[str, float]) -> np.ndarray:
        """Less, but only within a third of the first step; beyond that far more."""
        beyond = values["narrow"] - 0.53
        return np.array([2.0 - 20 * (values["narrow"] - 0.5) if beyond <= 0 else 50.0 * (1 + beyond)])

    numbers = fit([free], residuals, seed=1)
    assert numbers.rms < 1.9


def test_what_pulls_back_is_not_taken_for_a_figure() -> None:
    idle = Free(place="idle", start=5.0, low=1.0, high=50.0)
    for pull in (0.0, 0.5, 50.0):
        numbers = by_place(fit([SLOPE, OFFSET, idle], line, seed=1, pull=pull))
        assert not numbers["idle"][2]
        assert numbers["idle"][1] == pytest.approx((1.0, 50.0), rel=0.05)


def test_what_hardly_moves_anything_is_not_identified() -> None:
    faint = Free(place="faint", start=5.0, low=1.0, high=50.0)
    numbers = by_place(
        fit([SLOPE, OFFSET, faint], lambda values: line(values) + 1e-4 * values["faint"], seed=1, pull=0.5)
    )
    assert not numbers["faint"][2]


def test_one_figure_that_cannot_be_met_does_not_spoil_the_rest() -> None:
    def residuals(values: dict[str, float]) -> np.ndarray:
        return np.append(line(values) / 0.1, (values["slope"] - 50.0) / 0.5)

    numbers = by_place(fit([SLOPE, OFFSET], residuals, seed=1, rounds=20))
    assert numbers["slope"][0] == pytest.approx(3.0, rel=0.05)


def test_jumps_do_not_stop_it() -> None:
    def residuals(values: dict[str, float]) -> np.ndarray:
        steps = np.floor(line(values) * 20) / 20
        return steps / 0.05

    numbers = by_place(fit([SLOPE, OFFSET], residuals, seed=1))
    assert numbers["slope"][0] == pytest.approx(3.0, rel=0.05)


def test_the_same_seed_gives_the_same_numbers() -> None:
    first, again = (fit([SLOPE, OFFSET], line, seed=7) for _ in range(2))
    assert first == again


def test_stays_within_ranges() -> None:
    narrow = replace(SLOPE, high=2.0)
    numbers = by_place(fit([narrow, OFFSET], line, seed=1, rounds=20))
    assert numbers["slope"][0] <= 2.0


def test_tells_how_it_goes() -> None:
    trials: list[tuple[int, float]] = []
    fitted = fit([SLOPE, OFFSET], line, seed=1, on_trial=lambda done, rms: trials.append((done, rms)))
    assert [done for done, _ in trials] == sorted(done for done, _ in trials)
    assert trials[-1][1] <= fitted.rms + 1e-12


def test_a_fit_goes_into_its_file_and_changes_nothing_else() -> None:
    drive = catalog.read(catalog.drive("p4800x").path)
    free = [
        Free(place=place, start=entry.start or 0, low=entry.range[0], high=entry.range[1])
        for place, entry in drive.entries()
        if entry.range
    ]
    fitted = fit(free, lambda values: np.array([values[free[0].place] / 1600 - 1]), seed=1)
    after = with_fit(drive, fitted, source="one figure", command="c", seed=1, residuals=["a"])
    before, numbers = dict(drive.entries()), dict(after.entries())
    changed = {place for place in before if before[place] != numbers[place]}
    assert changed <= {number.place for number in free}
    assert numbers[free[0].place].value == pytest.approx(1600, rel=0.01)
    assert numbers[free[0].place].source.startswith("fitted to one figure; ")
    assert after.fit == {"command": "c", "seed": 1, "rms": round(fitted.rms, 3), "residuals": ["a"]}
