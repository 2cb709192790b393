"""What made these drives famous, shown by their models; and every published row within its limit, or said to miss it.

Source: ``published_points.csv``, whose rows name theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from iogauge.calibrate.assess import comparable, shipped, verdicts
from iogauge.calibrate.misses import REASONS
from iogauge.calibrate.trial import Trial
from iogauge.calibrate.verdict import Verdict
from iogauge.catalog.published import points
from iogauge.execution.interrupts import Interrupts

FAMOUS = {
    "reads over 40 times faster than flash at 700 MB/s of writes": [88],
    "the same reads, flat from 100 to 700 MB/s": [89],
    "flash slower with every 100 MB/s": [90],
    "the bathtub: 83 % of the peak at 40/60, the peak at reads only": [92, 93, 94],
    "its p99 flat once there are writes": [100],
    "flash's p99 far higher between the ends": [101, 102],
    "a reader under writers that saturate: tenfold on flash": [107, 108],
    "writers saturate near 2 GB/s": [105],
    "the knee of the read sweep: four to six for Optane, beyond 32 for flash": [113, 114, 115, 116],
    "one thread's ceiling of 1.2 GB/s": [109, 110, 111, 112],
    "two drives, a million reads a second": [86],
    "specified latencies": [172, 173, 174, 175, 176, 177],
}
"""By rows of the table; what is famous and missed stands in ``REASONS``, and its test below."""


pytestmark = pytest.mark.slow
"""All loads behind all rows run before the first test, once: half a minute on an idle machine."""


@pytest.fixture(scope="module")
def verdicts_by_row() -> Iterator[dict[int, Verdict]]:
    with Interrupts() as interrupts:
        yield {verdict.point.row: verdict for verdict in verdicts(comparable(), shipped(interrupts))}


@pytest.mark.parametrize("what", FAMOUS)
def test_is_what_the_drives_are_famous_for(verdicts_by_row: dict[int, Verdict], what: str) -> None:
    assert [row for row in FAMOUS[what] if not verdicts_by_row[row].holds] == []


@pytest.mark.parametrize("host", ["windows-inbox", "windows-intel"])
def test_the_specification_rows_hold_under_both_drivers(
    verdicts_by_row: dict[int, Verdict], host: str
) -> None:
    rows = [verdict for verdict in verdicts_by_row.values() if verdict.point.host == host]
    assert len(rows) == 12
    assert [
        verdict.point.label for verdict in rows if not verdict.holds and verdict.point.row not in REASONS
    ] == []


def test_the_rungs_of_the_ladder_come_in_their_published_order(verdicts_by_row: dict[int, Verdict]) -> None:
    rungs = [
        verdict
        for verdict in verdicts_by_row.values()
        if verdict.point.host.startswith("linux-")
        and verdict.point.metric == "lat_mean"
        and verdict.point.read_percent
    ]
    assert len(rungs) == 6
    in_print = sorted(rungs, key=lambda verdict: verdict.point.value)
    for faster, slower in pairwise(in_print):
        assert faster.modelled < slower.modelled, slower.point.host
    assert in_print[0].modelled < 0.95 * in_print[-2].modelled < 0.95 * in_print[-1].modelled


def test_a_reader_under_writers_that_saturate_is_over_four_times_slower_on_optane(
    verdicts_by_row: dict[int, Verdict],
) -> None:
    assert verdicts_by_row[106].modelled > 4


def test_flash_saturates_a_thread_six_times_deeper_than_optane(verdicts_by_row: dict[int, Verdict]) -> None:
    optane = verdicts_by_row[113].modelled
    assert all(verdicts_by_row[row].modelled >= 6 * optane for row in (114, 115, 116))


def test_most_rows_need_no_reason(verdicts_by_row: dict[int, Verdict]) -> None:
    missed = [verdict for verdict in verdicts_by_row.values() if not verdict.holds]
    assert len(missed) <= len(verdicts_by_row) // 10


def test_every_row_is_within_its_limit_or_said_to_miss_it(verdicts_by_row: dict[int, Verdict]) -> None:
    missed = {row for row, verdict in verdicts_by_row.items() if not verdict.holds}
    assert missed == set(REASONS) & set(verdicts_by_row)


def test_every_row_that_is_compared_is_shown(verdicts_by_row: dict[int, Verdict]) -> None:
    unshown = {point.row for point in comparable()} - verdicts_by_row.keys()
    assert unshown == {row for row in REASONS if row not in verdicts_by_row}


def test_a_reason_is_given_for_rows_that_there_are() -> None:
    assert set(REASONS) <= {point.row for point in points()}


def test_a_drive_that_is_not_the_published_one_is_noticed() -> None:
    with Interrupts() as interrupts:
        trial = shipped(interrupts)
        slower = dict(trial.drives["p4800x-375g"])
        slower["media"] = slower["media"] | {"read_chunk_ns": 1.1 * slower["media"]["read_chunk_ns"]}
        other = Trial(
            drives={**trial.drives, "p4800x-375g": slower}, machines=trial.machines, interrupts=interrupts
        )
        (row,) = verdicts(points()[:1], other)
    assert not row.holds
