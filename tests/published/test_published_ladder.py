"""The published ladder of tunings comes out of the machine models: its figures, and what each rung is worth.

Source: table 7 of Intel's evaluation guide for the P4800X, in ``published_points.csv``. docs/ladder.md has the table
with every figure, also those that the models miss.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import iogauge
from iogauge.catalog.ladders import AGAIN
from iogauge.results.conclusions import EffectRow
from iogauge.results.position import Position
from iogauge.suites import SUITES
from iogauge.suites.ladder import READS, WRITES

pytestmark = pytest.mark.slow

NEAR = 0.10
"""Means, p99 and rates."""
NEAR_TAIL = 0.20
"""p99.999, of which a run of this test has only some ten requests in its tail."""

MISSED = {
    ("reads", "turbo off 2.3 GHz", "lat_p99.999"),
    ("reads", "turbo off 3 GHz", "lat_p99.999"),
    ("writes", "irqbalance off", "lat_p99.999"),
    ("writes", "stock", "lat_p99.999"),
    ("writes", "turbo off 2.3 GHz", "lat_p99.999"),
    ("writes", "turbo off 3 GHz", "lat_p99.999"),
}
"""Tails that the models miss: those of reads by a fifth, those of writes jump from rung to rung."""

QUANTILES = {"lat_p99": 0.99, "lat_p99.999": 0.99999}


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> iogauge.Review:
    """The published ladder in front of the drive's model: ten seconds on an idle machine."""
    output = tmp_path_factory.mktemp("ladder") / "saved"
    return iogauge.ladder("model:p4800x", runtime="2s", seed=1, output=output)


def value(position: Position, metric: str) -> float:
    """Return a figure as it was published: in microseconds, or requests a second."""
    figures = position.figures
    if metric == "iops":
        return figures.iops
    figure = figures.quantile(QUANTILES[metric]) if metric in QUANTILES else figures.mean
    assert figure is not None
    assert figure.supported
    return figure.value / 1000


def errors(review: iogauge.Review) -> Iterator[tuple[tuple[str, str, str], float]]:
    """Yield each published figure, and the relative difference of the modelled one."""
    for load in (READS, WRITES):
        for position in review.suite("ladder").by_series()[load.series]:
            for point in SUITES["ladder"].published(position.plan) if position.plan.label != AGAIN else ():
                if point.metric not in ("lat_max", "lat_p99.99999"):
                    place = (load.key, position.plan.label, point.metric)
                    yield place, value(position, point.metric) / point.value - 1


def effects(review: iogauge.Review, title: str) -> dict[str, EffectRow]:
    figures = {figure.title: figure.rows for figure in review.suite("ladder").conclusions.effects}
    return {row.name: row for row in figures[title]}


def test_every_figure_but_those_named_is_near_the_published_one(review: iogauge.Review) -> None:
    known = dict(errors(review))
    assert len(known) == 48
    assert set(known) >= MISSED
    far = {
        place: round(error, 3)
        for place, error in known.items()
        if abs(error) > (NEAR_TAIL if place[2] == "lat_p99.999" else NEAR) and place not in MISSED
    }
    assert far == {}


def test_each_rung_moves_the_mean_as_published(review: iogauge.Review) -> None:
    for title in ("mean read latency", "mean write latency"):
        rows = effects(review, title)
        assert len(rows) == 5
        for name, row in rows.items():
            assert row.published is not None
            assert row.value * row.published > 0, f"{name}: {title}"


@pytest.mark.parametrize(
    ("name", "near_us"),
    [("governor performance", 0.05), ("turbo off 2.3 GHz", 0.3), ("turbo off 3 GHz", 0.3)],
)
def test_the_large_effects_on_reads_are_as_large_as_published(
    review: iogauge.Review, name: str, near_us: float
) -> None:
    row = effects(review, "mean read latency")[name]
    assert row.established
    assert row.value == pytest.approx(row.published, abs=near_us)


def test_stock_does_not_differ_from_itself(review: iogauge.Review) -> None:
    findings = review.suite("ladder").conclusions.findings
    assert findings[0].startswith("governor performance is worth -0.2")
    assert findings[-1].startswith("A/A shows no difference")
