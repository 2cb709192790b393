"""What ``iogauge plan`` says of blocks: in which order each runs its steps, and how many a comparison takes.

How many follow from what is planned, and from how far runs are taken to vary: nothing was measured yet. Does not
compare, and does not print. Source: ``stats.comparison``, which has the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.schema import Manifest

_VARIATION = 0.03
"""How far runs of one step are taken to vary: the coefficient of variation."""


def ordered(made: Manifest) -> Iterator[str]:
    """Yield the order of the plans in each block."""
    from iogauge.reviews.ordering import order

    blocks: dict[int, list[str]] = {}
    for repeat, plan in order(made):
        blocks.setdefault(repeat, []).append(plan.key)
    yield from (f"  {repeat + 1}: {', '.join(keys)}" for repeat, keys in blocks.items())


def comparable(made: Manifest) -> Iterator[str]:
    """Yield how many blocks a comparison takes of what is planned, beside those that are asked for."""
    from iogauge.comparison.matching import METRICS
    from iogauge.reviews.estimate import most_places
    from iogauge.stats.comparison import (
        FEWEST_BLOCKS,
        MARGIN,
        blocks_needed,
        blocks_needed_alike,
        fewest_blocks_alike,
    )
    from iogauge.text import numbers

    series = most_places(made)
    steps, claims, figures = max(series.values()), len(series) * len(METRICS), series.total() * len(METRICS)
    small, great = (blocks_needed(effect, _VARIATION, comparisons=figures) for effect in (0.05, 0.5))
    alike = blocks_needed_alike(_VARIATION, steps=steps, claims=claims)
    yield (
        f"to compare: {numbers.counted(made.repeats, 'block')} asked for (--repeats); {FEWEST_BLOCKS} are the fewest "
        f"that can find a difference; where runs vary by {100 * _VARIATION:g} %, one of 5 % takes "
        f"{blocks_needed(0.05, _VARIATION)} by itself, and {small} among the {numbers.counted(figures, 'figure')} of "
        f"the largest suite, {len(METRICS)} of each step; one of 50 %, {great}"
    )
    yield (
        f"to find a figure alike, within {100 * MARGIN:g} % at all of a series' {numbers.counted(steps, 'step')}: "
        f"{fewest_blocks_alike(claims)} blocks are the fewest that can, among the "
        f"{numbers.counted(claims, 'such claim')} of that suite; where runs vary by {100 * _VARIATION:g} % and nothing "
        f"differs, it takes {alike}"
    )
