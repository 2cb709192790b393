"""The progress of ``report`` and ``compare`` while a page is made, and of traces, on a terminal; and warnings."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import TYPE_CHECKING

from iogauge.cli.terminal import streams

if TYPE_CHECKING:
    from iogauge.cli.terminal.progress import Progress as Display
    from iogauge.library.progress import Progress


class ReportProgress(AbstractContextManager["ReportProgress"]):
    """Shows progress if stderr is a terminal, and prints messages."""

    def __init__(self, title: str = "report") -> None:
        self._title = title
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
        """Show a piece of progress, or print a message."""
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
        self._display = self._parts.enter_context(Progress(title=f"{self._title}: {step}"))
        self._display.step("", expected_s=None)
