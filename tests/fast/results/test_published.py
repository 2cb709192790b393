"""Steps match the published figures of their own load, and no others."""

from __future__ import annotations

import pytest

from iogauge.catalog.published import Point, points
from iogauge.results.published import Load, drive_of, load_of, published_drives, published_rows
from iogauge.schema import SuitePlan
from iogauge.suites import SUITES, SuiteRequest
from tests import builders

P4800X = "Intel Optane SSD DC P4800X 375GB"


def planned(suite: str) -> SuitePlan:
    request = SuiteRequest(targets=(builders.target("/dev/nvme0n1", kind="block"),), pace="full")
    return SUITES[suite].plan(request)


def figures(suite: str, step_id: str) -> dict[tuple[str, str], float]:
    """Return the published values of a suite's step by drive and metric."""
    plan = planned(suite)
    (step,) = (step for step in plan.steps if step.id == step_id)
    return {(row.drive, row.metric): row.value for row in published_rows(step, plan)}


def test_published_units_are_converted() -> None:
    optane = figures("spec", "randread-4k")
    assert optane[f"{P4800X} (windows-inbox)", "iops"] == 583_558
    assert optane[f"{P4800X} (windows-inbox)", "p99_ns"] == 81_000
    assert optane[f"{P4800X} (windows-intel)", "iops"] == 584_461
    flash = figures("mixed", "reads-60")
    assert flash["Intel SSD DC P3700 800GB (anandtech-linux)", "rate_Bps"] == 500e6


def test_diskspd_s_sequential_rows_are_random() -> None:
    random, ordered = figures("spec", "write-64k-as-published"), figures("spec", "write-64k")
    assert random[f"{P4800X} (windows-inbox)", "rate_Bps"] == 2.17e9
    assert ordered == {}


def test_a_mix_matches_only_its_own_share_of_reads() -> None:
    assert (f"{P4800X} (anandtech-linux)", "rate_Bps") in figures("mixed", "reads-50")
    assert (f"{P4800X} (anandtech-linux)", "iops") in figures("mixed", "reads-100")
    assert figures("mixed", "reads-80") == {}


@pytest.mark.parametrize(
    ("threads", "depth", "load", "matches"),
    [
        (4, 4, Load(True, 4096, 100, 4, 4), True),
        (4, 4, Load(True, 4096, 100, 1, 16), False),
        (None, 16, Load(True, 4096, 100, 1, 16), True),
        (None, 16, Load(True, 4096, 100, 4, 4), True),
        (1, None, Load(True, 4096, 100, 1, 16), False),
        (4, 4, Load(False, 4096, 100, 4, 4), False),
        (4, 4, Load(True, 8192, 100, 4, 4), False),
        (4, 4, Load(True, 4096, 70, 4, 4), False),
    ],
)
def test_every_part_of_a_load_must_match(
    threads: int | None, depth: int | None, load: Load, *, matches: bool
) -> None:
    point = points()[0].__class__(
        **{**vars(points()[0]), "host": "linux", "threads": threads, "depth": depth}
    )
    assert isinstance(point, Point)
    assert load.matches(point) is matches


@pytest.mark.parametrize("suite", ["write-pressure", "tenants", "burst-credit"])
def test_several_jobs_or_rates_match_nothing(suite: str) -> None:
    plan = planned(suite)
    assert all(published_rows(step, plan) == () for step in plan.steps)


def test_shifted_requests_match_no_published_load() -> None:
    plan = planned("transfer-size")
    aligned = {step.series for step in plan.steps if load_of(step, plan)}
    assert aligned
    assert all(series.endswith("aligned") for series in aligned)


def test_bounds_ratios_and_context_are_not_figures() -> None:
    shown = [point for rows in published_drives().values() for point in rows]
    assert len(shown) > 100
    assert {point.use for point in shown} == {"fit"}
    assert not any("ratio" in point.metric or "saturation" in point.metric for point in shown)
    assert {drive_of(point) for point in shown} == set(published_drives())
