"""Families of comparisons: their level, what they find, and Holm's correction as statsmodels has it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from statsmodels.stats.multitest import multipletests

from iogauge.stats.differences.comparison import (
    ALPHA,
    EXACT_BLOCKS,
    FEWEST_BLOCKS,
    Verdict,
    compare,
    sign_flip_p,
)
from iogauge.stats.differences.family import Blocks, compare_family, holm, step_down


def sides(logs: NDArray[np.float64]) -> tuple[Blocks, Blocks]:
    """Two sides whose log ratios are these, block by block."""
    return dict.fromkeys(range(len(logs)), 1.0), dict(enumerate(np.exp(logs).tolist()))


def together(random: np.random.Generator, *, figures: int, blocks: int) -> NDArray[np.float64]:
    """Log ratios in which nothing differs: figures of one block go together, as those of one run do."""
    return 0.03 * (random.standard_normal((figures, blocks)) + 2 * random.standard_normal(blocks))


@pytest.mark.parametrize("count", [1, 2, 3, 5, 12])
def test_holm_is_statsmodels(count: int) -> None:
    for scale in (0.01, 0.2, 1.0):
        p_values = (scale * np.random.default_rng(count).random(count)).tolist()
        assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])
    assert holm([0.02] * count) == pytest.approx([min(0.02 * count, 1)] * count)


def test_no_comparison_has_no_correction() -> None:
    assert holm([]) == []
    assert compare_family({}) == {}


def test_a_family_of_one_is_not_corrected() -> None:
    for seed in range(20):
        logs = np.random.default_rng(seed).normal(0.02, 0.03, 7)
        (result,) = compare_family({"only": sides(logs)}).values()
        assert result.p_corrected == result.p == sign_flip_p(logs)
        assert result.p_alike_corrected == result.p_alike


def test_the_correction_is_the_one_of_all_flips() -> None:
    """By brute force, as the definition has it: one comparison after another leaves, the clearest first."""
    logs = np.random.default_rng(8).normal(0.02, 0.04, (4, 7))

    def clear(signs: tuple[int, ...]) -> list[float]:
        return [float(stats.ttest_1samp(row * signs, 0).pvalue) for row in logs]

    observed = clear((1,) * 7)
    ways = [clear(signs) for signs in itertools.product((1, -1), repeat=7)]
    expected, least = [0.0] * 4, 0.0
    left = sorted(range(4), key=observed.__getitem__)
    while left:
        clearest = left[0]
        share = np.mean(
            [min(way[index] for index in left) <= observed[clearest] * (1 + 1e-9) for way in ways]
        )
        least = max(least, float(share))
        expected[left.pop(0)] = least
    assert step_down(logs) == pytest.approx(expected)


def test_six_blocks_find_a_great_difference_among_a_hundred_and_forty_and_holm_would_not() -> None:
    logs = together(np.random.default_rng(9), figures=140, blocks=6)
    logs[17] = math.log(3.0) + 0.01 * np.arange(6)
    result = compare_family({f"{place}": sides(row) for place, row in enumerate(logs)})
    assert [name for name, comparison in result.items() if comparison.verdict == Verdict.DIFFERS] == ["17"]
    assert holm([comparison.p for comparison in result.values()])[17] > ALPHA


@pytest.mark.parametrize(("differ", "blocks"), [(0, 6), (0, 9), (10, 7)])
def test_any_false_finding_of_a_family_is_as_rare_as_its_level(differ: int, blocks: int) -> None:
    """Of 30 figures, some differ by 40 %; a false finding is one of any other. 600 families know 5 % to 0.9 %."""
    random = np.random.default_rng(10)
    false = detected = 0
    for _ in range(600):
        logs = together(random, figures=30, blocks=blocks)
        logs[:differ] += math.log(1.4)
        corrected = np.array(step_down(logs))
        false += bool(np.any(corrected[differ:] <= ALPHA))
        detected += int(np.sum(corrected[:differ] <= ALPHA))
    assert false / 600 <= 0.05 + 3 * 0.009
    if differ:
        assert detected / (600 * differ) > 0.5


def test_without_the_correction_false_findings_would_be_many() -> None:
    random = np.random.default_rng(11)
    logs = [random.standard_normal((30, 8)) for _ in range(100)]
    alone = np.mean([min(sign_flip_p(row) for row in family) <= ALPHA for family in logs])
    family = np.mean([min(step_down(rows)) <= ALPHA for rows in logs])
    assert alone > 0.5
    assert family <= 0.12


def test_one_claim_too_many_of_being_alike_is_rare() -> None:
    """Each of 20 figures differs by exactly the margin, so that every claim is wrong."""
    random = np.random.default_rng(12)
    edge = math.log(1.05)
    wrong = corrected = 0
    for _ in range(200):
        family = {f"{place}": sides(edge + 0.01 * random.standard_normal(10)) for place in range(20)}
        result = compare_family(family, margin=0.05).values()
        wrong += any(comparison.p_alike <= ALPHA for comparison in result)
        corrected += any(comparison.p_alike_corrected <= ALPHA for comparison in result)
    assert wrong / 200 > 0.3
    assert corrected / 200 <= 0.05 + 3 * 0.016


def test_that_all_are_alike_is_one_claim() -> None:
    random = np.random.default_rng(13)
    alike = {f"{place}": sides(0.003 * random.standard_normal(7)) for place in range(20)}
    together = dict.fromkeys(alike, "all")
    assert {comparison.verdict for comparison in compare_family(alike).values()} == {Verdict.UNDECIDED}
    assert {comparison.verdict for comparison in compare_family(alike, claims=together).values()} == {
        Verdict.ALIKE
    }
    off = alike | {"off": sides(0.2 + 0.003 * random.standard_normal(7))}
    one_off = compare_family(off, claims=together | {"off": "all"})
    assert one_off["off"].verdict == Verdict.DIFFERS
    assert {comparison.verdict for name, comparison in one_off.items() if name in alike} == {
        Verdict.UNDECIDED
    }


def test_claims_have_holm_s_correction_by_the_largest_p_of_each() -> None:
    random = np.random.default_rng(17)
    pairs = {f"{place}": sides(0.01 * (1 + place) * random.standard_normal(9)) for place in range(6)}
    result = compare_family(pairs, claims={name: "even" if int(name) % 2 == 0 else "odd" for name in pairs})
    even, odd = (max(result[name].p_alike for name in names) for names in ("024", "135"))
    expected = holm([even, odd])
    assert [result[name].p_alike_corrected for name in "012345"] == pytest.approx(expected * 3)
    with pytest.raises(KeyError):
        compare_family(pairs, claims={})


def test_few_blocks_are_claimed_to_be_alike_no_more_easily_than_others() -> None:
    """Five blocks are alike by themselves; of two claims none of five blocks can be proven."""
    five = {"a": sides(np.zeros(5)), "b": sides(np.zeros(5))}
    assert {comparison.p_alike for comparison in compare_family(five).values()} == {1 / 2**5}
    assert {comparison.verdict for comparison in compare_family(five).values()} == {Verdict.UNDECIDED}


def test_too_few_blocks_take_no_part() -> None:
    """One that no test can find must not stand in the way of the others, however clear it looks."""
    logs = np.random.default_rng(14).normal(0.5, 0.02, (3, 8))
    pairs = {f"{place}": sides(row) for place, row in enumerate(logs)}
    alone = compare_family(pairs)
    few = compare_family(pairs | {"few": sides(np.full(FEWEST_BLOCKS - 1, 0.5))})
    assert [few[name].p_corrected for name in pairs] == [
        comparison.p_corrected for comparison in alone.values()
    ]
    assert few["few"].p_corrected == few["few"].p > ALPHA


def test_blocks_are_known_by_their_numbers() -> None:
    """A figure that lacks a block is swapped together with the others in those that it has."""
    random = np.random.default_rng(15)
    before, after = sides(0.05 + 0.02 * random.standard_normal(8))
    lacks = ({n: v for n, v in before.items() if n != 3}, {n: v for n, v in after.items() if n != 3})
    result = compare_family({"whole": (before, after), "lacks": lacks})
    assert result["lacks"].blocks == 7
    assert result["lacks"].ratio == compare([*lacks[0].values()], [*lacks[1].values()]).ratio
    with pytest.raises(ValueError, match="both sides need the same blocks"):
        compare_family({"other": (before, lacks[1])})


def test_many_blocks_are_drawn_and_repeat_by_seed() -> None:
    logs = np.random.default_rng(16).normal(0.02, 0.05, (3, EXACT_BLOCKS + 2))
    assert step_down(logs, seed=1) == step_down(logs, seed=1)
    assert step_down(logs, seed=1) == pytest.approx(step_down(logs, seed=2), abs=0.01)
    assert min(step_down(np.full((1, 40), 0.1))) == pytest.approx(1 / (2**EXACT_BLOCKS + 1))
