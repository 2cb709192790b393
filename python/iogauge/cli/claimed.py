"""Claiming outputs of commands that read saved reviews: none of them may be a target that a review measured.

Targets are looked at where an output is named alone: whoever only prints wakes no drive and waits for none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.cli.terminal import streams

if TYPE_CHECKING:
    from iogauge.store.outputs import Claims


def beside_reviews(names: Sequence[str]) -> Claims:
    """Return the claims of a command that reads these reviews. Raises IogaugeError where there is no such review."""
    from iogauge.results.published import is_published
    from iogauge.store import Review
    from iogauge.store.outputs import Claims

    reviews = [Review.open(Path(name)) for name in names if not is_published(name)]
    targets = [target.path for review in reviews for target in review.manifest.targets]
    return Claims(saved_targets=targets, say=streams.say)
