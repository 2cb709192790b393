"""Say what a review takes before it begins, and ask on a terminal before it writes much or purges.

For a block device it asks about any write, for a file about a large amount. Without a terminal it does not ask: no
device is written without ``--destroy`` anyway.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from iogauge.cli.terminal import status, streams

if TYPE_CHECKING:
    from iogauge.reviews.estimate import ReviewCost
    from iogauge.schema import Manifest, TargetFacts

MUCH_BYTES = 100 * 10**9
"""The fewest bytes to a file that need an answer: they wear the drive below. Writes without a limit do not count,
since the only bound of theirs is that of the link."""


def before(manifest: Manifest, *, ask: bool = True) -> None:
    """Say what a review takes, and ask whether to begin it if it writes much and ``ask``.

    Raises typer.Exit if the answer is no. Nothing was measured then.
    """
    from iogauge.report.plan_text import sentence
    from iogauge.reviews.estimate import cost_of
    from iogauge.suites import suite_of

    cost = cost_of(manifest, suite_of)
    streams.say(sentence(manifest, cost))
    if not (ask and sys.stdin.isatty() and sys.stderr.isatty()):
        return
    costly = [target for target in manifest.targets if _asks(target, cost)]
    if not costly:
        return
    streams.say(f"{question(costly, cost)} [y/N] ", end="")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        streams.say("not started\nhint: --yes skips the question; 'iogauge plan' shows every step")
        raise typer.Exit(status.ERROR)


def question(targets: list[TargetFacts], cost: ReviewCost) -> str:
    """Return the question, which names what is discarded, how much is written where, and how long it takes."""
    from iogauge.text import numbers

    paths = [target.path for target in targets]
    parts = [f"on {path} {lost}" for path in paths if (lost := cost.given_back(path))]
    if written := [path for path in paths if cost.writes_to(path)]:
        most = sum(map(cost.written_to, written))
        likely = numbers.rough_size(sum(map(cost.likely_written_to, written)))
        amount = f"about {likely}, at most {numbers.most_size(most)}," if most else "an unknown amount"
        more = ", and more in steps that follow from results" if cost.unknown else ""
        parts.append(f"this writes {amount} to {', '.join(written)}{more}")
    time = numbers.clock_time(cost.likely_s)
    return f"{'; '.join(parts)}, and takes about {time}; continue?"


def _asks(target: TargetFacts, cost: ReviewCost) -> bool:
    if target.kind == "block":
        return cost.writes_to(target.path) or bool(cost.given_back(target.path))
    bounded = sum(step.written_bytes for step in cost.on(target.path) if step.bounded)
    return target.kind == "file" and bounded >= MUCH_BYTES
