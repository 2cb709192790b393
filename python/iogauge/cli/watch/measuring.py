"""What a command does while it measures: writes the feed, and shows its progress or, with ``--watch``, the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.cli.watch.beside import Beside

if TYPE_CHECKING:
    from iogauge.cli.terminal.progress import Progress
    from iogauge.live.feed import Feed
    from iogauge.schema import Interval, RunPlan, RunRecord, SuitePlan


class Measuring(AbstractContextManager["Measuring"]):
    """Publishes and shows one measurement; a watcher of ``reviews.runner``.

    ``progress`` makes the display, and takes ``stream``, ``plain`` and ``every_s``. ``screen``: show the screen of
    ``iogauge watch`` instead, if stderr is a terminal that can. The other arguments are those of ``Feed``.
    """

    def __init__(
        self,
        progress: Callable[..., Progress],
        *,
        title: str,
        targets: Sequence[str],
        review: Path | None = None,
        virtual: bool = False,
        screen: bool = False,
    ) -> None:
        from iogauge.live.feed import Feed

        self.feed: Feed = Feed(title=title, targets=targets, review=review, virtual=virtual)
        self._make_progress = progress
        self._screen = screen
        self._beside: Beside | None = None
        self._open = ExitStack()

    def __enter__(self) -> Measuring:
        with ExitStack() as stack:
            # The display ends before the feed: a step that was stopped is not said to be done. The screen ends last,
            # because it shows the end of the feed.
            if self._screen and Beside.possible():
                self._beside = stack.enter_context(Beside())
            stack.enter_context(self.feed)
            if self._beside is not None and not self.feed.reason:
                self._beside.start()
            options = self._beside.progress_options if self._beside else {}
            self.progress = stack.enter_context(self._make_progress(**options))
            if self._beside is not None and not self._beside.is_shown:
                reason = self.feed.reason or "its process ended early"
                self.progress.message(f"warning: the screen cannot be shown: {reason}")
            self._open = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> bool | None:
        return self._open.__exit__(*error)  # type: ignore[arg-type]

    def step(
        self,
        label: str,
        *,
        expected_s: float | None,
        ahead: int = 0,
        ahead_s: float | None = None,
        search: bool = False,
        more: bool = False,
    ) -> None:
        """Publish and show that a step begins; the arguments are those of ``reviews.runner.Watcher``."""
        self.feed.step(label, expected_s=expected_s, ahead=ahead, ahead_s=ahead_s, search=search, more=more)
        if self._beside is not None:
            self._beside.hold()
        self.progress.step(
            label, expected_s=expected_s, ahead=ahead, ahead_s=ahead_s, search=search, more=more
        )

    def started(self, plan: RunPlan) -> None:
        """Publish and show the rows of a step."""
        self.feed.started(plan)
        self.progress.started(plan)

    def interval(self, interval: Interval) -> None:
        """Publish and show an interval."""
        self.feed.interval(interval)
        self.progress.interval(interval)

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:
        """Publish and show the result of a step that has been saved."""
        self.feed.ended(plan, record)
        self.progress.ended(plan, record)

    def message(self, text: str) -> None:
        """Publish and show a message."""
        self.feed.message(text)
        self.progress.message(text)
