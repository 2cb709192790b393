"""A twin fitted to a review that a model with hidden numbers produced predicts loads outside that review.

The hidden numbers are ours.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from iogauge import catalog, workload
from iogauge.calibrate import loads
from iogauge.calibrate.numbers import folder
from iogauge.calibrate.twins.fit import Twin, figures_of, fit_twin
from iogauge.calibrate.write import with_fit
from iogauge.cli import main
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.modelled import simulate
from iogauge.schema import Direction, Kind, RowResult, RunResult
from iogauge.stats.histogram import Histogram
from iogauge.store import Review

HIDDEN = {
    "media.read_chunk_ns": 2140.0,
    "media.read_next_chunk_ns": 1970.0,
    "media.write_chunk_ns": 2440.0,
    "media.write_next_chunk_ns": 2460.0,
    "media.turnaround_ns": 430.0,
    "media.read_media_ns": 4400.0,
    "media.write_media_ns": 3300.0,
    "media.jitter_ns": 300.0,
    "media.write_stalls.0.mean_ns": 58_000.0,
}
"""What the fit does not know: all a quarter or so from the drive with which it begins."""

SUITES = ("write-pressure", "queue-depth", "mixed")
"""The least that shows them all: only several threads of reads reach the limit of the pipe."""

SIZES = (4096, 8192, 16384)


def loads_of(size: int) -> dict[str, str]:
    """Return other mixes, depths and engines than the review has; of 16 KiB it has none."""
    return {
        "reads, 4x4": loads.plain("randread", size, threads=4, depth=4, ios=100_000),
        "reads, one at a time, polled": loads.plain(
            "randread", size, threads=1, depth=1, ios=50_000, polled=True
        ),
        "reads in order, 1x8": loads.plain("read", size, threads=1, depth=8, ios=50_000),
        "writes, 2x2": loads.plain("randwrite", size, threads=2, depth=2, ios=100_000),
        "writes, 1x32": loads.plain("randwrite", size, threads=1, depth=32, ios=50_000),
        "70/30, 2x4": loads.plain("randrw", size, threads=2, depth=4, ios=50_000, read_percent=70),
    }


pytestmark = pytest.mark.slow
"""The review is made and the twin fitted before the first test, once."""

IN_STEP = "write-pressure.pressure-800"
"""There the paced writer has nearly the rate of the reader, so a few ns decide whether they wait for one another."""

STALLED = 1.35
"""How far the share of requests that meet a stall may be off."""

OUTSIDE = {f"{size >> 10} KiB {name}": load for size in SIZES for name, load in loads_of(size).items()}


def hidden_drive() -> catalog.ModelFile:
    drive = catalog.drive("p4800x")
    tree = copy.deepcopy(dict(drive.tree))
    for place, value in HIDDEN.items():
        table, key = folder(tree, place)
        table[key] = catalog.Entry(value=value, kind="assumed", source="hidden")
    return replace(drive, tree=tree)


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twin]:
    place = tmp_path_factory.mktemp("twin")
    (place / "hidden.toml").write_text(catalog.to_toml(hidden_drive()))
    review = place / "review"
    assert (
        main(
            [
                "review",
                f"model:{place}/hidden.toml",
                *(f"--suite={suite}" for suite in SUITES),
                "--seed=3",
                f"--output={review}",
            ]
        )
        == 0
    )
    begin_with, machine = catalog.drive("p4800x"), catalog.machine("anandtech-linux")
    with Interrupts() as interrupts:
        yield fit_twin(Review.open(review), begin_with, machine, interrupts=interrupts)


def test_it_shows_what_the_review_shows(twin: Twin) -> None:
    for figure in twin.figures:
        if figure.what in ("iops", "mean", "p50"):
            assert figure.error is not None, figure
            assert abs(figure.error) < (0.10 if figure.step == IN_STEP else 0.03), figure


@pytest.mark.parametrize("load", OUTSIDE)
def test_it_predicts_loads_outside_the_review(twin: Twin, load: str) -> None:
    fitted = with_fit(twin.model, twin.fitted, source="", command="", seed=0, residuals=()).parameters
    (theirs,), (ours,) = (seen(load, parameters).rows for parameters in (hidden_drive().parameters, fitted))
    known, predicted = _figures(theirs), _figures(ours)
    for what, value in known.items():
        low, high = _band(theirs, what, value)
        assert 0.9 * low <= predicted[what] <= 1.1 * high, what
    assert sum(predicted[what] for what in known if "iops" in what) == pytest.approx(
        sum(known[what] for what in known if "iops" in what), rel=0.05
    )


def test_the_drive_that_it_begins_with_would_not(twin: Twin) -> None:
    theirs, ours = (
        _figures(*seen("8 KiB reads, 4x4", parameters).rows)
        for parameters in (hidden_drive().parameters, catalog.drive("p4800x").parameters)
    )
    assert ours["read iops"] > 1.15 * theirs["read iops"]


def seen(load: str, parameters: dict[str, Any]) -> RunResult:
    jobs = workload.parse(OUTSIDE[load].replace("{drive}", "model:x"), source=load)
    with Interrupts() as interrupts:
        return simulate(
            jobs,
            {"model:x": parameters},
            catalog.machine("anandtech-linux").parameters,
            seed=11,
            interrupts=interrupts,
        )


def _figures(row: RowResult) -> dict[str, float]:
    return {f"{direction} {what}": value for direction, what, value in figures_of(row)}


def _band(row: RowResult, what: str, value: float) -> tuple[float, float]:
    """Return a figure's least and greatest value.

    About one request in a hundred meets a stall, so p99 and beyond jump where a third more or fewer do. A rate and a
    mean do not, and are their own band.
    """
    direction, name = what.split()
    if not name.startswith("p99"):
        return value, value
    tally = row.tallies[Direction(direction)]
    histogram = Histogram.decode(tally.histograms[Kind.LAT], tally.exact.get(Kind.LAT))
    beyond = 1 - float(name[1:]) / 100
    low, high = (float(histogram.quantile(1 - share)) for share in (beyond * STALLED, beyond / STALLED))
    return low, high
