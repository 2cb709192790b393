"""The descent against functions whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest

from iogauge.calibrate.fit import Vector
from iogauge.calibrate.numbers import Free
from iogauge.calibrate.twins.descent import Descended, Level, Run, Values, descend
from iogauge.errors import IogaugeError

NUMBERS = [Free(place=name, start=10.0, low=1.0, high=100.0) for name in ("rate", "wait", "size")]


def log_residuals(values: Values, figures: list[float], wanted: list[float]) -> Vector:
    return np.log(np.array(figures) / np.array(wanted)) / 0.03


def reads(values: Values) -> Vector:
    """Depend on two numbers, not linearly, as a queue does."""
    return log_residuals(
        values,
        [values["wait"] + 100 / values["rate"], values["rate"], values["wait"] + depth_of(values)],
        [25.0 + 100 / 40, 40.0, 25.0 + 0.2],
    )


def depth_of(values: Values) -> float:
    return 8 / values["rate"]


def writes(values: Values) -> Vector:
    return log_residuals(values, [values["size"] * values["rate"]], [30.0 * 40.0])


def fitted(*runs: Run, pull: float = 0.0) -> Descended:
    return descend(NUMBERS, [Level(runs=runs, difference=0.05, jacobians=2, steps=20)], pull=pull, threads=1)


def values_of(descended: Descended) -> dict[str, float]:
    return {
        number.place: number.value(float(share)) for number, share in zip(NUMBERS, descended.z, strict=True)
    }


def test_finds_numbers_that_are_some_factors_away() -> None:
    values = values_of(fitted(Run(kind="read", residuals=reads), Run(kind="write", residuals=writes)))
    assert values == pytest.approx({"rate": 40.0, "wait": 25.0, "size": 30.0}, rel=0.01)


def test_a_number_that_moves_no_run_of_a_kind_is_not_tried_there_again() -> None:
    tried: list[dict[str, float]] = []

    def counted(values: Values) -> Vector:
        tried.append(dict(values))
        return reads(values)

    level = Level(
        runs=[Run(kind="read", residuals=counted), Run(kind="write", residuals=writes)],
        difference=0.05,
        jacobians=1,
        steps=0,
    )
    descend(NUMBERS, [level, level], threads=1)
    assert sum(abs(values["size"] - 10) > 0.1 for values in tried) == 1
    assert sum(abs(values["rate"] - 10) > 0.1 for values in tried) == 2


def test_what_the_core_refuses_is_no_place_to_go() -> None:
    def refusing(values: Values) -> Vector:
        if values["rate"] > 20:
            raise IogaugeError("rate is above 20")
        return reads(values)

    descended = fitted(Run(kind="read", residuals=refusing))
    assert 10 <= values_of(descended)["rate"] <= 20


def test_a_start_that_the_core_refuses_is_an_error() -> None:
    def refused(_values: Values) -> Vector:
        raise IogaugeError("no")

    with pytest.raises(IogaugeError, match="no"):
        fitted(Run(kind="read", residuals=refused))


def test_numbers_that_move_nothing_stay_where_they_start() -> None:
    values = values_of(fitted(Run(kind="read", residuals=reads), pull=1.0))
    assert values["size"] == pytest.approx(10.0)


def test_later_levels_begin_where_earlier_ones_end() -> None:
    seen: list[float] = []

    def later(values: Values) -> Vector:
        seen.append(values["rate"])
        return reads(values)

    levels = [
        Level(runs=[Run(kind="read", residuals=residuals)], difference=0.05, jacobians=2, steps=20)
        for residuals in (reads, later)
    ]
    descended = descend(NUMBERS, levels, threads=2)
    assert seen[0] == pytest.approx(40, rel=0.01)
    assert len(descended.derivatives) == 2
    assert descended.derivatives[1].shape == (3, 3)
