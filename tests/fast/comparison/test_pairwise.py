"""What is compared, and what is not: common places, places between steps, blocks, one run each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest

from iogauge.comparison import text
from iogauge.comparison.findings import findings, grounds
from iogauge.comparison.pairwise import ALL_STEPS, Compared, Side, SuiteCompared, compare_sides
from iogauge.comparison.sides import Differences
from iogauge.results.figure import IOPS, MEAN, Figure
from iogauge.results.position import PositionKey
from iogauge.results.reported import summary_rows
from iogauge.schema import Direction
from iogauge.store.reported import SummaryFigure
from iogauge.text import numbers

P99 = "p99_ns"


def row(
    at: float, value: float, *, metric: str = MEAN, repeat: int = 0, series: str = "", pressed: bool = False
) -> Figure:
    """A figure known to within 1 % of itself."""
    return Figure(
        drive="d",
        position=PositionKey(suite="s", series=series, label="", at=at, axis="pressure", unit="MB/s"),
        repeat=repeat,
        judged="read",
        metric=metric,
        value=value,
        low=value * 0.99,
        high=value * 1.01,
        count=1000,
        source="here",
        pressed=pressed,
    )


def sides(
    ours: Sequence[Figure], theirs: Sequence[Figure], *, reviews: tuple[str, str] = ("a", "b")
) -> SuiteCompared:
    """The one suite that both have."""
    before, after = Side("A", reviews[0], tuple(ours)), Side("B", reviews[1], tuple(theirs))
    (found,) = compare_sides(before, after, titles={"s": "S"})
    return found


def at(found: SuiteCompared, place: float) -> Compared:
    (one,) = [each for each in found.figures if each.position.at == place]
    return one


def test_only_common_places_are_compared_and_the_others_counted() -> None:
    found = sides([row(1, 100), row(2, 100), row(4, 100)], [row(2, 200), row(4, 150), row(8, 300)])
    assert [(each.position.at, round(each.ratio.value, 6)) for each in found.figures] == [(2, 2.0), (4, 1.5)]
    assert found.left_out == 2
    assert "2 steps met nothing" in "; ".join(grounds(found))


def test_under_pressure_a_latency_is_read_between_two_steps_in_its_logarithm() -> None:
    found = sides(
        [row(each, 100, pressed=True) for each in (100, 200, 300, 400)],
        [row(100, 100, pressed=True), row(300, 400, pressed=True)],
    )
    between = at(found, 200)
    assert between.between
    assert between.after == pytest.approx(200)  # halfway in the logarithm
    assert not at(found, 300).between
    # Nothing is extended beyond B's last step.
    assert {each.position.at for each in found.figures} == {100, 200, 300}
    assert found.left_out == 1


def test_no_rate_and_no_free_sweep_is_read_between_steps() -> None:
    rates = [row(each, 100, metric=IOPS, pressed=True) for each in (100, 300)]
    found = sides([*rates, row(200, 100, metric=IOPS, pressed=True)], rates)
    assert {each.position.at for each in found.figures} == {100, 300}
    assert {each.position.at for each in sides([row(1, 1), row(2, 1)], [row(1, 1), row(3, 1)]).figures} == {1}


def test_one_run_each_has_its_own_interval_and_the_sentence_says_so() -> None:
    found = sides([row(1, 100, pressed=True)], [row(1, 3800, pressed=True)])
    (one,) = found.figures
    assert one.ratio.value == pytest.approx(38)
    assert one.ratio.low is not None
    assert 37 < one.ratio.low < 38
    assert one.comparison is None
    (sentence,) = findings(found)
    assert re.fullmatch(
        r"reads of A stay 38\.0x \(37\.\d+ to 38\.\d+\) more responsive than those of B \(mean\) "
        r"at a pressure of 1 MB/s \(of one run each\)",
        sentence,
    )


def test_a_difference_within_one_run_s_interval_is_none() -> None:
    (sentence,) = findings(sides([row(1, 100, metric=P99)], [row(1, 100.5, metric=P99)]))
    assert sentence == "no difference in p99 is clear of one run's own interval at any of 1 step"


def repeated(places: Sequence[float], factor: float, *, blocks: int, noise: float = 0.02) -> list[Figure]:
    """A figure that drifts upwards from block to block, far more than the sides differ, with some noise."""
    return [
        row(
            place,
            factor * 100 * (1 + repeat) * (1 + noise * ((7 * repeat + place) % 3 - 1)),
            repeat=repeat,
            metric=IOPS,
        )
        for place in places
        for repeat in range(blocks)
    ]


def test_blocks_take_out_what_drifts() -> None:
    found = sides(
        repeated((1, 2), 1.0, blocks=8), repeated((1, 2), 1.1, blocks=8, noise=0.01), reviews=("r", "r")
    )
    assert found.paired
    assert found.blocks == 8
    for each in (*found.figures, *found.overall):
        assert each.comparison is not None
        assert each.clear
        assert each.ratio.value == pytest.approx(1.1, rel=0.03)
    (whole,) = found.overall
    assert whole.position.label == ALL_STEPS
    assert "8 blocks of one review" in "; ".join(grounds(found))
    said = findings(found)
    (sentence,) = said
    assert re.search(r" over all steps, and 1\.\d+x .* at a pressure of ", sentence)
    assert sentence.endswith(
        " (8 blocks, p = 0.0078 after correction for 3 comparisons); 1.1x at all 2 steps"
    )


def test_six_blocks_are_enough_however_many_steps_there_are() -> None:
    places = range(1, 12)
    found = sides(repeated(places, 1.0, blocks=6), repeated(places, 3.0, blocks=6, noise=0.01))
    assert all(each.clear for each in (*found.figures, *found.overall))
    assert "paired by their numbers" in "; ".join(grounds(found))
    assert "are the fewest" not in "; ".join(grounds(found))


def test_too_few_blocks_say_what_was_seen_and_that_nothing_is_tested() -> None:
    found = sides(repeated((1, 2), 1.0, blocks=5), repeated((1, 2), 3.0, blocks=5, noise=0.01))
    assert not any(each.clear for each in (*found.figures, *found.overall))
    (sentence,) = findings(found)
    assert re.match(r"B reaches [\d.]+x \([\d.]+ to [\d.]+\) the IOPS of A over all steps, and ", sentence)
    assert sentence.endswith(" (5 blocks, too few to test); 3.0x at all 2 steps")
    few = "no difference is tested for: 6 blocks are the fewest that can find one"
    assert few in "; ".join(grounds(found))
    assert text.text(Differences((found,))).count(few) == 1
    same = sides(repeated((1, 2), 1.0, blocks=4), repeated((1, 2), 1.0, blocks=4, noise=0.01))
    assert findings(same) == ("no difference in IOPS is seen (4 blocks, too few to test) at any of 2 steps",)


def test_two_repeats_show_an_interval_that_is_marked_and_decides_nothing() -> None:
    found = sides(repeated((1, 2), 1.0, blocks=2), repeated((1, 2), 3.0, blocks=2, noise=0.01))
    shown = text.text(Differences((found,)))
    assert all(each.ratio.low is not None for each in (*found.figures, *found.overall))
    assert re.search(r"  t \d[\d.]* to \d[\d.]*  +not tested", shown)
    assert "note: t: fewer than six blocks" in shown
    six = text.text(Differences((sides(repeated((1, 2), 1.0, blocks=6), repeated((1, 2), 3.0, blocks=6)),)))
    assert "note: t:" not in six


def test_more_repeats_on_one_side_are_not_taken_and_that_is_said() -> None:
    found = sides(repeated((1, 2), 1.0, blocks=8), repeated((1, 2), 2.0, blocks=6))
    assert found.blocks == 6
    assert "A has 8 of each step and B 6, and those of both are taken" in "; ".join(grounds(found))
    alone = sides(repeated((1,), 1.0, blocks=1), repeated((1,), 2.0, blocks=6))
    assert alone.blocks == 1
    assert "A has 1 of each step and B 6" in "; ".join(grounds(alone))


def test_what_is_alike_is_said_to_be_alike() -> None:
    found = sides(repeated((1, 2), 1.0, blocks=8), repeated((1, 2), 1.0, blocks=8, noise=0.01))
    assert findings(found) == (
        "IOPS does not differ by more than 5 % at any of 2 steps "
        "(8 blocks, p = 0.0039 after correction for 1 such claim)",
    )


def test_a_step_that_one_block_lacks_is_tested_over_its_own_and_left_out_of_the_whole() -> None:
    ours = [each for each in repeated((1, 2, 3), 1.0, blocks=6) if (each.position.at, each.repeat) != (3, 5)]
    found = sides(ours, repeated((1, 2, 3), 2.0, blocks=6))
    blocks = {each.position.at: each.comparison and each.comparison.blocks for each in found.figures}
    assert blocks == {1: 6, 2: 6, 3: 5}
    (whole,) = found.overall
    assert whole.averaged == (2, 3)
    assert whole.ratio.value == pytest.approx(2.0, rel=0.05)
    assert "over 2 of 3 steps" in findings(found)[0]
    shown = text.text(Differences((found,)))
    assert "not tested (5 blocks)" in text.text(Differences((found,)), every=True)
    assert "note: a mean over steps leaves out" in shown
    assert "one run each" not in shown
    assert "apart" not in shown


def test_repeats_meet_by_their_numbers() -> None:
    # A drifts tenfold from block to block: paired by rank after a loss, each ratio would be off by ten.
    ours = [row(1, 10.0**repeat, repeat=repeat) for repeat in range(7) if repeat != 2]
    theirs = [row(1, 2 * 10.0**repeat, repeat=repeat) for repeat in range(7) if repeat != 5]
    (one,) = sides(ours, theirs, reviews=("r", "r")).figures
    assert one.comparison is not None
    assert one.comparison.blocks == 5
    assert (one.ratio.low, one.ratio.high) == (pytest.approx(2), pytest.approx(2))


def test_fewer_than_two_common_repeats_are_left_out_and_counted() -> None:
    ours = repeated((1, 2), 1.0, blocks=6)
    theirs = [each for each in repeated((1, 2), 2.0, blocks=6) if each.position.at == 1 or each.repeat == 3]
    found = sides(ours, theirs)
    assert [each.position.at for each in found.figures] == [1]
    assert found.left_out == 1
    assert "1 step met nothing, or fewer than two of the same repeats, on the other side" in "; ".join(
        grounds(found)
    )


def test_a_repeat_of_zero_is_not_tested_and_has_no_single_run_s_interval() -> None:
    ours, theirs = repeated((1, 2), 1.0, blocks=6), repeated((1, 2), 2.0, blocks=6)
    theirs[0] = replace(theirs[0], value=0.0, low=0.0, high=0.0)
    stalled = at(sides(ours, theirs), 1)
    assert stalled.comparison is None
    assert stalled.ratio.low is None
    assert not stalled.clear


def test_unsupported_quantiles_stay_out_of_the_mean_over_steps() -> None:
    ours, theirs = (
        [replace(each, metric=P99) for each in repeated((1, 2, 3), factor, blocks=6, noise=0)]
        for factor in (1.0, 2.0)
    )
    # Far off, and by too few samples.
    theirs = [
        replace(each, value=100 * each.value, supported=False) if each.position.at == 3 else each
        for each in theirs
    ]
    (whole,) = sides(ours, theirs).overall
    assert whole.averaged == (2, 3)
    assert whole.supported
    assert whole.ratio.value == pytest.approx(2)


def test_what_was_told_is_compared_without_intervals() -> None:
    told = SummaryFigure(
        label="run",
        at=1,
        job="j",
        direction=Direction.READ,
        target="t",
        tool="fio",
        source="f",
        duration_s=1,
        ios=100,
        iops=100,
        rate_Bps=409_600,
        kind=None,
        quantiles_ns={0.5: 10.0, 0.999: 50.0},
    )
    rows = summary_rows([told], drive="d", review="r")
    assert {each.metric: each.supported for each in rows} == {
        "iops": True,
        "rate_Bps": True,
        "p50_ns": True,
        "p99.9_ns": False,
    }
    (found,) = compare_sides(Side("A", "r", rows), Side("B", "q", rows), titles={})
    assert all(each.ratio.low is None and each.ratio.value == 1 for each in found.figures)
    assert all("nothing says how sure" in sentence for sentence in findings(found))


def test_opposite_differences_are_two_sentences() -> None:
    ours = repeated((1, 2, 3, 4), 1.0, blocks=6, noise=0.001)
    theirs = [
        replace(each, value=each.value * (0.5 if each.position.at == 4 else 1.5))
        for each in repeated((1, 2, 3, 4), 1.0, blocks=6, noise=0.001)
    ]
    whole, step = findings(sides(ours, theirs))
    assert whole.startswith("B reaches 1.14")
    assert "over all steps" in whole
    assert step.startswith("A reaches 2.0")
    assert "at a pressure of 4 MB/s" in step


def test_a_finding_over_an_axis_says_the_range_and_where_the_order_turns() -> None:
    places = (1, 2, 4, 8, 16, 32, 64)
    factors = (4.1, 4.0, 2.0, 1.2, 1.0, 0.75, 0.71)
    ours = [row(place, 100, metric=IOPS) for place in places]
    theirs = [row(place, 100 * factor, metric=IOPS) for place, factor in zip(places, factors, strict=True)]
    shallow, deep = findings(sides(ours, theirs))
    assert shallow == (
        "B reaches 4.10x (4.04 to 4.16) the IOPS of A at a pressure of 1 MB/s (of one run each); "
        "1.2x to 4.1x at 4 of 7 steps, up to 8 MB/s; the order turns at 2 of 7 steps, from 32 MB/s on"
    )
    assert deep.startswith("A reaches 1.408x (1.389 to 1.429) the IOPS of B at a pressure of 64 MB/s")
    assert deep.endswith(
        "; 1.3x to 1.4x at 2 of 7 steps, from 32 MB/s on; the order turns at 4 of 7 steps, up to 8 MB/s"
    )


def test_pressures_that_were_not_achieved_alike_are_said() -> None:
    ours = [replace(row(600, 100, pressed=True), pressure_Bps=600e6)]
    theirs = [replace(row(600, 300, pressed=True), pressure_Bps=457e6)]
    (sentence,) = findings(sides(ours, theirs))
    assert "at a pressure of 600 MB/s (requested; 600.0 MB/s of A and 457.0 MB/s of B achieved)" in sentence
    theirs = [replace(row(600, 300, pressed=True), pressure_Bps=598e6)]
    (sentence,) = findings(sides(ours, theirs))
    assert "achieved" not in sentence


def test_a_mean_over_steps_of_unlike_pressures_says_so() -> None:
    def pressed(rows: list[Figure], reached: float) -> list[Figure]:
        return [
            replace(each, metric=MEAN, pressed=True, pressure_Bps=each.position.at * reached) for each in rows
        ]

    found = sides(
        pressed(repeated((1, 2), 1.0, blocks=6, noise=0.001), 1.0),
        pressed(repeated((1, 2), 2.0, blocks=6, noise=0.001), 0.7),
    )
    (sentence,) = findings(found)
    assert "over all steps (the two sides achieved different rates at 2 of them)" in sentence


def test_an_interval_that_is_open_decides_nothing() -> None:
    def open_row(value: float) -> Figure:
        return replace(row(1, value), low=None, high=None, long_enough=False)

    found = sides([open_row(100)], [open_row(400)])
    assert not at(found, 1).clear
    assert findings(found) == (
        "no difference in mean is established: the runs are too short for how much their seconds correlate",
    )
    shown = text.text(Differences((found,)))
    assert "? 4" in shown
    assert numbers.TOO_SHORT in shown


def test_what_does_not_differ_is_folded_and_shown_where_asked_for() -> None:
    ours = repeated(range(1, 9), 1.0, blocks=7, noise=0.001)
    theirs = [
        replace(each, value=each.value * (2 if each.position.at == 3 else 1))
        for each in repeated(range(1, 9), 1.0, blocks=7, noise=0.0005)
    ]
    both = [
        [*rows, *(replace(each, metric=MEAN, value=1 / each.value) for each in rows)]
        for rows in (ours, theirs)
    ]
    found = Differences((sides(*both),))
    short, whole = text.text(found), text.text(found, every=True)
    rows = [line for line in short.splitlines() if re.match(r"\d MB/s", line)]
    assert [line.split()[:2] for line in rows] == [["3", "MB/s"]]
    assert "15 other figures: 14 undecided, 1 differs (--all shows them)" in short
    assert (
        len([line for line in whole.splitlines() if re.search(r" (IOPS|mean) ", line) and " MB/s" in line])
        >= 8
    )
    assert "--all" not in whole
    assert short.index("\n- ") < short.index("\nstep ")
    assert "15 other figures" in text.markdown(found)
