"""Two sides compared over repeats: how many times one figure is the other, how sure that is, and whether it matters.

The plan behind it is one of randomised complete blocks: every block runs all sides once, in random order, so that what
drifts from block to block (temperature, wear, the machine) falls out of each block's own ratio. Of these log ratios no
shape is assumed but that they would lie symmetrically about zero if nothing differed:

- the test flips their signs: every way of swapping the two sides within blocks was as likely, and the p value is the
  share of ways that give a mean as far from zero. With n blocks no p is below 2 / 2^n, so that six are the fewest that
  can find anything (``FEWEST_BLOCKS``). A test that has only 2^n answers rejects less often than its level says: at
  0.05, six blocks do in 3.1 % of the cases in which nothing differs, and from eight on nearly 5 %;
- the effect is the Hodges-Lehmann estimate, the median of all pairs' means, and its interval holds those effects that
  the signed-rank test would not reject. Below six blocks there is no such 95 % interval, below five no 90 % one. From
  two blocks to five, the 95 % interval is Student's, of the mean log ratio: it takes log ratios for normal, and is
  marked. It is there to be read, and decides nothing;

Not having found a difference is no finding. Only where the whole 90 % interval lies within a margin that was chosen
before, is it said that nothing differs by more than that (two one-sided signed-rank tests at 5 %).

Does not run anything, does not correct for being several (``family.py``), and does not compare single runs: that is
``figures.ratio``, whose intervals are theirs.
Source: E. Pitman, "Significance tests which may be applied to samples from any populations" (1937); J. Hodges and
E. Lehmann, "Estimates of location based on rank tests" (1963); D. Schuirmann on two one-sided tests (1987).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.special import nctdtr, stdtrit

from iogauge.stats.quantiles import LEVEL

ALPHA = 1 - LEVEL
"""How often a comparison, or a family of them, may find a difference where there is none."""

FEWEST_BLOCKS = 6
"""With fewer, the sign-flip test cannot find anything at its level: 2 / 2^5 is more than 0.05."""

EXACT_BLOCKS = 16
"""Up to so many blocks, every way of flipping signs is counted: 65,536. Beyond, as many are drawn."""

POWER = 0.8
"""How likely a difference of the expected size is to be found by the number of blocks that is advised."""

MARGIN = 0.05
"""Differences of up to 5 % are taken as none, where nothing else is said."""


class Verdict(StrEnum):
    """What a comparison says."""

    DIFFERS = "differs"
    ALIKE = "no difference beyond the margin"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Comparison:
    """How many times B is A, over blocks that ran both.

    ``ratio`` is the estimate; ``low`` and ``high`` bound its 95 % interval, ``inner_low`` and ``inner_high`` the 90 %
    one, which the margin is held against; ``None`` where there are too few blocks. ``p`` is of the sign-flip test,
    ``p_alike`` of the two one-sided tests against the margin; both are this comparison's own. ``p_corrected`` allows
    for all comparisons of its family, ``p_alike_corrected`` is of the claim that it is under, among all claims
    (``family.py``); for one that is alone they are the same as these.
    ``margin`` is a fraction: 0.05 stands for ratios from 1/1.05 to 1.05. ``by_t``: the 95 % interval is Student's,
    since there are too few blocks for ranks.
    """

    blocks: int
    ratio: float
    low: float | None
    high: float | None
    inner_low: float | None
    inner_high: float | None
    p: float
    p_corrected: float
    p_alike: float
    p_alike_corrected: float
    margin: float
    by_t: bool = False

    @property
    def verdict(self) -> Verdict:
        """What is found. A difference may be sure and yet lie within the margin: then it differs, by so little."""
        if self.p_corrected <= ALPHA:
            return Verdict.DIFFERS
        return Verdict.ALIKE if self.p_alike_corrected <= ALPHA else Verdict.UNDECIDED


def compare(
    before: Sequence[float], after: Sequence[float], *, margin: float = MARGIN, seed: int = 0
) -> Comparison:
    """Compare a positive figure of two sides, block by block: ``before`` is A, ``after`` is B.

    ``seed`` draws sign flips where there are more than ``EXACT_BLOCKS`` blocks. Raises ValueError where the sides have
    not one figure a block each, where there is no block, or where a figure or the margin is not positive.

    >>> result = compare([100, 101, 99, 100, 102, 98, 100], [80, 82, 79, 81, 82, 78, 81])
    >>> print(f"{result.ratio:.3f} ({result.low:.3f} to {result.high:.3f}), p = {result.p:.4f}: {result.verdict}")
    0.804 (0.798 to 0.811), p = 0.0156: differs
    """
    if len(before) != len(after) or not before:
        raise ValueError(f"a block holds both sides: {len(before)} of A, {len(after)} of B")
    if not all(value > 0 and math.isfinite(value) for value in (*before, *after, margin)):
        raise ValueError("figures that are compared, and the margin, are positive")
    logs = np.log(np.asarray(after, dtype=np.float64)) - np.log(np.asarray(before, dtype=np.float64))
    walsh = _walsh_averages(logs)
    low, high = _bounds(walsh, len(logs), ALPHA)
    by_t = low is None and len(logs) > 1
    if by_t:
        low, high = _student(logs)
    inner_low, inner_high = _bounds(walsh, len(logs), 2 * ALPHA)
    p, p_alike = sign_flip_p(logs, seed=seed), _alike_p(walsh, len(logs), math.log1p(margin))
    return Comparison(
        blocks=len(logs),
        ratio=math.exp(float(np.median(walsh))),
        low=low,
        high=high,
        inner_low=inner_low,
        inner_high=inner_high,
        p=p,
        p_corrected=p,
        p_alike=p_alike,
        p_alike_corrected=p_alike,
        margin=margin,
        by_t=by_t,
    )


def sign_flip_p(logs: NDArray[np.float64], *, seed: int = 0) -> float:
    """Return the two-sided p value of the mean of ``logs`` among all ways of flipping their signs.

    >>> sign_flip_p(np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.1]))
    0.03125
    """
    signs = sign_flips(len(logs), seed=seed)
    # Equal sums differ in their last bits by the order of adding.
    return float(np.mean(np.abs(signs @ logs) >= abs(logs.sum()) - 1e-9 * np.abs(logs).sum()))


def sign_flips(blocks: int, *, seed: int = 0) -> NDArray[np.float64]:
    """Return ways of swapping the two sides within blocks, a row of signs each; the first is the one observed.

    All of them, up to ``EXACT_BLOCKS`` blocks, but one for each two that are each other's opposite; otherwise as many
    as there would be for these are drawn. What was observed is among them, so that no p is zero.
    """
    if blocks <= EXACT_BLOCKS:
        # One sign may stay: flipping all of them gives the same distance from zero.
        swapped = (np.arange(2 ** (blocks - 1))[:, None] >> np.arange(blocks)) & 1
        return np.where(swapped, -1.0, 1.0)
    drawn = np.random.default_rng(seed).choice([-1.0, 1.0], size=(2**EXACT_BLOCKS, blocks))
    return np.vstack([np.ones(blocks), drawn])


def blocks_needed(effect: float, variation: float, *, comparisons: int = 1, power: float = POWER) -> int:
    """Return how many blocks find a difference with probability ``power``: to be said before a run.

    ``effect`` is the expected difference as a fraction (0.05 for B = 1.05 A, or 0.95 A), ``variation`` the
    coefficient of variation of one side between blocks, as a fraction; a ratio of two varies by the root of two
    more. Normal log ratios and a t test at the level of a family of ``comparisons`` by Bonferroni are assumed: from
    eight blocks on a single sign-flip test equals that closely, and a family whose figures vary together takes fewer
    blocks than this. Raises ValueError where a fraction is not positive or
    ``power`` not within 0 and 1.

    >>> blocks_needed(0.05, 0.03), blocks_needed(0.05, 0.03, comparisons=6), blocks_needed(0.5, 0.01)
    (9, 13, 6)
    """
    size = _size(effect, variation, power)
    blocks = FEWEST_BLOCKS
    while True:
        critical = -float(stdtrit(blocks - 1, ALPHA / comparisons / 2))
        if 1 - float(nctdtr(blocks - 1, size * math.sqrt(blocks), critical)) >= power:
            return blocks
        blocks += 1


def fewest_blocks_alike(claims: int = 1) -> int:
    """Return the fewest blocks that can show that what one of several claims speaks of is alike, however alike it is.

    >>> fewest_blocks_alike(), fewest_blocks_alike(20)
    (5, 9)
    """
    return math.ceil(math.log2(claims / ALPHA))


def blocks_needed_alike(
    variation: float, *, margin: float = MARGIN, steps: int = 1, claims: int = 1, power: float = POWER
) -> int:
    """Return how many blocks show with probability ``power`` that sides are alike which do not differ.

    ``margin`` and ``variation`` are fractions, as for ``compare`` and ``blocks_needed``, and so is what is assumed. One
    of ``claims`` (by Bonferroni) is to be proven, which each of its ``steps`` has to be, on both sides of the margin:
    that it fails at any is taken to be as likely as all chances of failing together, and of so many blocks the
    signed-rank test makes as much as a t test of 3 / pi of them (Pitman's efficiency). Raises ValueError where a
    fraction is not positive or ``power`` not within 0 and 1.

    >>> blocks_needed_alike(0.03), blocks_needed_alike(0.03, steps=9, claims=5)
    (9, 20)
    """
    size = _size(margin, variation, power)
    blocks = fewest_blocks_alike(claims)
    while True:
        critical = -float(stdtrit(blocks - 1, ALPHA / claims))
        missed = float(nctdtr(blocks - 1, size * math.sqrt(3 / math.pi * blocks), critical))
        if 2 * steps * missed <= 1 - power:
            return blocks
        blocks += 1


def _size(effect: float, variation: float, power: float) -> float:
    """Return an effect in standard deviations of a log ratio of two sides."""
    if not (effect > 0 and variation > 0 and 0 < power < 1):
        raise ValueError("an expected effect and a variation are positive, a power lies within 0 and 1")
    return math.log1p(effect) / (math.sqrt(2) * math.sqrt(math.log1p(variation**2)))


def _walsh_averages(logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of all pairs, each number with itself too, ascending."""
    first, second = np.triu_indices(len(logs))
    return np.sort((logs[first] + logs[second]) / 2)


def _student(logs: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of the ratio, for log ratios that are normal; there are two of them or more."""
    middle, count = float(logs.mean()), len(logs)
    reach = float(stdtrit(count - 1, 1 - ALPHA / 2)) * float(logs.std(ddof=1)) / math.sqrt(count)
    return math.exp(middle - reach), math.exp(middle + reach)


def _bounds(walsh: NDArray[np.float64], blocks: int, alpha: float) -> tuple[float | None, float | None]:
    """Return the ratios that the signed-rank test does not reject at ``alpha``; ``None`` for too few blocks."""
    rejected = int(np.searchsorted(_rank_shares(blocks), alpha / 2, side="right"))
    if not rejected:
        return None, None
    return math.exp(float(walsh[rejected - 1])), math.exp(float(walsh[-rejected]))


def _alike_p(walsh: NDArray[np.float64], blocks: int, reach: float) -> float:
    """Return the larger p of the two one-sided signed-rank tests: below ``reach``, and above its negative."""
    outside = max(int(np.sum(walsh < -reach)), int(np.sum(walsh > reach)))
    return float(_rank_shares(blocks)[outside])


def _rank_shares(blocks: int) -> NDArray[np.float64]:
    """Return how likely the signed-rank statistic is to be at most 0, 1, 2, ... where nothing differs."""
    # How many subsets of the ranks 1..n have each sum.
    ways = np.zeros(blocks * (blocks + 1) // 2 + 1)
    ways[0] = 1
    for rank in range(1, blocks + 1):
        ways[rank:] = ways[rank:] + ways[:-rank]
    shares: NDArray[np.float64] = np.cumsum(ways) / 2.0**blocks
    return shares
