"""Saved reviews below a directory, with those that cannot be read: a list is not stopped by one that is damaged.

Looks for manifests and opens each; of steps it only sees whether they are there. It goes no deeper than ``DEPTH``
directories, does not go into reviews, and follows no symbolic link below the directory named.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.store.names import MANIFEST
from iogauge.store.reported import Told, read_told
from iogauge.store.review import Review

DEPTH = 4
"""Directories below the one named."""


@dataclass(frozen=True)
class Found:
    """A directory with a manifest: the review, or what is wrong with it."""

    path: Path
    review: Review | None
    problem: IogaugeError | None = None
    told: tuple[Told, ...] = ()
    """Of one that was imported: figures without samples."""


def find_reviews(directory: Path, *, depth: int = DEPTH) -> Iterator[Found]:
    """Yield the reviews in a directory and below it, by path.

    Raises IogaugeError where ``directory`` itself cannot be read; those below it that cannot be are passed over.
    """
    try:
        names = sorted(os.scandir(directory), key=lambda entry: entry.name)
    except OSError as error:
        raise IogaugeError(
            f"{directory}: cannot be listed: {error.strerror}", hint="name a directory that holds reviews"
        ) from error
    if any(entry.name == MANIFEST for entry in names):
        yield _opened(directory)
        return
    if not depth:
        return
    for entry in names:
        if entry.is_dir(follow_symlinks=False):
            try:
                yield from find_reviews(directory / entry.name, depth=depth - 1)
            except IogaugeError:
                continue  # what may not be read holds no review that could be shown


def _opened(path: Path) -> Found:
    try:
        return Found(path, Review.open(path), told=read_told(path))
    except IogaugeError as error:
        return Found(path, None, error)
