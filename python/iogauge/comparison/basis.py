"""Says what a comparison rests on: repeats, their pairing, and the steps that are left out."""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.comparison.pairwise import SuiteComparison
from iogauge.stats.differences.comparison import FEWEST_BLOCKS
from iogauge.text import numbers
from iogauge.workload.diskspd.versions import NOT_COMPARABLE


def basis(suite: SuiteComparison) -> tuple[str, ...]:
    """Return what a comparison rests on, or why there is none, as sentences without full stops."""
    return tuple(_basis(suite)) if suite.figures else ("A and B have no complete step in common",)


def _basis(suite: SuiteComparison) -> Iterator[str]:
    if suite.loops_differ:
        yield NOT_COMPARABLE
    if suite.blocks < 2:
        yield "one run each: intervals cover variation within a run, not between runs"
    elif suite.paired:
        yield f"{suite.blocks} repeats of one review: each is a block that ran both sides"
    else:
        yield (
            f"{suite.blocks} repeats of two reviews, paired by number: whatever changed between the two reviews is "
            "part of every difference"
        )
    a, b = suite.before.repeats, suite.after.repeats
    if a != b:
        yield f"A has {numbers.counted(a, 'repeat')} of each step and B has {b}: only common repeats are compared"
    if suite.left_out:
        fewer = ", or has fewer than two of the same repeats" if suite.blocks > 1 else ""
        yield f"{numbers.counted(suite.left_out, 'step')} left out: the other side lacks the step{fewer}"
    if 1 < suite.blocks < FEWEST_BLOCKS:
        yield f"differences are not tested: a test needs at least {FEWEST_BLOCKS} blocks"
