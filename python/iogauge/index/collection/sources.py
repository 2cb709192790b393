"""Finds the reviews to collect: below directories, those of a fleet's hosts among them, and in object stores.

A review in an object store is downloaded: first the small files that say which review it is, in which version, and the
others only if the collection lacks it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from iogauge.errors import IogaugeError
from iogauge.index.collection.place import MARKER, Place, download, is_address, open_place
from iogauge.index.read import Source
from iogauge.index.scan import scan
from iogauge.store.checksums import SUMS
from iogauge.store.names import COMPUTED, DEPTH, LOCK, MANIFEST

_LEFT_OUT = (COMPUTED, LOCK)
MOST_AT_ONCE = 256
"""Reviews of an object store that are on this computer at once."""


class Reviews(NamedTuple):
    """Some reviews to collect, each in a directory of this computer."""

    sources: list[Source]
    """Each with its address as its id."""
    remote: Remote | None = None
    """What completes those of an object store."""


class Remote:
    """Downloads reviews of an object store into a directory."""

    def __init__(self, place: Place, files: dict[str, list[str]], directory: Path) -> None:
        self._place = place
        self._files = files
        self._directory = directory

    def begin(self) -> list[Source]:
        """Download what says which reviews these are. Raises IogaugeError."""
        return [
            Source(f"{self._place.address}/{folder}".rstrip("/"), self._fetch(number, folder, True))
            for number, folder in enumerate(self._files)
        ]

    def complete(self, sources: Sequence[Source]) -> None:
        """Download the other files of some of them. Raises IogaugeError."""
        folders = list(self._files)
        for source in sources:
            number = int(Path(source.path).name)
            self._fetch(number, folders[number], False)

    def _fetch(self, number: int, folder: str, small: bool) -> str:
        to = self._directory / str(number)
        for name in self._files[folder]:
            path = PurePosixPath(name).relative_to(folder)
            is_small = len(path.parts) == 1 or path.name == SUMS
            if is_small == small and path.name not in _LEFT_OUT and ".." not in path.parts:
                download(self._place, name, to / path)
        return str(to)


def reviews_in(source: str | PathLike[str], *, without: Path | None) -> Iterator[Reviews]:
    """Yield the reviews in a directory or an object store; ``without``: a directory in which none are taken.

    Those of an object store are removed from this computer when the next are taken. Raises IogaugeError if the place
    cannot be listed or read, or is a collection itself.
    """
    place = open_place(source)
    if place.has(MARKER):
        raise IogaugeError(
            f"{place.address}: is a collection, and no directory of reviews",
            hint="name the directories from which it was made",
        )
    if not is_address(source) and place.directory is not None:
        yield Reviews(_local(place.directory, without))
        return
    files = _by_review(place.names())
    folders = sorted(files)
    for first in range(0, len(folders), MOST_AT_ONCE):
        chunk = {folder: files[folder] for folder in folders[first : first + MOST_AT_ONCE]}
        with tempfile.TemporaryDirectory(prefix="iogauge-collect-") as directory:
            remote = Remote(place, chunk, Path(directory))
            yield Reviews(remote.begin(), remote)


def _local(directory: Path, without: Path | None) -> list[Source]:
    inside = without.resolve() if without else None
    return [
        Source(path, path)
        for path in sorted(place.path for place in scan(directory).values())
        if inside is None or not Path(path).resolve().is_relative_to(inside)
    ]


def _by_review(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the files of each review, by its folder; a folder within a review is none of its own."""
    folders = {str(PurePosixPath(name).parent) for name in names if PurePosixPath(name).name == MANIFEST}
    files: dict[str, list[str]] = {}
    for name in names:
        above = [str(parent) for parent in reversed(PurePosixPath(name).parents)]
        folder = next((parent for parent in above if parent in folders), None)
        if folder is not None and len(PurePosixPath(folder).parts) <= DEPTH:
            files.setdefault("" if folder == "." else folder, []).append(name)
    return files
