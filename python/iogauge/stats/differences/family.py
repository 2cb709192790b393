"""Families of comparisons: the chance that any comparison of a family is a false finding stays at one level.

A review has dozens of figures, all measured in the same blocks. Holm's correction multiplies the smallest p by their
number, since it knows nothing of how they correlate. No sign-flip p is below 2 / 2^n, so 140 figures would need 13
blocks before any difference could be found, however large. Here Holm's steps are kept, from the clearest comparison on,
but the sign flips replace its bound. Each flip swaps the sides of a block in all figures at once, and each comparison
is held against the clearest one that a flip produces among those left. If some figures do not differ, swapping their
sides leaves their joint distribution as it is, so the level holds whichever figures these are. Six blocks then suffice
for a family of any size, and a larger family costs little power. No test can find a difference with fewer blocks; such
a comparison takes no part and keeps its own p.

The measure of clearness is Student's tail probability of the log ratios. It only puts comparisons with different
numbers of blocks on one scale; no distribution is assumed.

Equivalence within a margin allows no such swaps. Claims of equivalence get Holm's correction, as a family of their own.
One claim covers several comparisons, and is right only if each of them is alike. So its p is the largest of theirs,
without a correction for their number. Once a claim is proven, so is each of its comparisons: the chance that any
comparison is falsely called alike is that of any false claim, ``ALPHA``. No claim has a p below 1 / 2^n, so k claims
need log2(k / ``ALPHA``) blocks before any can be proven.

Differences and equivalence each have a 5 % chance of a false finding; together they have at most 10 %.

Families are chosen in ``comparison/pairwise.py``. Source: P. Westfall and S. Young, "Resampling-Based Multiple Testing"
(1993), the step-down procedure of the smallest p; S. Holm, "A simple sequentially rejective multiple test procedure"
(1979); R. Berger, "Multiparameter hypothesis testing and acceptance sampling" (1982), on claims about all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from iogauge.stats import special
from iogauge.stats.differences.comparison import FEWEST_BLOCKS, MARGIN, Comparison, compare, sign_flips

Blocks = Mapping[int, float]
"""Positive figures of one side, by block number."""

_AT_ONCE = 4096
"""Flips that are evaluated at a time, to bound memory."""
_ROUNDING = 1e-6
"""Relative tolerance of tails: equal sums differ in their last bits, and their tails by more."""
_CLEAREST = 1 - 1e-9
"""Cap that keeps t finite where all log ratios are equal."""


def compare_family(
    pairs: Mapping[str, tuple[Blocks, Blocks]],
    *,
    claims: Mapping[str, str] | None = None,
    margin: float = MARGIN,
    seed: int = 0,
) -> dict[str, Comparison]:
    """Compare several pairs of sides (A, B) by name, each as ``compare`` does, and correct p for their number.

    Figures with one block number were measured in one block, also across pairs. ``claims`` maps each pair to its claim
    of equivalence; by default each pair has its own. Raises ValueError where the two sides of a pair have different
    blocks, and as ``compare`` does; KeyError where ``claims`` lacks a pair.

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
            raise ValueError(
                f"{name}: both sides need the same blocks: A has {sorted(before)}, B has {sorted(after)}"
            )
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
    """Return the corrected p of each claim; ``members`` are the claim and the p of each comparison."""
    largest: dict[str, float] = {}
    for claim, p in members:
        largest[claim] = max(largest.get(claim, 0.0), p)
    return dict(zip(largest, holm([*largest.values()]), strict=True))


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's corrected p values, in the order given.

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
    """Return the corrected p of each comparison.

    ``logs`` has a row of log ratios for each comparison, a column for each block, and NaN where a block is missing.
    Differences in any unit serve as well, since each row is scaled by its own spread.
    Each row needs two blocks. Source: Westfall and Young (1993), algorithm 2.8.

    >>> step_down(np.array([[0.1, 0.12, 0.11, 0.1, 0.12, 0.1], [0.1, -0.1, 0.2, -0.2, 0.3, -0.3]]))
    [0.03125, 1.0]
    """
    signs = sign_flips(logs.shape[1], seed=seed)
    observed = _tails(signs[:1], logs)[0]
    order = np.argsort(observed, kind="stable")
    as_clear = np.zeros(len(logs))
    for some in np.array_split(signs, max(len(signs) // _AT_ONCE, 1)):
        tails = _tails(some, logs)[:, order]
        # The smallest tail among a comparison and those that were observed to be less clear.
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
    """Return Student's two-sided tail of each comparison (column) for each flip (row)."""
    blocks = np.sum(~np.isnan(logs), axis=1)
    known = np.nan_to_num(logs)
    # Flips do not change the sum of squares, so t follows from the sum alone.
    total = blocks * np.sum(known**2, axis=1)
    share = np.minimum((signs @ known.T) ** 2 / np.where(total > 0, total, 1.0), _CLEAREST)
    t = np.sqrt((blocks - 1) * share / (1 - share))
    tails: NDArray[np.float64] = 2 * special.stdtr(blocks - 1, -t)
    return tails
