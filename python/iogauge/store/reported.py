"""Saves figures that another tool reported without samples: ``figures.json`` in an imported review.

A percentile without counts can be shown and compared, but not merged, resampled or judged. No sample is made up for it:
it is kept as a figure, beside the steps that have histograms. A review of iogauge has no such file.
"""

from __future__ import annotations

from pathlib import Path

import pydantic

from iogauge.schema import SCHEMA_VERSION, Direction, Kind, Model
from iogauge.store.names import FIGURES
from iogauge.store.objects import read_checked, write_checked


class SummaryFigure(Model):
    """The figures of one direction of one row of a run, as its tool printed them."""

    label: str
    """The run's job, or its file if names clash."""
    at: float
    """Its number among the runs of its job, from 1."""
    job: str
    direction: Direction
    target: str
    tool: str
    source: str
    """The file that it was read from."""
    loop: str = ""
    """DiskSpd above depth 1: which asynchronous loop measured it (``workload.diskspd.versions``)."""
    duration_s: float
    ios: int
    iops: float
    rate_Bps: float
    kind: Kind | None
    """Which latency it is; None: it has no latency."""
    mean_ns: float | None = None
    quantiles_ns: dict[float, float] = pydantic.Field(default_factory=dict)
    """By fraction, in (0, 1)."""

    def supports(self, q: float) -> bool:
        """Return whether at least ten samples lie beyond a quantile."""
        return self.ios * (1 - q) >= 10 - 1e-6


class _File(Model):
    schema_version: int
    figures: tuple[SummaryFigure, ...]


def save_summary(directory: Path, figures: tuple[SummaryFigure, ...]) -> None:
    """Save figures in a review's directory. Raises IogaugeError if they cannot be written."""
    write_checked(directory / FIGURES, _File(schema_version=SCHEMA_VERSION, figures=figures))


def read_summary(directory: Path) -> tuple[SummaryFigure, ...]:
    """Return the figures of a review's directory; none if it has no such file.

    Raises IogaugeError if the file is damaged or too new.
    """
    path = directory / FIGURES
    return read_checked(path, _File).figures if path.is_file() else ()
