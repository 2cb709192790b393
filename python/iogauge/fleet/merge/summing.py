"""Adds stored histograms, interval by interval, in the Rust core: Arrow's buffers in, counts out.

A thousand hosts have millions of histograms, so none of them becomes a Python object. The core releases the GIL, and
several threads may add at the same time.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from iogauge._core import HistogramSums
from iogauge.schema import Exact
from iogauge.schema.hdr_histogram import RECORDER
from iogauge.stats.histogram import Histogram, needed


class SummedHistograms:
    """Sums of histograms for each of ``slots`` intervals, numbered from 0."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._sums = HistogramSums(slots)

    def add(self, slots: NDArray[np.int32], histograms: pa.Array[pa.BinaryScalar]) -> None:
        """Add encoded histograms, each to its slot; those of slot -1 are left out.

        Raises ValueError, which says why, where one is not a complete encoding in the recorder's layout.
        """
        _, offsets, data = histograms.buffers()
        if not len(slots) or offsets is None:
            return
        first = histograms.offset
        ends = np.frombuffer(memoryview(offsets), dtype=np.int32)[first : first + len(slots) + 1]
        content = b"" if data is None else data.slice(int(ends[0]), int(ends[-1] - ends[0])).to_pybytes()
        self._sums.add(slots.astype(np.int32).tobytes(), (ends - ends[0]).tobytes(), content)

    def counts(self) -> NDArray[np.int64]:
        """Return how much each slot counts."""
        return np.frombuffer(self._sums.counts(), dtype=np.int64)

    def quantiles(self, quantiles: tuple[float, ...]) -> NDArray[np.float64]:
        """Return the quantiles of each slot, a row of them for each, in ns; NaN where it has too few samples.

        ``quantiles`` ascend. Ranks are counted as ``Histogram.quantile`` counts them, and a value is the last of its
        bucket.
        """
        counts = self.counts()
        ranks = np.zeros((self._slots, len(quantiles)), dtype=np.int64)
        for place, q in enumerate(quantiles):
            share = Fraction(str(q))
            ranks[:, place] = -(-counts * share.numerator // share.denominator)
        values = np.frombuffer(self._sums.at_ranks(ranks.tobytes()), dtype=np.int64).reshape(ranks.shape)
        supported = counts[:, None] >= np.array([needed(q) for q in quantiles])[None, :]
        return np.where(supported, values, np.nan)

    def total(self, exact: Exact | None) -> Histogram:
        """Return the histogram of all slots, with its exact figures if they are known."""
        counts = np.frombuffer(self._sums.total(), dtype=np.int64)
        index = np.flatnonzero(counts)
        return Histogram(*RECORDER.bounds(index), counts[index], exact)
