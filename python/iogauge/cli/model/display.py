"""How far a fit or a comparison of models is, on stderr."""

from __future__ import annotations

from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING

from iogauge.cli.terminal.progress import Progress as Bar

if TYPE_CHECKING:
    from iogauge.library.progress import Progress


class Display(AbstractContextManager["Display"]):
    """Shows what the library reports of a task of this ``title``."""

    def __init__(self, *, title: str) -> None:
        self._bar = Bar(title=title)

    def __enter__(self) -> Display:
        self._bar.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def __call__(self, news: Progress) -> None:
        """Take one piece of news."""
        match news.event:
            case "begin":
                self._bar.step(news.step, expected_s=None, ahead=max(news.steps - news.number, 0))
            case "part":
                self._bar.counted(news.number, news.steps)
            case "trial":
                self._bar.trial(news.number, news.rms)
            case _:
                self._bar.message(news.message)
