"""Finds saved reviews below a directory, damaged ones included, so that one of them does not stop a list.

It opens every manifest, and checks only whether steps exist. It searches ``DEPTH`` levels of directories, does not
enter reviews, and follows no symbolic link below the directory.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.store.names import DEPTH, MANIFEST
from iogauge.store.reported import SummaryFigure, read_summary
from iogauge.store.review import Review


@dataclass(frozen=True)
class Directory:
    """A directory with a manifest: its review, or why it cannot be read."""

    path: Path
    review: Review | None
    problem: IogaugeError | None = None
    reported: tuple[SummaryFigure, ...] = ()
    """Figures without samples of an imported review."""


def find_reviews(directory: Path, *, depth: int = DEPTH) -> Iterator[Directory]:
    """Yield the reviews in a directory and below it, by path.

    Raises IogaugeError if ``directory`` itself cannot be read; unreadable directories below it are skipped.
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
                continue  # an unreadable directory has no review to show


def refuse_irregular(review: Path) -> None:
    """Raise IogaugeError if a review has a pipe, a device or a link, which iogauge never leaves in one.

    A review may come from a stranger: reading a pipe would never end, and a link may lead to any file.
    """
    folders = [str(review)]
    while folders:
        try:
            entries = list(os.scandir(folder := folders.pop()))
        except FileNotFoundError:
            continue  # a step that was being written has been renamed
        except OSError as error:
            raise IogaugeError(
                f"{folder}: cannot be listed: {error.strerror}", hint="make it readable for you"
            ) from error
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.path)
            elif not entry.is_file(follow_symlinks=False):
                raise IogaugeError(
                    f"{entry.path}: neither a file nor a directory",
                    hint="iogauge leaves no such entry: remove it",
                )


def _opened(path: Path) -> Directory:
    try:
        return Directory(path, Review.open(path), reported=read_summary(path))
    except IogaugeError as error:
        return Directory(path, None, error)
