"""Reads one review for the index: first what its manifest says, then its figures.

These functions run in processes of their own for many reviews. What they raise for a damaged review, or one that was
made to do harm, becomes a row that says so: it must not end the reading of the others.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import pyarrow as pa

from iogauge.errors import IogaugeError
from iogauge.index.headline import headline_of
from iogauge.results.tables import FIGURES, rows_of
from iogauge.store import Review
from iogauge.store.find import refuse_irregular
from iogauge.store.names import MANIFEST
from iogauge.store.notes import read_notes
from iogauge.store.outputs import refuse_name

MOST_MANIFEST_BYTES = 64 << 20
"""No review of iogauge has a manifest of this size."""
MOST_TEXT = 500
"""Characters of each text that the list keeps of a manifest; no true one is longer."""
MOST_LISTED = 64
"""How many drives, targets and suites the list keeps of a review."""
MOST_FIGURES_BYTES = 16 << 20
"""No review of iogauge has figures of this size."""
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
    return guarded(lambda: _listed(source), source)


def read_figures(source: Source) -> ReadFigures | Problem:
    """Return a review's figures; those that are not cached beside it are computed, and cached there."""
    return guarded(lambda: _figures(source), source)


def _listed(source: Source) -> dict[str, Any]:
    review = opened(source)
    manifest, notes = review.manifest, read_notes(review.path)
    return {
        "review": source.id,
        "created": created_of(manifest.created_at),
        "drives": _bounded(dict.fromkeys(target.model or target.path for target in manifest.targets)),
        "targets": _bounded(target.path for target in manifest.targets),
        "host": _cut(manifest.machine.hostname),
        "cpu": _cut(manifest.machine.cpu),
        "suites": _bounded(dict.fromkeys(plan.suite for plan in manifest.plans)),
        "pace": _cut(manifest.pace),
        "state": _cut(manifest.state),
        "seed": manifest.seed if manifest.seed <= _MOST_SEED else None,
        "repeats": manifest.repeats,
        "planned": len(manifest.steps),
        "complete": len(review.completed()),
        "modelled": bool(manifest.targets) and all(target.modelled for target in manifest.targets),
        "tags": [*notes.tags],
        "notes": notes.text,
    }


def _figures(source: Source) -> ReadFigures:
    review = opened(source)
    refuse_irregular(review.path)
    rows = [{**row, "review": source.id} for row in rows_of(review)]
    headline = headline_of(review)
    review.keep_computed()
    table = pa.Table.from_pylist(rows, schema=FIGURES)
    if table.nbytes > MOST_FIGURES_BYTES:
        raise IogaugeError(f"{review.path}: too many figures for a review", hint="remove this directory")
    if headline is None:
        return ReadFigures(table, None)
    fields = asdict(headline)
    return ReadFigures(table, {**fields, "sentence": _cut(fields["sentence"])})


def opened(source: Source) -> Review:
    """Open a review that may come from a stranger. Raises IogaugeError, or OSError if it is gone."""
    path = Path(source.path)
    refuse_name(path)
    status = (path / MANIFEST).lstat()
    if not stat.S_ISREG(status.st_mode):
        raise IogaugeError(
            f"{path / MANIFEST}: not a file of its own", hint="iogauge leaves no such entry: remove it"
        )
    if status.st_size > MOST_MANIFEST_BYTES:
        raise IogaugeError(f"{path / MANIFEST}: too large for a manifest", hint="remove this directory")
    return Review.open(path)


def created_of(text: str) -> datetime | None:
    """Return the time of a manifest in UTC, without its zone, as the index keeps it; None: it is no time."""
    try:
        time = datetime.fromisoformat(text)
        return (time.astimezone(UTC) if time.tzinfo else time).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def guarded(read: Callable[[], T], source: Source) -> T | Problem:
    """Return what ``read`` returns, or what it raises as a problem of the review."""
    try:
        return read()
    except IogaugeError as error:
        return Problem(_cut(str(error)), _cut(error.hint or ""))
    except Exception as error:  # whatever a file made by a stranger brings about
        return Problem(
            _cut(f"{source.id}: cannot be read: {type(error).__name__}: {error}"),
            "restore it from a copy, or remove it",
        )


def ended_early(source: Source) -> Problem:
    """Return the problem of a review whose reading ended its process."""
    return Problem(
        _cut(f"{source.id}: reading it ended its process: it may need too much memory"),
        "restore it from a copy, or remove it",
    )


def _bounded(texts: Iterable[str]) -> list[str]:
    return [_cut(text) for text in islice(texts, MOST_LISTED)]


def _cut(text: str) -> str:
    """Return a text that is short, and is UTF-8 even if it names a file that is not."""
    cut = text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 3]}..."
    return cut.encode("utf-8", "backslashreplace").decode()
