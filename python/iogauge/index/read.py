"""Reads one review for the index: first what its manifest says, then its figures.

These functions run in processes of their own for many reviews. What they raise for a damaged review, or one that was
made to do harm, becomes a row that says so: it must not end the reading of the others.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from iogauge.errors import IogaugeError
from iogauge.index.headline import headline_of
from iogauge.results.tables import FIGURES, rows_of
from iogauge.store import Review
from iogauge.store.names import MANIFEST
from iogauge.store.notes import read_notes
from iogauge.store.outputs import refuse_name

MOST_MANIFEST_BYTES = 64 << 20
"""No review of iogauge has a manifest of this size."""
_MOST_SEED = 2**64 - 1

T = TypeVar("T")


class Source(NamedTuple):
    """A review to read."""

    id: str
    path: str


class Problem(NamedTuple):
    """Why a review cannot be read."""

    text: str
    hint: str


class ReadFigures(NamedTuple):
    """The figures of one review."""

    table: pa.Table
    """With the columns of ``FIGURES``; ``review`` is the id."""
    headline: dict[str, Any] | None
    """The fields of ``Headline``."""


def read_manifest(source: Source) -> dict[str, Any] | Problem:
    """Return what a review's manifest and notes say, as columns of the table ``listed``."""
    return _guarded(lambda: _listed(source), source)


def read_figures(source: Source) -> ReadFigures | Problem:
    """Return a review's figures; those that are not cached beside it are computed, and cached there."""
    return _guarded(lambda: _figures(source), source)


def _listed(source: Source) -> dict[str, Any]:
    review = _opened(source)
    manifest, notes = review.manifest, read_notes(review.path)
    return {
        "review": source.id,
        "created": _created(manifest.created_at),
        "drives": [*dict.fromkeys(target.model or target.path for target in manifest.targets)],
        "targets": [target.path for target in manifest.targets],
        "host": manifest.machine.hostname,
        "cpu": manifest.machine.cpu,
        "suites": [*dict.fromkeys(plan.suite for plan in manifest.plans)],
        "pace": manifest.pace,
        "state": manifest.state,
        "seed": manifest.seed if manifest.seed <= _MOST_SEED else None,
        "repeats": manifest.repeats,
        "planned": len(manifest.steps),
        "complete": len(review.completed()),
        "modelled": bool(manifest.targets) and all(target.modelled for target in manifest.targets),
        "tags": [*notes.tags],
        "notes": notes.text,
    }


def _figures(source: Source) -> ReadFigures:
    review = _opened(source)
    _refuse_irregular(review.path)
    rows = [{**row, "review": source.id} for row in rows_of(review)]
    headline = headline_of(review)
    review.keep_computed()
    return ReadFigures(pa.Table.from_pylist(rows, schema=FIGURES), asdict(headline) if headline else None)


def _opened(source: Source) -> Review:
    path = Path(source.path)
    refuse_name(path)
    if (path / MANIFEST).is_file() and (path / MANIFEST).stat().st_size > MOST_MANIFEST_BYTES:
        raise IogaugeError(f"{path / MANIFEST}: too large for a manifest", hint="remove this directory")
    return Review.open(path)


def _refuse_irregular(path: Path) -> None:
    """Raise IogaugeError if a file to be read is a pipe, a device or a link, which iogauge never leaves in a review."""
    steps = [entry.path for entry in os.scandir(path / "steps") if entry.is_dir(follow_symlinks=False)]
    for folder in (str(path), *steps):
        for entry in os.scandir(folder):
            if not entry.is_file(follow_symlinks=False) and not entry.is_dir(follow_symlinks=False):
                raise IogaugeError(
                    f"{entry.path}: neither a file nor a directory",
                    hint="iogauge leaves no such entry: remove it",
                )


def _created(text: str) -> datetime | None:
    """Return the time of a manifest in UTC, without its zone, as the index keeps it; None: it is no time."""
    try:
        time = datetime.fromisoformat(text)
        return (time.astimezone(UTC) if time.tzinfo else time).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def _guarded(read: Callable[[], T], source: Source) -> T | Problem:
    try:
        return read()
    except IogaugeError as error:
        return Problem(str(error), error.hint or "")
    except Exception as error:  # whatever a file made by a stranger brings about
        return Problem(
            f"{source.id}: cannot be read: {type(error).__name__}: {error}",
            "restore it from a copy, or remove it",
        )
