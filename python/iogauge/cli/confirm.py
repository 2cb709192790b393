"""Asks, on a terminal, before a review writes much: to a block device whatever it is, or a lot to a file.

Where nobody can answer, nothing is asked: a script says what it wants by ``--destroy``, without which no device is
written to anyway.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from iogauge.cli import status, streams

if TYPE_CHECKING:
    from iogauge.schema import Manifest, TargetFacts
    from iogauge.suites.estimate import ReviewCost

MUCH_BYTES = 100 * 10**9
"""From so much on, writing to a file is asked about too: it wears the drive below."""


def before(manifest: Manifest) -> None:
    """Ask whether to begin a review that writes much.

    Raises typer.Exit where the answer is no: that is no error, and nothing was measured.
    """
    from iogauge.suites.estimate import cost_of

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return
    cost = cost_of(manifest)
    asked = [target for target in manifest.targets if _asks(target, cost)]
    if not asked:
        return
    streams.say(f"{question(asked, cost)} [y/N] ", end="")
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        streams.say("nothing was begun\nhint: --yes does not ask; 'iogauge plan' shows every step")
        raise typer.Exit(status.ERROR)


def question(targets: list[TargetFacts], cost: ReviewCost) -> str:
    """Return what is asked: how much is written where, and how long it takes."""
    from iogauge.stats import words

    most = words.size(sum(cost.written_to(target.path) for target in targets))
    unknown = "" if cost.bounded else " (as much as a link carries: nothing limits some of the writes)"
    more = ", and more after a search" if cost.searches else ""
    where = ", ".join(target.path for target in targets)
    time = words.clock_time(cost.expected_s)
    return f"this writes up to {most}{unknown} to {where}{more}, and takes {time} at least; go on?"


def _asks(target: TargetFacts, cost: ReviewCost) -> bool:
    written = cost.written_to(target.path)
    if target.kind == "model" or not written:
        return False
    return target.kind == "block" or written >= MUCH_BYTES
