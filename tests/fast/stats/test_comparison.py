"""Comparisons against scipy's permutation and signed-rank tests, brute force and made-up blocks."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from iogauge.stats.differences.comparison import (
    ALPHA,
    EXACT_BLOCKS,
    FEWEST_BLOCKS,
    POWER,
    Verdict,
    blocks_needed,
    blocks_needed_alike,
    compare,
    fewest_blocks_alike,
    sign_flip_p,
)

ratios = st.lists(st.floats(-0.5, 0.5).map(lambda log: round(log, 3)), min_size=1, max_size=9)


@given(ratios)
def test_the_p_value_is_that_of_all_flips(logs: list[float]) -> None:
    observed = abs(sum(logs))
    flipped = [
        abs(sum(sign * log for sign, log in zip(signs, logs, strict=True)))
        for signs in product((1, -1), repeat=len(logs))
    ]
    expected = sum(total >= observed - 1e-9 for total in flipped) / len(flipped)
    assert sign_flip_p(np.array(logs)) == pytest.approx(expected)


def test_the_p_value_is_scipys() -> None:
    logs = np.random.default_rng(1).normal(0.03, 0.05, 10)
    theirs = stats.permutation_test(
        (logs,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative="two-sided"
    )
    assert sign_flip_p(logs) == pytest.approx(theirs.pvalue)


def test_many_blocks_are_sampled_and_agree_with_all_ways() -> None:
    logs = np.random.default_rng(2).normal(0.02, 0.05, EXACT_BLOCKS + 1)
    sampled = sign_flip_p(logs, seed=1)
    ways = np.arange(2**EXACT_BLOCKS)
    signs = 1.0 - 2.0 * ((ways[:, None] >> np.arange(EXACT_BLOCKS + 1)) & 1)
    exact = float(np.mean(np.abs(signs @ logs) >= abs(logs.sum()) - 1e-12))
    assert sampled == pytest.approx(exact, abs=4 * math.sqrt(exact / 2**EXACT_BLOCKS))
    assert sampled == sign_flip_p(logs, seed=1)
    assert sign_flip_p(np.full(40, 0.1)) == pytest.approx(1 / (2**EXACT_BLOCKS + 1))


@given(ratios)
def test_the_estimate_is_the_median_of_all_pairs_means(logs: list[float]) -> None:
    result = compare([1000.0] * len(logs), [1000 * math.exp(log) for log in logs])
    pairs = [(a + b) / 2 for i, a in enumerate(logs) for b in logs[i:]]
    assert math.log(result.ratio) == pytest.approx(np.median(pairs), abs=1e-12)


@pytest.mark.parametrize("blocks", [6, 7, 9, 12, 15, 25])
def test_the_interval_holds_what_the_signed_rank_test_does_not_reject(blocks: int) -> None:
    logs = np.random.default_rng(blocks).normal(0.1, 0.05, blocks)
    result = compare([1.0] * blocks, np.exp(logs).tolist())
    for bound, alpha, inside in (
        (result.low, 0.05, 1),
        (result.high, 0.05, -1),
        (result.inner_low, 0.1, 1),
        (result.inner_high, 0.1, -1),
    ):
        assert bound is not None
        within, outside = (
            stats.wilcoxon(logs - math.log(bound) - step * inside * 1e-9, method="exact").pvalue
            for step in (1, -1)
        )
        assert within > alpha >= outside


@pytest.mark.parametrize("blocks", [2, 3, 4, 5])
def test_few_blocks_have_students_interval(blocks: int) -> None:
    logs = np.random.default_rng(blocks).normal(0.3, 0.01, blocks)
    result = compare([1.0] * blocks, np.exp(logs).tolist())
    low, high = stats.t.interval(0.95, blocks - 1, loc=logs.mean(), scale=stats.sem(logs))
    assert (result.low, result.high) == (pytest.approx(math.exp(low)), pytest.approx(math.exp(high)))
    assert result.by_t
    # However far from 1 it lies, it decides nothing.
    assert result.verdict == Verdict.UNDECIDED
    assert result.p == 2 / 2**blocks


def test_ranks_are_used_where_they_can_be_and_one_block_has_no_interval() -> None:
    six, one = compare([1.0] * 6, [1.1] * 6), compare([1.0], [1.1])
    assert (six.by_t, one.by_t) == (False, False)
    assert (one.low, one.high) == (None, None)


def test_few_blocks_have_no_inner_interval() -> None:
    five, four = compare([1.0] * 5, [1.1] * 5), compare([1.0] * 4, [1.1] * 4)
    assert five.inner_low == pytest.approx(1.1)
    assert (four.inner_low, four.inner_high) == (None, None)
    assert four.verdict == Verdict.UNDECIDED


@pytest.mark.parametrize("blocks", [5, 8, 13])
def test_being_alike_is_two_signed_rank_tests_against_the_margin(blocks: int) -> None:
    logs = np.random.default_rng(blocks).normal(0.01, 0.02, blocks)
    result = compare([1.0] * blocks, np.exp(logs).tolist(), margin=0.05)
    edge = math.log(1.05)
    below = stats.wilcoxon(logs - edge, alternative="less", method="exact").pvalue
    above = stats.wilcoxon(logs + edge, alternative="greater", method="exact").pvalue
    assert result.p_alike == pytest.approx(max(below, above))
    assert result.inner_low is not None
    assert result.inner_high is not None
    inside = result.inner_low >= 1 / 1.05 and result.inner_high <= 1.05
    assert (result.p_alike <= ALPHA) == inside


def test_the_three_verdicts() -> None:
    random = np.random.default_rng(4)
    side, other = (random.lognormal(0, 0.01, 10) for _ in range(2))
    noisy = random.lognormal(0, 0.3, 10)
    assert compare(side.tolist(), (1.2 * other).tolist()).verdict == Verdict.DIFFERS
    assert compare(side.tolist(), other.tolist()).verdict == Verdict.ALIKE
    assert compare(side.tolist(), other.tolist(), margin=0.001).verdict == Verdict.UNDECIDED
    assert compare(side.tolist(), noisy.tolist()).verdict == Verdict.UNDECIDED


def test_equivalence_is_claimed_wrongly_in_five_of_a_hundred_at_most() -> None:
    # Sides that differ by exactly the margin: each claim is wrong. 400 draws know 5 % to 1.1 %.
    random = np.random.default_rng(5)
    claimed = 0
    for _ in range(400):
        before, after = random.lognormal(0, 0.01, 10), 1.05 * random.lognormal(0, 0.01, 10)
        inner = compare(before.tolist(), after.tolist(), margin=0.05)
        assert inner.inner_high is not None
        claimed += inner.inner_high <= 1.05
    assert 0.01 <= claimed / 400 <= 0.08


def test_swapping_the_sides_inverts_all_and_changes_no_verdict() -> None:
    random = np.random.default_rng(6)
    before, after = (random.lognormal(0, 0.05, 9).tolist() for _ in range(2))
    there, back = compare(before, after), compare(after, before)
    assert back.ratio == pytest.approx(1 / there.ratio)
    assert there.low is not None
    assert back.high == pytest.approx(1 / there.low)
    assert (back.p, back.verdict) == (there.p, there.verdict)


def test_the_fewest_blocks_can_find_something_and_one_less_cannot() -> None:
    assert sign_flip_p(np.full(FEWEST_BLOCKS, 0.1)) <= ALPHA < sign_flip_p(np.full(FEWEST_BLOCKS - 1, 0.1))


@pytest.mark.parametrize(("effect", "variation"), [(0.05, 0.03), (0.10, 0.05), (0.02, 0.01)])
def test_the_advised_blocks_have_the_power(effect: float, variation: float) -> None:
    blocks = blocks_needed(effect, variation)
    random = np.random.default_rng(7)
    spread = math.sqrt(math.log1p(variation**2))

    def power(blocks: int) -> float:
        logs = math.log1p(effect) + spread * (
            random.standard_normal((600, blocks)) - random.standard_normal((600, blocks))
        )
        return float(np.mean([sign_flip_p(row) <= ALPHA for row in logs]))

    # 600 draws know 80 % to 1.6 %; what is advised is enough, and a third fewer are not.
    assert power(blocks) >= 0.76
    assert power(max(blocks * 2 // 3, 5)) < 0.76


def test_more_comparisons_and_more_power_need_more() -> None:
    assert blocks_needed(0.05, 0.05) < blocks_needed(0.05, 0.05, comparisons=6)
    assert blocks_needed(0.05, 0.05) < blocks_needed(0.05, 0.05, power=0.95)
    assert blocks_needed(0.5, 0.001) == FEWEST_BLOCKS


@pytest.mark.parametrize(
    ("before", "after", "margin"),
    [
        ([], [], 0.1),
        ([1.0], [1.0, 2.0], 0.1),
        ([0.0], [1.0], 0.1),
        ([1.0], [math.nan], 0.1),
        ([1.0], [1.0], 0.0),
    ],
)
def test_what_cannot_be_compared_is_refused(before: list[float], after: list[float], margin: float) -> None:
    with pytest.raises(ValueError, match=r"both sides|positive"):
        compare(before, after, margin=margin)


@pytest.mark.parametrize(("effect", "variation", "power"), [(0, 0.1, 0.8), (0.1, 0, 0.8), (0.1, 0.1, 1.0)])
def test_a_plan_needs_an_effect_a_variation_and_a_power(
    effect: float, variation: float, power: float
) -> None:
    with pytest.raises(ValueError, match="positive"):
        blocks_needed(effect, variation, power=power)


@pytest.mark.parametrize("claims", [1, 2, 5, 16, 20, 80])
def test_the_fewest_blocks_that_can_show_to_be_alike_are_the_fewest(claims: int) -> None:
    fewest = fewest_blocks_alike(claims)
    result = [compare([1.0] * blocks, [1.0] * blocks).p_alike * claims for blocks in (fewest - 1, fewest)]
    assert result[0] > ALPHA >= result[1]


@pytest.mark.parametrize(("variation", "steps", "claims"), [(0.03, 1, 1), (0.02, 9, 5), (0.01, 9, 20)])
def test_so_many_blocks_show_that_sides_are_alike_as_often_as_they_should(
    variation: float, steps: int, claims: int
) -> None:
    """150 draws know 0.8 to 0.033; more often is no fault where the fewest blocks are enough."""
    random = np.random.default_rng(18)
    blocks = blocks_needed_alike(variation, steps=steps, claims=claims)
    shown = 0
    for _ in range(150):
        sides = random.lognormal(0, math.sqrt(math.log1p(variation**2)), (2, steps, blocks))
        shown += all(
            compare(*side).p_alike <= ALPHA / claims
            for side in zip(*map(np.ndarray.tolist, sides), strict=True)
        )
    assert shown / 150 >= POWER - 3 * 0.033
    if variation > 0.01:
        assert shown / 150 <= 0.95
