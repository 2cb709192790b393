"""Keeps the index up to date: a thread looks for changes whenever a page is asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from iogauge.errors import IogaugeError

if TYPE_CHECKING:
    from iogauge.index import Index, Progress

END_S = 1.0
"""How long the end of the server waits for a refresh; the index stays as far as it was read."""
REST_S = 2.0
"""The least time from the end of one look to the next: looking at 10,000 reviews takes a tenth of it."""


class Refresher:
    """Refreshes an index in a thread of its own, while the context lasts.

    ``say`` is called with the reason if it fails; the pages then show what the index has. ``at_once``: the first look
    does not wait for a page. An index that has reviews needs none: the first page is there sooner without it.
    """

    def __init__(
        self, index: Index, *, say: Callable[[str], None], at_once: bool = True, rest_s: float = REST_S
    ) -> None:
        self._index = index
        self._say = say
        self._rest_s = rest_s
        self._wanted = threading.Event()
        self._stop = threading.Event()
        self._state = "Looking for reviews." if at_once else ""
        self._at_once = at_once
        self._thread = threading.Thread(target=self._run, name="refresh", daemon=True)

    @property
    def state(self) -> str:
        """How far a refresh that takes long is, as a sentence; empty: the index is up to date."""
        return self._state

    def soon(self) -> None:
        """Ask for a look at what has changed. Returns at once."""
        self._wanted.set()

    def __enter__(self) -> Self:
        if self._at_once:
            self._wanted.set()
        self._thread.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._stop.set()
        self._wanted.set()
        self._thread.join(END_S)

    def _run(self) -> None:
        said = ""
        while True:
            self._wanted.wait()
            if self._stop.is_set():
                return
            self._wanted.clear()
            try:
                self._index.refresh(on_progress=self._progress, stop=self._stop)
                said = ""
            except Exception as error:
                if self._stop.is_set():
                    return
                if str(error) != said:  # once, not at every look
                    said = str(error)
                    self._say(_warning(error))
            self._state = ""
            self._stop.wait(self._rest_s)

    def _progress(self, progress: Progress) -> None:
        what = "Reading reviews" if progress.reading == "manifests" else "Reading figures"
        self._state = f"{what}: {progress.done:,} of {progress.total:,}."


def _warning(error: Exception) -> str:
    if isinstance(error, IogaugeError):
        return f"warning: {error}\nhint: {error.hint}"
    return (
        f"warning: the list of reviews is not up to date: {type(error).__name__}: {error}\n"
        "hint: this is a fault of iogauge: report it with this line"
    )
