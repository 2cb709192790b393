"""Figures that another tool told without the samples behind them: ``figures.json`` in a review that was imported.

A percentile without its counts is a number that was printed. It can be shown and laid beside others; it cannot be
merged, resampled or judged, and no sample is made up for it. So it is kept as what it is, beside the steps that have
histograms. A review of our own has no such file.
"""

from __future__ import annotations

from pathlib import Path

import pydantic

from iogauge.schema import SCHEMA_VERSION, Direction, Kind, Model
from iogauge.store.names import FIGURES
from iogauge.store.objects import read_sealed, write_sealed


class Told(Model):
    """One direction of one row of one run, as its tool printed it."""

    label: str
    """Of the run: its job's name, or its file where names clash."""
    at: float
    """Its place among the runs of its job, from 1."""
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
    """Which latency it is; None: none was told."""
    mean_ns: float | None = None
    quantiles_ns: dict[float, float] = pydantic.Field(default_factory=dict)
    """By fraction, in (0, 1)."""

    def supports(self, q: float) -> bool:
        """Whether ten samples or more lie beyond a quantile."""
        return self.ios * (1 - q) >= 10 - 1e-6


class _File(Model):
    schema_version: int
    figures: tuple[Told, ...]


def save_told(directory: Path, figures: tuple[Told, ...]) -> None:
    """Save figures in a review's directory. Raises IogaugeError where that cannot be."""
    write_sealed(directory / FIGURES, _File(schema_version=SCHEMA_VERSION, figures=figures))


def read_told(directory: Path) -> tuple[Told, ...]:
    """Return the figures of a review's directory; none, where it has no such file.

    Raises IogaugeError where the file is damaged, or a newer iogauge wrote it.
    """
    path = directory / FIGURES
    return read_sealed(path, _File).figures if path.is_file() else ()
