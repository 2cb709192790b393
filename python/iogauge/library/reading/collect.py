"""Collecting: the figures of many reviews in one place, which is searched, queried and compared as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.library.options import StrPath, as_list
from iogauge.library.progress import OnProgress, Progress
from iogauge.library.public import public
from iogauge.text.numbers import counted

if TYPE_CHECKING:
    from iogauge.errors import IogaugeError


@dataclass(frozen=True)
class CollectResult:
    """What ``collect`` did. ``str()`` is a sentence."""

    collection: str
    """The directory of the collection, or its address in an object store."""
    added: int
    """Reviews, or new versions of reviews, that the collection lacked."""
    known: int
    """Reviews that it had as they are."""
    copied: int
    """Reviews whose directories were copied into it."""
    skipped: tuple[IogaugeError, ...]
    """Why reviews were left out, an error for each."""

    def __str__(self) -> str:
        text = f"{self.collection}: {counted(self.added, 'review')} added, {self.known:,} known already"
        text += f", {counted(self.copied, 'review')} copied" if self.copied else ""
        return text + (f", {counted(len(self.skipped), 'review')} left out" if self.skipped else "")


@public
def collect(
    sources: StrPath | Sequence[StrPath],
    output: StrPath,
    *,
    with_reviews: bool = False,
    on_progress: OnProgress = lambda _: None,
) -> CollectResult:
    """Add the figures of reviews to a collection: Parquet files in a directory or an object store.

    What the collection has already is not read again. Any number of processes may collect at once, and one that is
    killed leaves the collection whole. ``open_collection`` reads it.

    Args:
        sources: directories or addresses such as ``"s3://bucket/reviews"``; reviews are found up to four directories
            below, those of a fleet's hosts among them.
        output: the collection: a directory, or an address such as ``"s3://bucket/collection"``; made if it is missing.
        with_reviews: copy the reviews' directories, too, for reports and tested comparisons.
        on_progress: is called with how many reviews are found and read.

    Raises:
        IogaugeError: a source cannot be listed, or ``output`` is something else or cannot be written.
    """
    from iogauge.errors import IogaugeError
    from iogauge.index.collection.collect import collect as add
    from iogauge.index.collection.place import is_address
    from iogauge.index.collection.stored import Collection
    from iogauge.store.outputs import Claims

    if not is_address(output):
        Claims().new_directory(Path(output))
    collection = Collection.make(output)

    def on_reviews(what: str, done: int, total: int) -> None:
        on_progress(Progress(event="part", step=what, number=done, steps=total))

    counts = add(
        [fspath(source) for source in as_list(sources)],
        collection,
        with_copies=with_reviews,
        on_progress=on_reviews,
    )
    skipped = tuple(IogaugeError(one.why, hint=one.hint) for one in counts.skipped)
    return CollectResult(collection.address, counts.added, counts.known, counts.copied, skipped)
