"""The progress of a fleet on the terminal: a line of summary that is drawn again, and events as lines that stay."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TextIO

from iogauge.cli.terminal.progress import EVERY_S
from iogauge.text import numbers

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

    from iogauge.fleet.progress import FleetProgress


class FleetDisplay(AbstractContextManager["FleetDisplay"]):
    """Shows the progress of a fleet; it is called with each piece of news.

    On a terminal the summary is one line at the bottom, from the first news on: what is asked before is not drawn over.
    Elsewhere it is a line at most every five seconds, and whenever the step changes.
    """

    def __init__(self, *, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._clock = clock
        self._live: Live | None = None
        self._news: FleetProgress | None = None
        self._said: tuple[str, float] | None = None

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._live:
            self._live.stop()

    def __call__(self, news: FleetProgress) -> None:
        """Show a piece of news: an event as a line that stays, anything else in the summary."""
        if self._live is None and self._stream.isatty():
            self._start()
        if news.event is not None:
            self._line(str(news))
            return
        self._news = news
        if self._live is None and self._is_due(news):
            self._said = (news.label, self._clock())
            self._line(summary(news))

    def _start(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._live = Live(
            get_renderable=self._drawn,
            console=Console(file=self._stream),
            refresh_per_second=1,
            transient=True,
            redirect_stdout=sys.stdout.isatty(),
        )
        self._live.start()

    def _is_due(self, news: FleetProgress) -> bool:
        if self._said is None:
            return True
        label, said = self._said
        return news.label != label or self._clock() - said >= EVERY_S

    def _line(self, text: str) -> None:
        if self._live:
            self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            print(text, file=self._stream, flush=True)

    def _drawn(self) -> RenderableType:
        from rich.text import Text

        return Text(summary(self._news) if self._news else "", no_wrap=True, overflow="ellipsis")


def summary(news: FleetProgress) -> str:
    """Return the state of a fleet in a line."""
    left = "" if news.left_s is None else f", {numbers.clock_time(news.left_s)} left"
    return f"{news}{left}"
