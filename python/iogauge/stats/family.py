"""Comparisons that share one level: the chance that any of a named family is a false finding stays at it.

A review has dozens of figures, all measured in the same blocks. Holm's correction multiplies the smallest p by their
number, as though nothing were known of how they hang together; since no sign-flip p is below 2 / 2^n, 140 figures would
take 13 blocks before any difference among them could be found, however large. Here Holm's steps are kept, from the
clearest comparison on, and the bound is replaced by what the flips themselves say: a block's sides are swapped in all
figures at once, and each comparison is held against the clearest that such a swap shows among those left. Where nothing
differs in some of the figures, swapping their sides changes nothing about them together, so that the level holds
whichever these are. Six blocks are then enough for a family of any size, and what is lost by its size is little. A
comparison of fewer blocks cannot be found by any test, takes no part, and keeps its own p.

How clear a comparison is, is Student's tail probability of its log ratios, over the blocks that it has: this only puts
comparisons of different blocks on one scale, and no shape is assumed for it.

Being alike within a margin has no such swaps. For that, claims have Holm's correction, as a family of their own. A
claim says of several comparisons that each is alike. It is right only if each is, so that each is tested by itself and
the claim's p is the largest of theirs, with no correction for how many they are. Once it is proven, each of its
comparisons is, at no further risk: the chance that any comparison is falsely called alike is that of any false claim,
``ALPHA``. No claim has a p below 1 / 2^n, so that k claims take log2(k / ``ALPHA``) blocks before any can be proven.

So there are two kinds of claims, that some differ and that some are alike. Each kind has its own chance of a false one,
5 %, and both together have at most 10 %.

Does not choose families: that is ``comparison/pairwise.py``'s. Source: P. Westfall and S. Young, "Resampling-Based
Multiple Testing" (1993), the step-down procedure of the smallest p; S. Holm, "A simple sequentially rejective
multiple test procedure" (1979); R. Berger, "Multiparameter hypothesis testing and acceptance sampling" (1982), on
claims about all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from iogauge.stats.comparison import FEWEST_BLOCKS, MARGIN, Comparison, compare, sign_flips

Blocks = Mapping[int, float]
"""A positive figure of one side, by the number of its block."""

_AT_ONCE = 4096
"""So many ways of swapping are held against a family at a time, which bounds memory."""
_ROUNDING = 1e-6
"""Equal sums differ in their last bits, and tails that are made of them by more."""
_CLEAREST = 1 - 1e-9
"""Log ratios that are all the same have no spread, and their t no bound: from here on it does not grow."""


def compare_family(
    pairs: Mapping[str, tuple[Blocks, Blocks]],
    *,
    claims: Mapping[str, str] | None = None,
    margin: float = MARGIN,
    seed: int = 0,
) -> dict[str, Comparison]:
    """Compare several pairs of sides (A, B) by name, each as ``compare`` does, and correct them for being several.

    What has the same block number was measured in the same block, also in different pairs. ``claims`` names the claim
    of being alike that each pair is under; without them, each is one by itself. Raises ValueError where the two sides
    of a pair have different blocks, and as ``compare`` does; KeyError where ``claims`` lacks a pair.

    >>> slow = {block: 10.0 for block in range(6)}
    >>> fast, like = dict(enumerate([8.0, 7, 8, 9, 8, 8])), dict(enumerate([11.0, 9, 10, 9, 11, 10]))
    >>> comparisons = compare_family({"mean": (slow, fast), "p99": (slow, like)})
    >>> {name: round(comparison.p_corrected, 4) for name, comparison in comparisons.items()}
    {'mean': 0.0312, 'p99': 0.75}
    >>> same = compare_family({name: (slow, slow) for name in "abc"}, claims=dict.fromkeys("abc", "all"))
    >>> {name: comparison.p_alike_corrected for name, comparison in same.items()}
    {'a': 0.015625, 'b': 0.015625, 'c': 0.015625}
    """
    comparisons = {}
    for name, (before, after) in pairs.items():
        if before.keys() != after.keys():
            raise ValueError(f"{name}: a block holds both sides: {sorted(before)} of A, {sorted(after)} of B")
        numbers = sorted(before)
        comparisons[name] = compare(
            [before[number] for number in numbers],
            [after[number] for number in numbers],
            margin=margin,
            seed=seed,
        )
    tested = [name for name, comparison in comparisons.items() if comparison.blocks >= FEWEST_BLOCKS]
    differs = step_down(_log_ratios([pairs[name] for name in tested]), seed=seed) if tested else []
    for name, p in zip(tested, differs, strict=True):
        comparisons[name] = replace(comparisons[name], p_corrected=p)
    claims = claims if claims is not None else {name: name for name in comparisons}
    alike = _claimed((claims[name], comparison.p_alike) for name, comparison in comparisons.items())
    return {
        name: replace(comparison, p_alike_corrected=alike[claims[name]])
        for name, comparison in comparisons.items()
    }


def _claimed(members: Iterable[tuple[str, float]]) -> dict[str, float]:
    """Return the corrected p of each claim; ``members`` are comparisons, each by its claim and its own p."""
    largest: dict[str, float] = {}
    for claim, p in members:
        largest[claim] = max(largest.get(claim, 0.0), p)
    return dict(zip(largest, holm([*largest.values()]), strict=True))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p values corrected for being several, in their own order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    least = 0.0
    for done, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(p_values[place] * (len(p_values) - done), 1.0))
        corrected[place] = least
    return corrected


def step_down(logs: NDArray[np.float64], *, seed: int = 0) -> list[float]:
    """Return the corrected p of each comparison: ``logs`` has a row of log ratios for each, NaN for a block it lacks.

    Each has two blocks or more. Source: Westfall and Young (1993), algorithm 2.8.

    >>> step_down(np.array([[0.1, 0.12, 0.11, 0.1, 0.12, 0.1], [0.1, -0.1, 0.2, -0.2, 0.3, -0.3]]))
    [0.03125, 1.0]
    """
    signs = sign_flips(logs.shape[1], seed=seed)
    observed = _tails(signs[:1], logs)[0]
    order = np.argsort(observed, kind="stable")
    as_clear = np.zeros(len(logs))
    for some in np.array_split(signs, max(len(signs) // _AT_ONCE, 1)):
        tails = _tails(some, logs)[:, order]
        # The clearest among a comparison and those that are less clear than it was.
        clearest = np.minimum.accumulate(tails[:, ::-1], axis=1)[:, ::-1]
        as_clear += np.sum(clearest <= observed[order] * (1 + _ROUNDING), axis=0)
    corrected = np.empty(len(logs))
    corrected[order] = np.maximum.accumulate(as_clear / len(signs))
    return [float(p) for p in corrected]


def _log_ratios(pairs: Sequence[tuple[Blocks, Blocks]]) -> NDArray[np.float64]:
    numbers = sorted({number for before, _ in pairs for number in before})
    return np.array(
        [
            [np.log(after[number] / before[number]) if number in before else np.nan for number in numbers]
            for before, after in pairs
        ]
    )


def _tails(signs: NDArray[np.float64], logs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Student's two-sided tail of each comparison (column) for each way of swapping (row)."""
    blocks = np.sum(~np.isnan(logs), axis=1)
    known = np.nan_to_num(logs)
    # Flips leave the sum of squares as it is, so that t follows from the sum alone.
    total = blocks * np.sum(known**2, axis=1)
    share = np.minimum((signs @ known.T) ** 2 / np.where(total > 0, total, 1.0), _CLEAREST)
    t = np.sqrt((blocks - 1) * share / (1 - share))
    tails: NDArray[np.float64] = 2 * stdtr(blocks - 1, -t)
    return tails
