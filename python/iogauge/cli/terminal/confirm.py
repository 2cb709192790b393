"""What is lost by a review, and asking on a terminal before it writes much or purges.

It asks for a block device whatever is written to it, and for a file where that is a lot.

Where nobody can answer, nothing is asked: a script says what it wants by ``--destroy``, without which no device is
written to anyway.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from iogauge.cli.terminal import status, streams

if TYPE_CHECKING:
    from iogauge.reviews.estimate import ReviewCost
    from iogauge.schema import Manifest, TargetFacts

MUCH_BYTES = 100 * 10**9
"""From so much on, writing to a file is asked about too: it wears the drive below. Writes that nothing limits do not
count for a file: their bound is a link's, which says nothing of what is written."""


def before(manifest: Manifest) -> None:
    """Ask whether to begin a review that writes much.

    Raises typer.Exit where the answer is no: that is no error, and nothing was measured.
    """
    from iogauge.reviews.estimate import cost_of
    from iogauge.suites import suite_of

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    cost = cost_of(manifest, suite_of)
    costly = [target for target in manifest.targets if _asks(target, cost)]
    if not costly:
        return
    streams.say(f"{question(costly, cost)} [y/N] ", end="")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        streams.say("nothing was begun\nhint: --yes does not ask; 'iogauge plan' shows every step")
        raise typer.Exit(status.ERROR)


def question(targets: list[TargetFacts], cost: ReviewCost) -> str:
    """Return what is asked: what is given back, how much is written where, and how long it takes."""
    from iogauge.text import numbers

    paths = [target.path for target in targets]
    parts = [f"on {path} {lost}" for path in paths if (lost := cost.given_back(path))]
    if written := [path for path in paths if cost.writes_to(path)]:
        most = sum(map(cost.written_to, written))
        amount = f"up to {numbers.size(most)}" if most else "an unknown amount"
        unknown = "" if cost.bounded else " (as much as a link carries: nothing limits some of the writes)"
        more = ", and more in steps that are not known yet" if cost.unknown else ""
        parts.append(f"this writes {amount}{unknown if most else ''} to {', '.join(written)}{more}")
    time = numbers.clock_time(cost.expected_s)
    return f"{'; '.join(parts)}, and takes {time} at least; go on?"


def lost(manifest: Manifest, cost: ReviewCost, *, asked_by: str | None = None) -> Iterator[str]:
    """Yield a line for each target whose content is lost, and before it how it is given back.

    ``asked_by``: the script that runs the steps in the review's place, and what it asks for.
    """
    for target in manifest.targets:
        if target.modelled:
            continue
        if given_back := cost.given_back(target.path):
            yield f"{target.path}: {given_back}"
        if given_back or cost.writes_to(target.path):
            if asked_by is not None:
                there = "" if target.kind == "block" else " where it is there"
                what = f"its content is lost ({asked_by}{there})"
            elif target.kind == "block":
                what = "its content is lost (review asks for --destroy)"
            else:
                what = "a file, made where it is missing, refused where it is not iogauge's own"
            yield f"writes to {target.path}: {what}"


def _asks(target: TargetFacts, cost: ReviewCost) -> bool:
    if target.kind == "block":
        return cost.writes_to(target.path) or bool(cost.given_back(target.path))
    bounded = sum(step.written_bytes for step in cost.on(target.path) if step.bounded)
    return target.kind == "file" and bounded >= MUCH_BYTES
