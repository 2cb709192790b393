"""Finds reviews below a directory, and what shows that one of them has changed, without opening any.

The search is that of ``store.find``: ``DEPTH`` levels, not into reviews, and along no symbolic link.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from iogauge.errors import IogaugeError
from iogauge.store.names import DEPTH, FIGURES, MANIFEST, NOTES


class Place(NamedTuple):
    """A directory with a review."""

    path: str
    measured: str
    """Changes with the manifest, the complete steps, and the figures of an import."""
    notes: str
    """Changes with the notes."""
    written_ns: int
    """When its manifest was last written, since 1970."""


def scan(directory: Path) -> dict[str, Place]:
    """Return the reviews in a directory and below it, by their ids.

    Raises IogaugeError if the directory itself cannot be listed; unreadable ones below it are skipped.
    """
    top = str(directory)
    try:
        with os.scandir(top):
            pass
    except OSError as error:
        raise IogaugeError(
            f"{directory}: cannot be listed: {error.strerror}", hint="name a directory that holds reviews"
        ) from error
    return {_id(path, top): place for path, place in _places(top, DEPTH)}


def _places(path: str, depth: int) -> Iterator[tuple[str, Place]]:
    place = _place(path)
    if place is not None:
        yield path, place
    elif depth:
        try:
            with os.scandir(path) as entries:
                folders = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            return  # an unreadable directory has no review to show
        for folder in folders:
            yield from _places(folder, depth - 1)


def _place(path: str) -> Place | None:
    """Return the review in a directory; None: it has none."""
    manifest = _status(f"{path}/{MANIFEST}")
    if manifest is None:
        return None
    steps, figures, notes = (_version(_status(f"{path}/{name}")) for name in ("steps", FIGURES, NOTES))
    return Place(path, f"{_version(manifest)} {steps} {figures}", notes, manifest.st_mtime_ns)


def _version(status: os.stat_result | None) -> str:
    return f"{status.st_ino}.{status.st_mtime_ns}.{status.st_size}" if status else "-"


def _status(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None


def _id(path: str, top: str) -> str:
    """Return a review's id. A name that is not UTF-8 is escaped: reading such a review fails with that reason."""
    relative = path[len(top) :].strip("/") or "."
    return os.fsencode(relative).decode("utf-8", "backslashreplace")
