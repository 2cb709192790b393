"""What is compared, and what is not: common places, interpolated places, blocks, single runs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.comparison import text
from iogauge.comparison.basis import basis
from iogauge.comparison.findings import findings
from iogauge.comparison.matching import ALL_STEPS
from iogauge.comparison.pairwise import FigurePair, Side, SuiteComparison, compare_sides
from iogauge.comparison.sides import Differences
from iogauge.results.figures import IOPS, MEAN, PositionFigure
from iogauge.results.position import PositionKey
from iogauge.results.reported import summary_rows
from iogauge.schema import Direction
from iogauge.store.reported import SummaryFigure
from iogauge.text import numbers

P99 = "p99_ns"


def row(
    at: float, value: float, *, metric: str = MEAN, repeat: int = 0, series: str = "", pressed: bool = False
) -> PositionFigure:
    """A figure known to within 1 % of itself."""
    return PositionFigure(
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
    ours: Sequence[PositionFigure], theirs: Sequence[PositionFigure], *, reviews: tuple[str, str] = ("a", "b")
) -> SuiteComparison:
    """The one suite that both have."""
    before, after = Side("A", reviews[0], tuple(ours)), Side("B", reviews[1], tuple(theirs))
    (suite,) = compare_sides(before, after, titles={"s": "S"})
    return suite


def at(suite: SuiteComparison, place: float) -> FigurePair:
    (one,) = [pair for pair in suite.figures if pair.position.at == place]
    return one


def test_only_common_places_are_compared_and_the_others_counted() -> None:
    suite = sides([row(1, 100), row(2, 100), row(4, 100)], [row(2, 200), row(4, 150), row(8, 300)])
    assert [(pair.position.at, round(pair.ratio.value, 6)) for pair in suite.figures] == [(2, 2.0), (4, 1.5)]
    assert suite.left_out == 2
    assert "2 steps left out: the other side lacks the step" in "; ".join(basis(suite))


def test_under_pressure_a_latency_is_read_between_two_steps_in_its_logarithm() -> None:
    suite = sides(
        [row(place, 100, pressed=True) for place in (100, 200, 300, 400)],
        [row(100, 100, pressed=True), row(300, 400, pressed=True)],
    )
    between = at(suite, 200)
    assert between.interpolated
    assert between.after == pytest.approx(200)  # halfway in the logarithm
    assert not at(suite, 300).interpolated
    # Nothing is extended beyond B's last step.
    assert {pair.position.at for pair in suite.figures} == {100, 200, 300}
    assert suite.left_out == 1


@given(
    ours=st.dictionaries(st.integers(0, 9), st.integers(1, 1000), min_size=1),
    theirs=st.dictionaries(st.integers(0, 9), st.integers(1, 1000), min_size=1),
    pressed=st.booleans(),
    repeats=st.integers(1, 3),
)
def test_to_swap_the_sides_turns_every_ratio_round(
    ours: dict[int, int], theirs: dict[int, int], pressed: bool, repeats: int
) -> None:
    before, after = (
        Side(
            name,
            name,
            tuple(
                row(place, value * (1 + repeat / 100), repeat=repeat, pressed=pressed)
                for place, value in sorted(values.items())
                for repeat in range(repeats)
            ),
        )
        for name, values in (("A", ours), ("B", theirs))
    )
    forth, back = (
        [(pair.position, pair.interpolated, pair.ratio.value) for suite in suites for pair in suite.figures]
        for suites in (compare_sides(before, after, titles={}), compare_sides(after, before, titles={}))
    )
    assert [entry[:2] for entry in forth] == [entry[:2] for entry in back]
    assert [ratio for *_, ratio in forth] == pytest.approx([1 / ratio for *_, ratio in back])
    assert [position.at for position, *_ in forth] == sorted(position.at for position, *_ in forth)


def test_no_rate_and_no_free_sweep_is_read_between_steps() -> None:
    rates = [row(place, 100, metric=IOPS, pressed=True) for place in (100, 300)]
    suite = sides([*rates, row(200, 100, metric=IOPS, pressed=True)], rates)
    assert {pair.position.at for pair in suite.figures} == {100, 300}
    assert {pair.position.at for pair in sides([row(1, 1), row(2, 1)], [row(1, 1), row(3, 1)]).figures} == {1}


def test_one_run_each_has_its_own_interval_and_the_sentence_says_so() -> None:
    suite = sides([row(1, 100, pressed=True)], [row(1, 3800, pressed=True)])
    (one,) = suite.figures
    assert one.ratio.value == pytest.approx(38)
    assert one.ratio.low is not None
    assert 37 < one.ratio.low < 38
    assert one.comparison is None
    (sentence,) = findings(suite)
    assert re.fullmatch(
        r"reads of A stay 38\.0x \(37\.\d+ to 38\.\d+\) more responsive than those of B, by their mean, "
        r"at a pressure of 1 MB/s \(one run each\)",
        sentence,
    )


def test_a_difference_within_one_run_s_interval_is_none() -> None:
    (sentence,) = findings(sides([row(1, 100, metric=P99)], [row(1, 100.5, metric=P99)]))
    assert sentence == "no difference in p99 exceeds the interval of single runs at the only step"


def repeated(
    places: Sequence[float], factor: float, *, blocks: int, noise: float = 0.02
) -> list[PositionFigure]:
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
    suite = sides(
        repeated((1, 2), 1.0, blocks=8), repeated((1, 2), 1.1, blocks=8, noise=0.01), reviews=("r", "r")
    )
    assert suite.paired
    assert suite.blocks == 8
    for pair in (*suite.figures, *suite.overall):
        assert pair.comparison is not None
        assert pair.clear
        assert pair.ratio.value == pytest.approx(1.1, rel=0.03)
    (overall,) = suite.overall
    assert overall.position.label == ALL_STEPS
    assert "8 repeats of one review" in "; ".join(basis(suite))
    (sentence,) = findings(suite)
    assert re.search(r" over all steps, and 1\.\d+x .* at a pressure of ", sentence)
    assert sentence.endswith(
        " (8 blocks, p = 0.0078 after correction for 3 comparisons); 1.1x at all 2 steps"
    )


def test_six_blocks_are_enough_however_many_steps_there_are() -> None:
    places = range(1, 12)
    suite = sides(repeated(places, 1.0, blocks=6), repeated(places, 3.0, blocks=6, noise=0.01))
    assert all(pair.clear for pair in (*suite.figures, *suite.overall))
    assert "paired by number" in "; ".join(basis(suite))
    assert "not tested" not in "; ".join(basis(suite))


def test_too_few_blocks_say_what_was_seen_and_that_nothing_is_tested() -> None:
    suite = sides(repeated((1, 2), 1.0, blocks=5), repeated((1, 2), 3.0, blocks=5, noise=0.01))
    assert not any(pair.clear for pair in (*suite.figures, *suite.overall))
    (sentence,) = findings(suite)
    assert re.match(r"B reaches [\d.]+x \([\d.]+ to [\d.]+\) the IOPS of A over all steps, and ", sentence)
    assert sentence.endswith(" (5 blocks, too few to test); 3.0x at all 2 steps")
    few = "differences are not tested: a test needs at least 6 blocks"
    assert few in "; ".join(basis(suite))
    assert text.text(Differences((suite,))).count(few) == 1
    same = sides(repeated((1, 2), 1.0, blocks=4), repeated((1, 2), 1.0, blocks=4, noise=0.01))
    assert findings(same) == ("no difference in IOPS is seen (4 blocks, too few to test) at any of 2 steps",)


def test_two_repeats_show_an_interval_that_is_marked_and_decides_nothing() -> None:
    suite = sides(repeated((1, 2), 1.0, blocks=2), repeated((1, 2), 3.0, blocks=2, noise=0.01))
    shown = text.text(Differences((suite,)))
    assert all(pair.ratio.low is not None for pair in (*suite.figures, *suite.overall))
    assert re.search(r"  t \d[\d.]* to \d[\d.]*  +not tested", shown)
    assert "note: t: fewer than six blocks" in shown
    six = text.text(Differences((sides(repeated((1, 2), 1.0, blocks=6), repeated((1, 2), 3.0, blocks=6)),)))
    assert "note: t:" not in six


def test_more_repeats_on_one_side_are_not_taken_and_that_is_said() -> None:
    suite = sides(repeated((1, 2), 1.0, blocks=8), repeated((1, 2), 2.0, blocks=6))
    assert suite.blocks == 6
    assert "A has 8 repeats of each step and B has 6: only common repeats are compared" in "; ".join(
        basis(suite)
    )
    alone = sides(repeated((1,), 1.0, blocks=1), repeated((1,), 2.0, blocks=6))
    assert alone.blocks == 1
    assert "A has 1 repeat of each step and B has 6" in "; ".join(basis(alone))


def test_what_is_alike_is_said_to_be_alike() -> None:
    suite = sides(repeated((1, 2), 1.0, blocks=8), repeated((1, 2), 1.0, blocks=8, noise=0.01))
    assert findings(suite) == (
        "IOPS does not differ by more than 5 % at any of 2 steps "
        "(8 blocks, p = 0.0039 after correction for 1 such claim)",
    )


def test_a_step_that_one_block_lacks_is_tested_over_its_own_and_left_out_of_the_whole() -> None:
    ours = [
        figure
        for figure in repeated((1, 2, 3), 1.0, blocks=6)
        if (figure.position.at, figure.repeat) != (3, 5)
    ]
    suite = sides(ours, repeated((1, 2, 3), 2.0, blocks=6))
    blocks = {pair.position.at: pair.comparison and pair.comparison.blocks for pair in suite.figures}
    assert blocks == {1: 6, 2: 6, 3: 5}
    (overall,) = suite.overall
    assert overall.averaged == (2, 3)
    assert overall.ratio.value == pytest.approx(2.0, rel=0.05)
    assert "over 2 of 3 steps" in findings(suite)[0]
    shown = text.text(Differences((suite,)))
    assert "not tested (5 blocks)" in text.text(Differences((suite,)), every=True)
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
    theirs = [
        figure for figure in repeated((1, 2), 2.0, blocks=6) if figure.position.at == 1 or figure.repeat == 3
    ]
    suite = sides(ours, theirs)
    assert [pair.position.at for pair in suite.figures] == [1]
    assert suite.left_out == 1
    assert (
        "1 step left out: the other side lacks the step, or has fewer than two of the same repeats"
        in "; ".join(basis(suite))
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
        [replace(figure, metric=P99) for figure in repeated((1, 2, 3), factor, blocks=6, noise=0)]
        for factor in (1.0, 2.0)
    )
    # Far off, and by too few samples.
    theirs = [
        replace(figure, value=100 * figure.value, supported=False) if figure.position.at == 3 else figure
        for figure in theirs
    ]
    (overall,) = sides(ours, theirs).overall
    assert overall.averaged == (2, 3)
    assert overall.supported
    assert overall.ratio.value == pytest.approx(2)


def test_summary_figures_are_compared_without_intervals() -> None:
    reported = SummaryFigure(
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
    rows = summary_rows([reported], drive="d", review="r")
    assert {figure.metric: figure.supported for figure in rows} == {
        "iops": True,
        "rate_Bps": True,
        "p50_ns": True,
        "p99.9_ns": False,
    }
    (suite,) = compare_sides(Side("A", "r", rows), Side("B", "q", rows), titles={})
    assert all(pair.ratio.low is None and pair.ratio.value == 1 for pair in suite.figures)
    assert all("without intervals" in sentence for sentence in findings(suite))


def test_opposite_differences_are_two_sentences() -> None:
    ours = repeated((1, 2, 3, 4), 1.0, blocks=6, noise=0.001)
    theirs = [
        replace(figure, value=figure.value * (0.5 if figure.position.at == 4 else 1.5))
        for figure in repeated((1, 2, 3, 4), 1.0, blocks=6, noise=0.001)
    ]
    overall, step = findings(sides(ours, theirs))
    assert overall.startswith("B reaches 1.14")
    assert "over all steps" in overall
    assert step.startswith("A reaches 2.0")
    assert "at a pressure of 4 MB/s" in step


def test_a_finding_over_an_axis_says_the_range_and_where_the_order_reverses() -> None:
    places = (1, 2, 4, 8, 16, 32, 64)
    factors = (4.1, 4.0, 2.0, 1.2, 1.0, 0.75, 0.71)
    ours = [row(place, 100, metric=IOPS) for place in places]
    theirs = [row(place, 100 * factor, metric=IOPS) for place, factor in zip(places, factors, strict=True)]
    shallow, deep = findings(sides(ours, theirs))
    assert shallow == (
        "B reaches 4.10x (4.04 to 4.16) the IOPS of A at a pressure of 1 MB/s (one run each); "
        "1.2x to 4.1x at 4 of 7 steps, up to 8 MB/s; the order reverses at 2 of 7 steps, from 32 MB/s on"
    )
    assert deep.startswith("A reaches 1.408x (1.389 to 1.429) the IOPS of B at a pressure of 64 MB/s")
    assert deep.endswith(
        "; 1.3x to 1.4x at 2 of 7 steps, from 32 MB/s on; the order reverses at 4 of 7 steps, up to 8 MB/s"
    )


@pytest.mark.parametrize(
    ("axis", "unit", "text"),
    [
        ("queue depth", "", "at a queue depth of 4"),
        ("transfer size", "KiB", "at a transfer size of 4 KiB"),
        ("other tenants", "others", "at 4 others"),
    ],
)
def test_a_step_is_named_by_its_axis_or_by_what_it_counts(axis: str, unit: str, text: str) -> None:
    figures = [row(4, value) for value in (100, 200)]
    ours, theirs = (
        replace(figure, position=replace(figure.position, axis=axis, unit=unit)) for figure in figures
    )
    (sentence,) = findings(sides([ours], [theirs]))
    assert f" that of A {text} (one run each)" in sentence


def test_pressures_that_were_not_achieved_alike_are_said() -> None:
    ours = [replace(row(600, 100, pressed=True), pressure_Bps=600e6)]
    theirs = [replace(row(600, 300, pressed=True), pressure_Bps=457e6)]
    (sentence,) = findings(sides(ours, theirs))
    assert "at a pressure of 600 MB/s (requested; A achieved 600.0 MB/s, B 457.0 MB/s)" in sentence
    theirs = [replace(row(600, 300, pressed=True), pressure_Bps=598e6)]
    (sentence,) = findings(sides(ours, theirs))
    assert "achieved" not in sentence


def test_a_mean_over_steps_of_unlike_pressures_says_so() -> None:
    def pressed(rows: list[PositionFigure], reached: float) -> list[PositionFigure]:
        return [
            replace(figure, metric=MEAN, pressed=True, pressure_Bps=figure.position.at * reached)
            for figure in rows
        ]

    suite = sides(
        pressed(repeated((1, 2), 1.0, blocks=6, noise=0.001), 1.0),
        pressed(repeated((1, 2), 2.0, blocks=6, noise=0.001), 0.7),
    )
    (sentence,) = findings(suite)
    assert "over all steps (the two sides achieved different rates at 2 of them)" in sentence


def test_an_interval_that_is_open_decides_nothing() -> None:
    def open_row(value: float) -> PositionFigure:
        return replace(row(1, value), low=None, high=None, long_enough=False)

    suite = sides([open_row(100)], [open_row(400)])
    assert not at(suite, 1).clear
    assert findings(suite) == (
        "no difference in mean is established: neighbouring seconds correlate too strongly for runs this short",
    )
    shown = text.text(Differences((suite,)))
    assert "?4" in shown
    assert numbers.TOO_SHORT in shown


def test_what_does_not_differ_is_folded_and_shown_where_asked_for() -> None:
    ours = repeated(range(1, 9), 1.0, blocks=7, noise=0.001)
    theirs = [
        replace(figure, value=figure.value * (2 if figure.position.at == 3 else 1))
        for figure in repeated(range(1, 9), 1.0, blocks=7, noise=0.0005)
    ]
    both = [
        [*rows, *(replace(figure, metric=MEAN, value=1 / figure.value) for figure in rows)]
        for rows in (ours, theirs)
    ]
    differences = Differences((sides(*both),))
    short, full = text.text(differences), text.text(differences, every=True)
    rows = [line for line in short.splitlines() if re.match(r"\d MB/s", line)]
    assert [line.split()[:2] for line in rows] == [["3", "MB/s"]]
    assert "15 other figures: 14 undecided, 1 differs (--all shows them)" in short
    assert (
        len([line for line in full.splitlines() if re.search(r" (IOPS|mean) ", line) and " MB/s" in line])
        >= 8
    )
    assert "--all" not in full
    assert short.index("\n- ") < short.index("\nstep ")
    assert "15 other figures" in text.markdown(differences)
