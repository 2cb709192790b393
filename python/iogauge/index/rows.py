"""What the index says of one review: a row of the list."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

Unit = str
"""``IOPS``, ``B/s`` or ``ns``."""


@dataclass(frozen=True, slots=True)
class Headline:
    """The figure that stands for a review in one row."""

    metric: str
    """A column of the figures, such as ``iops`` or ``mean_ns``."""
    value: float
    """In ``unit``, as are the bounds."""
    unit: Unit
    low: float | None
    """The lower bound of the 95 % interval; None: not known."""
    high: float | None
    sentence: str
    """The figure and its load in words."""
    spark: tuple[float, ...]
    """The same metric at the positions of its series, in their order."""


@dataclass(frozen=True, slots=True)
class ReviewRow:
    """One review. All texts are as the review has them: data of a stranger, perhaps."""

    id: str
    """Its path, relative to the directory of the index; ``.`` is that directory itself."""
    created: datetime | None
    """UTC; None: the review cannot be read."""
    drives: tuple[str, ...]
    """The models of its targets, or their paths where the model is not known, each once."""
    targets: tuple[str, ...]
    """Paths of its targets."""
    host: str
    cpu: str
    suites: tuple[str, ...]
    pace: str
    state: str
    seed: int | None
    repeats: int
    planned: int
    """The steps known now; those after a search are unknown until it has run."""
    complete: int
    """The complete ones of them."""
    running: bool
    """Whether a process writes the review now."""
    modelled: bool
    """Whether all its targets are drive models."""
    tags: tuple[str, ...]
    notes: str
    headline: Headline | None
    """None: nothing is complete, or its figures have not been read yet."""
    figures_read: bool
    """Whether its figures are those of its files as they are."""
    problem: str
    """Why it cannot be read; empty: it can."""
    hint: str
    source: str = ""
    """Where it was collected from; empty: the index is of the reviews themselves."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of the list."""

    rows: tuple[ReviewRow, ...]
    total: int
    """How many reviews the whole list has."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that a filter can have."""

    value: str
    reviews: int
    """How many reviews have it."""
