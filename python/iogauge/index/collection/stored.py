"""``Collection``: the parts of a collection are listed, read and added; ``layout`` says what they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import TypeVar

import pyarrow as pa

from iogauge.errors import IogaugeError
from iogauge.index.collection import layout
from iogauge.index.collection.identity import identity_of
from iogauge.index.collection.place import MARKER, Place, open_place
from iogauge.store import Review
from iogauge.store.names import COMPUTED, LOCK, MANIFEST

AT_ONCE = 16
"""Files that are read at once: an object store answers each after a while."""

T = TypeVar("T")


@dataclass(frozen=True)
class Part:
    """Some reviews of a collection, with the columns of ``REVIEWS`` and ``FIGURES``."""

    reviews: pa.Table
    figures: pa.Table


class Collection:
    """A collection of reviews' figures."""

    def __init__(self, place: Place) -> None:
        self._place = place

    @property
    def address(self) -> str:
        """Its directory, or its address in an object store."""
        return self._place.address

    @property
    def directory(self) -> Path | None:
        """Its directory; None: it is in an object store."""
        return self._place.directory

    @classmethod
    def open(cls, address: str | PathLike[str]) -> Collection:
        """Open a collection. Raises IogaugeError if there is none, or a newer iogauge made it."""
        place = open_place(address)
        collection = cls(place)
        if not place.has(MARKER):
            raise IogaugeError(
                f"{place.address}: no collection is here",
                hint="name a collection, or make one of reviews first",
            )
        collection._check_version()
        return collection

    @classmethod
    def make(cls, address: str | PathLike[str]) -> Collection:
        """Open a collection, or make one in a new or empty place. Raises IogaugeError for any other place."""
        place = open_place(address)
        is_empty = place.is_empty()  # looked at first: another collector may make it now
        if place.has(MARKER):
            return cls.open(address)
        if not is_empty:
            raise IogaugeError(
                f"{place.address}: holds other files, and no collection",
                hint="name a collection, or a new or empty directory",
            )
        place.write(MARKER, json.dumps({"iogauge_collection": layout.VERSION}).encode())
        return cls(place)

    def parts(self) -> list[str]:
        """Return the names of the parts: those of the files with their reviews, in order."""
        return [name for name in self._place.names(layout.REVIEWS_FOLDER) if layout.is_part(name)]

    def read_parts(self, names: Sequence[str]) -> Iterator[tuple[str, Part | IogaugeError]]:
        """Yield parts, or why they cannot be read."""
        return _read_at_once(self._part, names)

    def versions(self) -> set[str]:
        """Return the versions of reviews that it has, those in damaged parts excepted."""
        versions: set[str] = set()
        for _, column in _read_at_once(self._versions, self.parts()):
            if isinstance(column, set):
                versions |= column
        return versions

    def add(self, month: str, part: Part) -> None:
        """Add reviews and their figures. The column ``part`` of the reviews is filled in."""
        name, data = layout.encoded(part.figures)
        self._place.write(layout.file_of(layout.FIGURES_FOLDER, month, name), data)
        place = layout.REVIEWS.get_field_index("part")
        field = layout.REVIEWS.field(place)
        reviews = part.reviews.set_column(place, field, pa.array([name] * len(part.reviews), pa.string()))
        name, data = layout.encoded(reviews)
        self._place.write(layout.file_of(layout.REVIEWS_FOLDER, month, name), data)

    def copies(self) -> set[str]:
        """Return the folders of the reviews that are copied completely."""
        names = map(PurePosixPath, self._place.names(layout.COPIES_FOLDER))
        return {str(name.parent) for name in names if name.name == MANIFEST and len(name.parts) == 4}

    def add_copy(self, path: Path, *, review: str, version: str) -> bool:
        """Copy a review in this version; return whether it still was in it. Raises IogaugeError or OSError."""
        saved = Review.open(path)
        identity = identity_of(saved)
        if (identity.review, identity.version) != (review, version):
            return False  # it went on: the next collecting has its new version
        manifest = (path / MANIFEST).read_bytes()
        folder = layout.copy_of(review, version)
        for file in _files(path, identity.steps):
            self._place.write(f"{folder}/{file}", (path / file).read_bytes())
        self._place.write(layout.manifest_of_copy(review, version), manifest)
        return True

    def path_of_copy(self, review: str, version: str) -> Path | None:
        """Return the directory of a copied review; None: it is not copied, or not to this computer's files."""
        if self.directory is None:
            return None
        manifest = self.directory / layout.manifest_of_copy(review, version)
        return manifest.parent if manifest.is_file() else None

    def _part(self, name: str) -> Part:
        reviews = layout.decoded(name, self._place.read(name), layout.REVIEWS)
        digests = set(reviews["part"].to_pylist())
        month = PurePosixPath(name).parts[1]
        file = layout.file_of(layout.FIGURES_FOLDER, month, str(digests.pop())) if len(digests) == 1 else ""
        if not layout.is_part(file):
            raise layout.damaged(name, "its figures have no name of a part")
        return Part(reviews, layout.decoded(file, self._place.read(file), layout.FIGURES))

    def _versions(self, name: str) -> set[str]:
        table = layout.decoded(name, self._place.read(name), layout.REVIEWS, ["version"])
        return {str(version) for version in table["version"].to_pylist()}

    def _check_version(self) -> None:
        try:
            version = json.loads(self._place.read(MARKER))["iogauge_collection"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise IogaugeError(
                f"{self.address}: {MARKER} is damaged",
                hint="restore this file from another collection",
            ) from None
        if version != layout.VERSION:
            raise IogaugeError(
                f"{self.address}: a newer iogauge made this collection", hint="update iogauge here"
            )


def _read_at_once(read: Callable[[str], T], names: Sequence[str]) -> Iterator[tuple[str, T | IogaugeError]]:
    """Yield the results of several readings at once, and no more of them in memory than that."""

    def result(name: str) -> T | IogaugeError:
        try:
            return read(name)
        except IogaugeError as error:
            return error

    with ThreadPoolExecutor(AT_ONCE) as threads:
        for first in range(0, len(names), AT_ONCE):
            chunk = names[first : first + AT_ONCE]
            yield from zip(chunk, threads.map(result, chunk), strict=True)


def _files(path: Path, steps: Sequence[str]) -> list[str]:
    """Return the files of a review but its manifest: a step that is being written is none of them."""
    folders = [path, *(path / "steps" / step for step in steps), *sorted((path / "stopped").glob("[!.]*"))]
    files = [file for folder in folders for file in sorted(folder.iterdir()) if file.is_file()]
    left_out = (MANIFEST, COMPUTED, LOCK)
    return [
        file.relative_to(path).as_posix()
        for file in files
        if not file.name.startswith(".") and not (file.parent == path and file.name in left_out)
    ]
