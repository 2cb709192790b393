"""When a figure is met, when a bound holds, and which rows are kept from fits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from iogauge import catalog
from iogauge.calibrate.observe import is_stated
from iogauge.calibrate.published import Stage, stages
from iogauge.calibrate.verdict import Part, verdict
from iogauge.catalog.published import HELD_OUT, Point, held_out, of_drives, points


def row(number: int) -> Point:
    (point,) = (point for point in points() if point.row == number)
    return point


@pytest.mark.parametrize(
    ("modelled", "error", "holds"),
    [(583_558, 0.0, True), (600_000, 0.0282, True), (602_000, 0.0316, False), (566_000, -0.031, False)],
)
def test_a_rate_may_be_three_percent_off(modelled: float, error: float, holds: bool) -> None:
    result = verdict(row(1), modelled, predicted=False)
    assert result.error == pytest.approx(error, abs=1e-3)
    assert result.holds is holds


def test_a_predicted_row_may_be_twice_as_far_off() -> None:
    assert not verdict(row(1), 610_000, predicted=False).holds
    assert verdict(row(1), 610_000, predicted=True).holds


def test_off_either_way_is_the_same() -> None:
    above, below = (verdict(row(1), 583_558 * factor, predicted=False) for factor in (2.0, 0.5))
    assert above.error == -below.error == 1.0
    assert above.residual == -below.residual


@pytest.mark.parametrize(
    ("number", "inside", "kept", "broken"),
    [(5, 11.7, 12.0, 12.01), (118, 1.17, 1.19, 1.2), (114, 40, 32.1, 32), (94, 43, 44.9, 45.1)],
)
def test_a_bound_holds_or_does_not(number: int, inside: float, kept: float, broken: float) -> None:
    for value in (inside, kept):
        assert verdict(row(number), value, predicted=False).holds
    assert not verdict(row(number), broken, predicted=False).holds
    # A fit aims a little inside, and at nothing beyond that.
    weights = [abs(verdict(row(number), value, predicted=False).residual) for value in (inside, kept, broken)]
    assert weights[0] == 0
    assert weights == sorted(weights)
    assert weights[1] < 1


def test_far_higher_is_three_times() -> None:
    assert verdict(row(101), 3.1, predicted=False).holds
    assert not verdict(row(101), 2.9, predicted=False).holds


def test_consistent_is_within_half() -> None:
    assert verdict(row(89), 1.49, predicted=False).holds
    assert not verdict(row(89), 1.51, predicted=False).holds


def test_a_range_is_met_anywhere_in_it() -> None:
    assert verdict(row(107), 6.0, predicted=False).holds
    assert verdict(row(107), 20.0, predicted=False).holds
    assert not verdict(row(107), 21.0, predicted=False).holds


def test_a_sweep_in_steps_of_ten_percent_is_met_within_half_a_step() -> None:
    assert verdict(row(94), 44.9, predicted=False).holds
    assert not verdict(row(94), 45.1, predicted=False).holds


def test_every_fifth_row_to_be_fitted_is_kept() -> None:
    for name in catalog.shipped("drive"):
        rows = of_drives(catalog.drive(name).published_as)
        fitted = [point.row for point in rows if point.use == "fit"]
        kept = held_out(rows)
        assert len(kept) == len(fitted) // HELD_OUT
        assert kept <= set(fitted)


def test_no_fit_sees_what_is_predicted() -> None:
    for stage in stages():
        drive = "p4800x-375g" if stage.what == "machine" else stage.name
        kept = held_out(of_drives(catalog.drive(drive).published_as))
        assert not kept & {point.row for point in stage.rows}


def test_machines_come_before_drives_and_bases_before_what_is_based_on_them() -> None:
    order = [(stage.what, stage.name) for stage in stages()]
    assert [what for what, _ in order] == sorted((what for what, _ in order), reverse=True)
    names = [name for _, name in order]
    for stage in stages():
        base = stage.file.base
        assert base is None or base not in names or names.index(base) < names.index(stage.name)


def test_a_rung_differs_from_its_base_only_in_what_its_setting_touches() -> None:
    touched = {
        "linux-governor": {"sync", "queued", "noise"},
        "linux-irqbalance-off": {"noise"},
        "linux-smp-affinity": {"noise"},
        "linux-turbo-off-2.3ghz": {"sync", "queued", "noise"},
        "linux-turbo-off-3ghz": {"sync", "queued", "noise"},
    }
    for name, places in touched.items():
        assert {
            place.partition(".")[0] for place, _ in Stage(what="machine", name=name).file.entries()
        } == places


@pytest.mark.parametrize(("text", "value"), [("7-30", 18.5), ("28", 28.0)])
def test_a_range_of_values_is_read(text: str, value: float) -> None:
    rows = [point for point in points() if point.value == value and point.metric.startswith("power")]
    assert rows
    assert (rows[0].span is not None) is ("-" in text)


def test_a_point_is_what_its_row_says() -> None:
    point = row(8)
    assert (point.host, point.threads, point.depth, point.metric) == ("windows-inbox", 1, 1, "lat_p99.999")
    assert replace(point, row=0).label == "rand 4 KiB read 1x1 lat_p99.999"


def test_what_a_parameter_says_outright_is_no_merit_of_a_fit() -> None:
    flash, optane = catalog.drive("p3700-800g"), catalog.drive("optane-memory-32g")
    watts = next(point for point in points() if point.metric == "power_active")
    rate = row(1)
    # The P3700's watts are its data sheet's; those of Optane Memory are fitted.
    assert is_stated(watts, flash)
    assert not is_stated(watts, optane)
    assert not is_stated(rate, flash)
    parts = [verdict(watts, 20.0, predicted=True, stated=known).part for known in (True, False)]
    assert parts == [Part.STATED, Part.PREDICTED]
