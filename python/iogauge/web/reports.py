"""Reports of saved reviews as pages, kept while their reviews stay as they are."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import anyio
from anyio import to_thread
from markupsafe import Markup

from iogauge.library.reading.report import read_report, written
from iogauge.report.page.render import Frame, page
from iogauge.results.review import keep_computed
from iogauge.store.names import AUDITS, FIGURES, MANIFEST

MOST_BYTES = 64 << 20
"""How much text is kept; the pages that nobody has opened for longest go first."""
_MARKS = Frame(
    head=Markup("<!--iogauge:head-->"),
    top=Markup("<!--iogauge:top-->"),
    scripts=Markup("<!--iogauge:scripts-->"),
)
"""Where the frame of a page goes. Texts of a review cannot have them: there, ``<`` is escaped."""
_TURNS = anyio.CapacityLimiter(1)
P = ParamSpec("P")
T = TypeVar("T")


async def in_turn(make: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return what ``make`` returns, which takes a CPU for long: a report or a comparison.

    One is made at a time, in a thread that no other request needs; whoever waits for a turn holds no thread.
    """
    return await to_thread.run_sync(partial(make, *args, **kwargs), limiter=_TURNS)


class Reports:
    """The pages of reports that were opened last. Make them within ``in_turn``, unless they are there (``has``)."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._pages: OrderedDict[tuple[Path, str], tuple[str, str]] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, review: Path, *, framed: bool) -> bool:
        """Return whether the page of a review is there as the review is now, so that nothing has to be made."""
        return self._kept((review, _kind(framed)), signature(review)) is not None

    def framed(self, review: Path, frame: Frame) -> str:
        """Return the page of a review in a frame. Raises IogaugeError if the review cannot be read."""
        text = self._page((review, _kind(True)), lambda: _framed(review))
        for place, content in zip(
            (_MARKS.head, _MARKS.top, _MARKS.scripts), (frame.head, frame.top, frame.scripts), strict=True
        ):
            text = text.replace(place, content, 1)
        return text

    def file(self, review: Path) -> str:
        """Return the report of a review that needs no server. Raises IogaugeError if the review cannot be read."""
        return self._page((review, _kind(False)), lambda: _file(review))

    def _page(self, key: tuple[Path, str], make: Callable[[], str]) -> str:
        now = signature(key[0])
        if (text := self._kept(key, now)) is not None:
            return text
        text = make()
        with self._lock:
            self._pages[key] = now, text
            self._pages.move_to_end(key)
            while (
                sum(len(text) for _, text in self._pages.values()) > self._most_bytes and len(self._pages) > 1
            ):
                self._pages.popitem(last=False)
        return text

    def _kept(self, key: tuple[Path, str], now: str) -> str | None:
        """Return a page that is as its review is now; None: there is none."""
        with self._lock:
            before, text = self._pages.get(key, ("", ""))
            if before != now:
                return None
            self._pages.move_to_end(key)
            return text


def _kind(framed: bool) -> str:
    return "framed" if framed else "file"


def signature(review: Path) -> str:
    """Return what changes with the plan, the audits, the complete steps and the imported figures of a review."""
    parts = []
    for path in (review / MANIFEST, review / AUDITS, review / FIGURES, review / "steps"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            parts.append(f"{path.name} {status.st_ino}.{status.st_mtime_ns}.{status.st_size}")
    return " ".join(parts)


def _file(review: Path) -> str:
    return written(read_report([review]), format="html")


def _framed(review: Path) -> str:
    report = read_report([review])
    text = page(report, frame=_MARKS)
    keep_computed(report.drives)
    return text
