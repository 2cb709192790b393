"""Effects in a figure's own unit: how much B differs from A, block by block, for several pairs at once.

``comparison.py`` compares drives by ratios. What a setting of the machine is worth is asked in microseconds: it takes
the same time from each request, on a fast drive or a slow one. So here the differences of each block are taken as they
are. Test, estimate and interval are those of ``comparison.py``: all ways of flipping the signs, the Hodges-Lehmann
estimate, and the bounds that the signed-rank test does not reject (Student's with two to five blocks).

The correction for several pairs is Holm's, from the clearest effect on, with the sign flips in the place of Holm's
bound (``family.step_down``). Holm's bound itself could establish nothing in six blocks: no p is below 1/32 there, and
five pairs multiply it by five. The flips swap all pairs of a block at once. This asks a little more than one pair does:
that the errors of a block's runs are as likely above as below their middle. Skewed errors hardly matter, as the tests
show: pairs that share a run make their differences dependent, and each difference of two runs alike is symmetric.

Source: those of ``comparison.py`` and ``family.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from iogauge.stats.differences.comparison import ALPHA, FEWEST_BLOCKS, interval, sign_flip_p, walsh_averages
from iogauge.stats.differences.family import Blocks, step_down


@dataclass(frozen=True)
class Effect:
    """B - A, over blocks that ran both: in the unit of the figure, as are the bounds of the 95 % interval.

    ``p`` is that of the sign-flip test, ``p_corrected`` allows for all pairs of the family. With fewer than six blocks
    no p can be small enough, and ``by_t`` tells that the interval is Student's.
    """

    blocks: int
    value: float
    low: float | None
    high: float | None
    p: float
    p_corrected: float
    by_t: bool = False

    @property
    def established(self) -> bool:
        """Whether the difference is significant among all pairs of its family."""
        return self.p_corrected <= ALPHA


def effects(pairs: Mapping[str, tuple[Blocks, Blocks]], *, seed: int = 0) -> dict[str, Effect]:
    """Return the effect of each pair of sides (A, B) by name, with p corrected for their number.

    Only blocks that ran both sides of a pair count; a pair without any is left out. ``seed`` is for the sign flips that
    are drawn where there are too many to count.

    >>> stock = dict(enumerate([8.4, 8.5, 8.4, 8.3, 8.4, 8.6]))
    >>> tuned, other = {block: value - 0.25 for block, value in stock.items()}, dict(stock) | {0: 8.6, 1: 8.2}
    >>> for name, effect in effects({"governor": (stock, tuned), "nothing": (stock, other)}).items():
    ...     print(f"{name}: {effect.value:+.2f} ({effect.low:+.2f} to {effect.high:+.2f}), {effect.established}")
    governor: -0.25 (-0.25 to -0.25), True
    nothing: +0.00 (-0.30 to +0.20), False
    """
    differences = {
        name: {block: after[block] - before[block] for block in sorted(before.keys() & after.keys())}
        for name, (before, after) in pairs.items()
    }
    alone = {name: _effect(by_block, seed=seed) for name, by_block in differences.items() if by_block}
    tested = [name for name, effect in alone.items() if effect.blocks >= FEWEST_BLOCKS]
    if not tested:
        return alone
    blocks = sorted({block for name in tested for block in differences[name]})
    rows = np.array([[differences[name].get(block, np.nan) for block in blocks] for name in tested])
    corrected = dict(zip(tested, step_down(rows, seed=seed), strict=True))
    return {
        name: replace(effect, p_corrected=corrected.get(name, effect.p)) for name, effect in alone.items()
    }


def _effect(by_block: Blocks, *, seed: int) -> Effect:
    differences = np.array(list(by_block.values()), dtype=np.float64)
    low, high, by_t = interval(differences)
    p = sign_flip_p(differences, seed=seed)
    return Effect(len(differences), float(np.median(walsh_averages(differences))), low, high, p, p, by_t)
