"""SNIA's latency test: the steady-state latency of one request at a time.

A round is nine cells of a minute each: 8 KiB, 4 KiB and 512 B at random, as reads, as a 65/35 mix, and as writes, by
one thread at depth 1. The tracked value is the mean latency of 4 KiB writes. The tables show mean and maximum.

Caveats. The specification averages the maxima of the window's rounds; this suite shows the largest of them.

Source: SNIA PTS 2.0.2, the latency test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.results.conclusions import Matrix
from iogauge.schema import RunRecord
from iogauge.stats.figures import StepFigures
from iogauge.suites.snia.cells import allowed, block_notes, mix_cells, mix_matrix
from iogauge.suites.snia.common import Jobs, Procedure
from iogauge.suites.suite import SuiteRequest
from iogauge.workload.numbers import KIB

SHARES = (100, 65, 0)
SIZES = (8 * KIB, 4 * KIB, 512)


class PtsLatency(Procedure):
    """See the module's text."""

    NAME = "pts-latency"
    TITLE = "SNIA PTS: latency"
    TRACKS = "mean latency of 4 KiB random writes"
    UNIT = "us"

    def tracked(self, figures: StepFigures) -> float:
        """Return the mean latency, microseconds."""
        return _mean_us(figures) or 0.0

    def cells(self, request: SuiteRequest, _group: str) -> Jobs:
        """Return a stage for each size of each mix."""
        return mix_cells(SHARES, allowed(SIZES, request), threads=1, depth=1)

    def tables(self, rounds: Sequence[RunRecord], _series: str, title: str) -> tuple[Matrix, ...]:
        """Return mean and maximum latency by mix and size."""
        means = mix_matrix(rounds, f"mean latency in us, {title}", "us", _mean_us)
        most = mix_matrix(rounds, f"largest latency in us, {title}", "us", _max_us, over=max)
        return means, most

    def notes(self, request: SuiteRequest) -> Iterator[str]:
        """Yield how the test differs from the specification."""
        yield from super().notes(request)
        yield from block_notes(SIZES, request)


def _mean_us(figures: StepFigures) -> float | None:
    return None if figures.mean is None else figures.mean.value / 1e3


def _max_us(figures: StepFigures) -> float | None:
    return None if figures.max_ns is None else figures.max_ns / 1e3
