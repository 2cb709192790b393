"""Reports of saved reviews as pages, kept while their reviews stay as they are."""

from __future__ import annotations

import contextlib
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from markupsafe import Markup

from iogauge.library.reading.report import read_report, written
from iogauge.report.page.render import Frame, page
from iogauge.results.review import keep_computed
from iogauge.store.names import AUDITS, MANIFEST

MOST_BYTES = 64 << 20
"""How much text is kept; the pages that nobody has opened for longest go first."""
_MARKS = Frame(
    head=Markup("<!--iogauge:head-->"),
    top=Markup("<!--iogauge:top-->"),
    scripts=Markup("<!--iogauge:scripts-->"),
)
"""Where the frame of a page goes. Texts of a review cannot have them: there, ``<`` is escaped."""


class Reports:
    """The pages of reports that were opened last. One is made at a time, since that takes a CPU."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._pages: OrderedDict[tuple[Path, str], tuple[str, str]] = OrderedDict()
        self._making = threading.Lock()

    def framed(self, review: Path, frame: Frame) -> str:
        """Return the page of a review in a frame. Raises IogaugeError if the review cannot be read."""
        text = self._page(review, "framed", lambda: _framed(review))
        for place, content in zip(
            (_MARKS.head, _MARKS.top, _MARKS.scripts), (frame.head, frame.top, frame.scripts), strict=True
        ):
            text = text.replace(place, content, 1)
        return text

    def file(self, review: Path) -> str:
        """Return the report of a review that needs no server. Raises IogaugeError if the review cannot be read."""
        return self._page(review, "file", lambda: written(read_report([review]), format="html"))

    def _page(self, review: Path, kind: str, make: Callable[[], str]) -> str:
        with self._making:
            now = signature(review)
            before, text = self._pages.pop((review, kind), ("", ""))
            if before != now:
                text = make()
            self._pages[review, kind] = now, text
            while (
                sum(len(text) for _, text in self._pages.values()) > self._most_bytes and len(self._pages) > 1
            ):
                self._pages.popitem(last=False)
            return text


def signature(review: Path) -> str:
    """Return what changes with what the report of a review shows: its plan, its audits and its complete steps."""
    parts = []
    for path in (review / MANIFEST, review / AUDITS, review / "steps"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            parts.append(f"{path.name} {status.st_ino}.{status.st_mtime_ns}.{status.st_size}")
    return " ".join(parts)


def _framed(review: Path) -> str:
    report = read_report([review])
    text = page(report, frame=_MARKS)
    keep_computed(report.drives)
    return text
