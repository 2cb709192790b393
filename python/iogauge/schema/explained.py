"""Where the time of modelled requests went: means of the parts of their latency, as the core returns them."""

from __future__ import annotations

from pydantic import Field

from iogauge.schema.base import Direction, Model, NonNegative


class PartMeaning(Model):
    """A part of a modelled request's latency."""

    name: str
    meaning: str
    """A sentence."""
    host: bool
    """Whether the time passes in the computer, not in the drive."""


class MeanParts(Model):
    """The mean latency of some requests, ns, and the mean of each part that took time. The parts add up to it."""

    mean_ns: float
    parts_ns: dict[str, float]


class PartsBand(MeanParts):
    """The requests around a quantile: for p50 those from p47 to p53, for p99 from p98.5 to p99.33."""

    quantile: float = Field(gt=0, lt=1)
    count: float
    """How many they are; a histogram's bucket at the edge counts in proportion."""


class DirectionParts(MeanParts):
    """All requests of one direction."""

    count: NonNegative
    bands: tuple[PartsBand, ...]
    """By quantile; only those with at least ten requests beyond."""


class RowParts(Model):
    """The requests of one reported row."""

    stage: NonNegative
    row: NonNegative
    name: str
    directions: dict[Direction, DirectionParts]


class ExplainedRun(Model):
    """Where the time of a modelled run's requests went."""

    parts: tuple[PartMeaning, ...]
    """The parts that took time, in the order in which reports list them."""
    rows: tuple[RowParts, ...]
