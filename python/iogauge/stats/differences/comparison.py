"""Compare two sides over repeats: the ratio of their figures, its interval, and whether it matters.

The design is one of randomised complete blocks: every block runs all sides once, in random order, so that drift between
blocks (temperature, wear, the machine) cancels in each block's ratio. The only assumption about the log ratios is that
they would be symmetric about zero if nothing differed:

- the test flips their signs. Every way of swapping the two sides within blocks was equally likely, and the p value is
  the share of ways that give a mean as far from zero. With n blocks no p is below 2 / 2^n, so six blocks are the fewest
  that can find a difference (``FEWEST_BLOCKS``). A test with only 2^n outcomes rejects less often than its level: at
  0.05, with no difference, six blocks reject in 3.1 % of the cases, and eight or more in nearly 5 %;
- the effect is the Hodges-Lehmann estimate, the median of all pairs' means. Its interval holds the effects that the
  signed-rank test does not reject. A 95 % interval needs six blocks, a 90 % interval five. From two to five blocks, the
  95 % interval is Student's, of the mean log ratio. It assumes normal log ratios and is marked; no verdict uses it.

Failing to find a difference shows nothing. Two sides are called alike only where the whole 90 % interval lies within a
margin that was chosen beforehand (two one-sided signed-rank tests at 5 %).

``family.py`` corrects for several comparisons. ``figures.ratio`` compares single runs, by their own intervals.
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

from iogauge.stats import special
from iogauge.stats.quantiles import LEVEL

ALPHA = 1 - LEVEL
"""Chance that a comparison, or a family of them, finds a difference where there is none."""

FEWEST_BLOCKS = 6
"""With fewer, the sign-flip test cannot reach its level: 2 / 2^5 is more than 0.05."""

EXACT_BLOCKS = 16
"""Up to this many blocks, all ways of flipping signs are counted (65,536). With more blocks, as many are drawn."""

POWER = 0.8
"""Chance that the advised number of blocks finds a difference of the expected size."""

MARGIN = 0.05
"""Default margin: differences of up to 5 % do not matter."""


class Verdict(StrEnum):
    """The outcome of a comparison."""

    DIFFERS = "differs"
    ALIKE = "no difference beyond the margin"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Comparison:
    """The ratio B / A, over blocks that ran both.

    ``ratio`` is the estimate. ``low`` and ``high`` bound its 95 % interval, ``inner_low`` and ``inner_high`` the 90 %
    interval, which is compared with the margin; ``None`` where there are too few blocks. ``p`` is that of the sign-flip
    test, ``p_alike`` that of the two one-sided tests against the margin, both without correction. ``p_corrected``
    allows for all comparisons of the family; ``p_alike_corrected`` is that of this comparison's claim, among all claims
    (``family.py``). For a single comparison they equal ``p`` and ``p_alike``. ``margin`` is a fraction: 0.05 stands for
    ratios from 1/1.05 to 1.05. ``by_t`` is true where the 95 % interval is Student's, for want of blocks.
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
        """The outcome. A difference that is significant counts as one even if it lies within the margin."""
        if self.p_corrected <= ALPHA:
            return Verdict.DIFFERS
        return Verdict.ALIKE if self.p_alike_corrected <= ALPHA else Verdict.UNDECIDED


