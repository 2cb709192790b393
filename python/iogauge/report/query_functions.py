"""SQL functions on columns of histograms: a quantile, a mean, and a quantile of several histograms merged.

A column holds the bytes of an HdrHistogram, as in the store. Figures come from its buckets, so that a mean errs by up
to half a bucket. Exact figures are in other columns, such as ``lat_exact``.
"""

from __future__ import annotations

from collections.abc import Iterable

from iogauge.errors import IogaugeError
from iogauge.stats.histogram import Histogram
from iogauge.store.query import Function


def quantile_ns(data: bytes, q: float) -> float | None:
    """Return a quantile of one histogram; None if it is empty. Raises IogaugeError: ``q`` is not in [0, 1]."""
    return _quantile(Histogram.decode(data), q)


def mean_ns(data: bytes) -> float | None:
    """Return the mean of one histogram; None if it is empty."""
    histogram = Histogram.decode(data)
    return histogram.mean if histogram.count else None


def merged_quantile_ns(histograms: Iterable[bytes | None], q: float) -> float | None:
    """Return a quantile of several histograms merged; None if all are empty."""
    return _quantile(Histogram.merge(Histogram.decode(data) for data in histograms if data), q)


def _quantile(histogram: Histogram, q: float) -> float | None:
    if not 0 <= q <= 1:
        raise IogaugeError(f"quantile {q} is outside 0 to 1", hint="the 99th percentile is 0.99")
    return float(histogram.quantile(q)) if histogram.count else None


FUNCTIONS: dict[str, Function] = {
    "quantile_ns": (quantile_ns, ("BLOB", "DOUBLE"), "DOUBLE"),
    "mean_ns": (mean_ns, ("BLOB",), "DOUBLE"),
    "merged_quantile_ns": (merged_quantile_ns, ("BLOB[]", "DOUBLE"), "DOUBLE"),
}
"""The functions for ``store.query``, with the types of their arguments and results."""
