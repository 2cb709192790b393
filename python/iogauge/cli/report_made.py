"""What ``report`` and ``compare`` show while a report is made.

A page of several drives takes a while; on a terminal, stderr shows how far it is. Prints nothing else but warnings.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from iogauge.cli.terminal import streams

if TYPE_CHECKING:
    from iogauge.cli.terminal.progress import Progress as Display
    from iogauge.library.progress import Progress


class Shown(AbstractContextManager["Shown"]):
    """Shows each part of making a report while it lasts, where stderr is a terminal, and what is worth a line."""

    def __init__(self) -> None:
        self._parts = ExitStack()
        self._step = ""
        self._display: Display | None = None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._parts.__exit__(kind, error, trace)

    def __call__(self, news: Progress) -> None:
        """Take what there is to show."""
        if news.event == "message":
            self._parts.close()
            self._step = ""
            streams.say(news.message)
        elif sys.stderr.isatty():
            if news.step != self._step:
                self._begin(news.step)
            if self._display:
                self._display.counted(news.number, news.steps)

    def _begin(self, step: str) -> None:
        from iogauge.cli.terminal.progress import Progress

        self._parts.close()
        self._step = step
        self._display = self._parts.enter_context(Progress(title=f"report: {step}"))
        self._display.step("", expected_s=None)