def compare(
    before: Sequence[float], after: Sequence[float], *, margin: float = MARGIN, seed: int = 0
) -> Comparison:
    """Compare a positive figure of two sides, block by block: ``before`` is A, ``after`` is B.

    ``seed`` is for the sign flips that are drawn with more than ``EXACT_BLOCKS`` blocks. Raises ValueError where the
    sides differ in length, where there is no block, or where a figure or the margin is not positive.

    >>> result = compare([100, 101, 99, 100, 102, 98, 100], [80, 82, 79, 81, 82, 78, 81])
    >>> print(f"{result.ratio:.3f} ({result.low:.3f} to {result.high:.3f}), p = {result.p:.4f}: {result.verdict}")
    0.804 (0.798 to 0.811), p = 0.0156: differs
    """
    if len(before) != len(after) or not before:
        raise ValueError(f"both sides need the same blocks: A has {len(before)}, B has {len(after)}")
    if not all(value > 0 and math.isfinite(value) for value in (*before, *after, margin)):
        raise ValueError("the figures of a comparison and its margin must be positive")
    logs = np.log(np.asarray(after, dtype=np.float64)) - np.log(np.asarray(before, dtype=np.float64))
    walsh = walsh_averages(logs)
    low, high, by_t = interval(logs)
    inner_low, inner_high = _bounds(walsh, len(logs), 2 * ALPHA)
    p, p_alike = sign_flip_p(logs, seed=seed), _alike_p(walsh, len(logs), math.log1p(margin))
    return Comparison(
        blocks=len(logs),
        ratio=math.exp(float(np.median(walsh))),
        low=_exp(low),
        high=_exp(high),
        inner_low=_exp(inner_low),
        inner_high=_exp(inner_high),
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
    # The order of adding changes the last bits of equal sums.
    return float(np.mean(np.abs(signs @ logs) >= abs(logs.sum()) - 1e-9 * np.abs(logs).sum()))


def sign_flips(blocks: int, *, seed: int = 0) -> NDArray[np.float64]:
    """Return ways of swapping the two sides within blocks: a row of signs each, the observed one first.

    Up to ``EXACT_BLOCKS`` blocks these are all ways, except that opposite ways count once. With more blocks,
    2 ** ``EXACT_BLOCKS`` ways are drawn. The observed way is included, so that no p is zero.
    """
    if blocks <= EXACT_BLOCKS:
        # The last sign stays: flipping all signs does not change the distance from zero.
        swapped = (np.arange(2 ** (blocks - 1))[:, None] >> np.arange(blocks)) & 1
        return np.where(swapped, -1.0, 1.0)
    drawn = np.random.default_rng(seed).choice([-1.0, 1.0], size=(2**EXACT_BLOCKS, blocks))
    return np.vstack([np.ones(blocks), drawn])


def blocks_needed(effect: float, variation: float, *, comparisons: int = 1, power: float = POWER) -> int:
    """Return how many blocks find a difference with probability ``power``, for planning.

    ``effect`` is the expected difference as a fraction (0.05 for B = 1.05 A, or 0.95 A), ``variation`` the
    coefficient of variation of one side between blocks, as a fraction; a ratio of two sides varies more, by the root
    of two. The calculation assumes normal log ratios and a t test, with Bonferroni's correction for ``comparisons``.
    From eight blocks on, a single sign-flip test is nearly as powerful, and a family of correlated figures needs fewer
    blocks. Raises ValueError where a fraction is not positive or ``power`` is not between 0 and 1.

    >>> blocks_needed(0.05, 0.03), blocks_needed(0.05, 0.03, comparisons=6), blocks_needed(0.5, 0.01)
    (9, 13, 6)
    """
    size = _size(effect, variation, power)
    blocks = FEWEST_BLOCKS
    while True:
        critical = -float(special.stdtrit(blocks - 1, ALPHA / comparisons / 2))
        if 1 - float(special.nctdtr(blocks - 1, size * math.sqrt(blocks), critical)) >= power:
            return blocks
        blocks += 1


def fewest_blocks_alike(claims: int = 1) -> int:
    """Return the fewest blocks that can prove one of several claims of equivalence.

    >>> fewest_blocks_alike(), fewest_blocks_alike(20)
    (5, 9)
    """
    return math.ceil(math.log2(claims / ALPHA))


def blocks_needed_alike(
    variation: float, *, margin: float = MARGIN, steps: int = 1, claims: int = 1, power: float = POWER
) -> int:
    """Return how many blocks prove with probability ``power`` that two sides that do not differ are alike.

    ``margin`` and ``variation`` are fractions, as for ``compare`` and ``blocks_needed``, with the same assumptions. One
    of ``claims`` is to be proven, with Bonferroni's correction. Each of its ``steps`` must be proven on both sides of
    the margin; the chance of failing at any is taken as the sum of all. The signed-rank test is taken to be as powerful
    as a t test of 3 / pi times the blocks (Pitman's efficiency). Raises ValueError where a fraction is not positive or
    ``power`` is not between 0 and 1.

    >>> blocks_needed_alike(0.03), blocks_needed_alike(0.03, steps=9, claims=5)
    (9, 20)
    """
    size = _size(margin, variation, power)
    blocks = fewest_blocks_alike(claims)
    while True:
        critical = -float(special.stdtrit(blocks - 1, ALPHA / claims))
        missed = float(special.nctdtr(blocks - 1, size * math.sqrt(3 / math.pi * blocks), critical))
        if 2 * steps * missed <= 1 - power:
            return blocks
        blocks += 1


def _size(effect: float, variation: float, power: float) -> float:
    """Return an effect in standard deviations of a log ratio of two sides."""
    if not (effect > 0 and variation > 0 and 0 < power < 1):
        raise ValueError("the expected effect and the variation must be positive, the power between 0 and 1")
    return math.log1p(effect) / (math.sqrt(2) * math.sqrt(math.log1p(variation**2)))


def walsh_averages(differences: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the means of all pairs, ascending; a number also pairs with itself."""
    first, second = np.triu_indices(len(differences))
    return np.sort((differences[first] + differences[second]) / 2)


def interval(differences: NDArray[np.float64]) -> tuple[float | None, float | None, bool]:
    """Return the 95 % interval of where differences are centred, and whether it is Student's, for want of blocks.

    With a single block there is none.

    >>> interval(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])), interval(np.array([1.0]))
    ((1.0, 6.0, False), (None, None, False))
    """
    low, high = _bounds(walsh_averages(differences), len(differences), ALPHA)
    if low is None and len(differences) > 1:
        return *_student(differences), True
    return low, high, False


def _student(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of two or more differences that are normal."""
    middle, count = float(differences.mean()), len(differences)
    reach = (
        float(special.stdtrit(count - 1, 1 - ALPHA / 2)) * float(differences.std(ddof=1)) / math.sqrt(count)
    )
    return middle - reach, middle + reach


def _bounds(walsh: NDArray[np.float64], blocks: int, alpha: float) -> tuple[float | None, float | None]:
    """Return the bounds that the signed-rank test does not reject at ``alpha``; ``None`` for too few blocks."""
    rejected = int(np.searchsorted(_rank_shares(blocks), alpha / 2, side="right"))
    if not rejected:
        return None, None
    return float(walsh[rejected - 1]), float(walsh[-rejected])


def _exp(bound: float | None) -> float | None:
    return None if bound is None else math.exp(bound)


def _alike_p(walsh: NDArray[np.float64], blocks: int, reach: float) -> float:
    """Return the larger p of the two one-sided signed-rank tests: below ``reach``, and above its negative."""
    outside = max(int(np.sum(walsh < -reach)), int(np.sum(walsh > reach)))
    return float(_rank_shares(blocks)[outside])


def _rank_shares(blocks: int) -> NDArray[np.float64]:
    """Return the probabilities that the signed-rank statistic is at most 0, 1, 2, ... if nothing differs."""
    # How many subsets of the ranks 1..n have each sum.
    ways = np.zeros(blocks * (blocks + 1) // 2 + 1)
    ways[0] = 1
    for rank in range(1, blocks + 1):
        ways[rank:] = ways[rank:] + ways[:-rank]
    shares: NDArray[np.float64] = np.cumsum(ways) / 2.0**blocks
    return shares
