"""``iogauge watch``: show a running measurement on one screen.

Show the 'iogauge run', 'review', 'quick', 'find', 'ladder' or 'replay' that is running: what it does and what is left,
rates and the rates set, latencies over time, temperature and throttling, whether it is steady, and warnings as they
come. WHICH is the directory of a review or a process ID; without it, the only measurement that is running.

The measurement never waits for whoever watches. Keys: space pauses the display, tab or 1 to 9 choose the job, e ends
the measurement after a question, q leaves it running, ? explains. Where the terminal cannot move its cursor, or the
output is not a terminal, lines are printed. 'iogauge run --watch' and 'iogauge review --watch' show the same screen.

    iogauge watch

    iogauge watch iogauge-nvme0n1-20260101T120000Z
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import process, streams
from iogauge.errors import IogaugeError

if TYPE_CHECKING:
    from iogauge.live.finding import FeedInfo

NICE = 10
"""A low priority: the measurement needs the CPU more. At 19, a busy machine shows nothing for minutes."""


def watch(
    which: Annotated[
        str | None,
        typer.Argument(metavar="[WHICH]", help="A review's directory, or a process ID.", show_default=False),
    ] = None,
) -> None:
    """Show a running measurement until it ends."""
    os.nice(NICE)  # Before more is imported: that takes more CPU time than minutes of drawing.
    from iogauge.cli.watch import loop
    from iogauge.cli.watch.terminal import is_capable
    from iogauge.live.finding import feeds

    process.begin()
    info = chosen(feeds(), which)
    if is_capable(sys.stdout):
        loop.show_screen(info, sys.stdout, sys.stdin)
    else:
        loop.show_lines(info, lambda line: streams.show(f"{line}\n"))


def chosen(running: list[FeedInfo], which: str | None) -> FeedInfo:
    """Return the measurement that is meant. Raises IogaugeError if there is none, or several could be."""
    if which is None:
        if not running:
            raise IogaugeError(
                "no measurement of this user is running",
                hint="begin one with 'iogauge run' or 'iogauge review', or watch as the user who began it",
            )
        if len(running) > 1:
            raise IogaugeError(
                f"{len(running)} measurements are running: {_listed(running)}",
                hint=f"name one: iogauge watch {running[0].pid}",
            )
        return running[0]
    for info in running:
        if which == str(info.pid) or (info.review is not None and _same(info.review, Path(which))):
            return info
    others = f"; running: {_listed(running)}" if running else ""
    if Path(which).is_dir():
        raise IogaugeError(
            f"{which}: no process is running this review{others}",
            hint="'iogauge show' shows what is saved, 'iogauge review --resume' continues it",
        )
    raise IogaugeError(
        f"{which}: neither the directory of a running review nor the process ID of a measurement{others}",
        hint="'iogauge watch' without a name shows the one that is running",
    )


def _listed(running: list[FeedInfo]) -> str:
    from iogauge.cli.watch.clean import clean

    return "; ".join(f"{info.pid} ({clean(info.title)})" for info in running)


def _same(review: Path, other: Path) -> bool:
    return os.path.realpath(review) == os.path.realpath(other)
