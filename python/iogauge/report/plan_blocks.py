"""What ``iogauge plan`` says about blocks: the order of the steps in each, and how many blocks a comparison needs.

Nothing is measured yet, so the number assumes how much runs vary. ``stats.comparison`` has the arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.schema import Manifest

_VARIATION = 0.03
"""The assumed coefficient of variation between runs of one step."""


def ordered(made: Manifest) -> Iterator[str]:
    """Yield the order of the plans in each block."""
    from iogauge.reviews.ordering import order

    blocks: dict[int, list[str]] = {}
    for repeat, plan in order(made):
        blocks.setdefault(repeat, []).append(plan.key)
    yield from (f"  {repeat + 1}: {', '.join(keys)}" for repeat, keys in blocks.items())


def comparable(made: Manifest) -> Iterator[str]:
    """Yield how many blocks a comparison of the planned steps needs, and how many are planned."""
    from iogauge.comparison.matching import METRICS
    from iogauge.reviews.estimate import most_places
    from iogauge.stats.differences.comparison import (
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
        f"to find a difference: {FEWEST_BLOCKS} blocks at least (planned: {made.repeats}, by --repeats); if runs vary "
        f"by {100 * _VARIATION:g} %, a difference of 5 % in one figure needs {blocks_needed(0.05, _VARIATION)}; among "
        f"the {numbers.counted(figures, 'figure')} of the largest suite ({len(METRICS)} a step), one of 5 % needs "
        f"{small} and one of 50 % needs {great}"
    )
    yield (
        f"to show that a figure is alike, within {100 * MARGIN:g} % at all {numbers.counted(steps, 'step')} of a "
        f"series: {fewest_blocks_alike(claims)} blocks at least, among the {numbers.counted(claims, 'such claim')} of "
        f"that suite; if runs vary by {100 * _VARIATION:g} % and nothing differs, it needs {alike}"
    )
