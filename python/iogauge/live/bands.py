"""The bands by which a feed counts latencies: quarters of a decade from 1 us on.

A screen needs them without numpy, which takes longer to load than a minute of drawing.
"""

from __future__ import annotations

BANDS = 25
"""The first band has all latencies below 1.8 us, the last one all from 1 s on."""


def begin_ns(band: int) -> float:
    """Return the latency with which a band begins.

    >>> begin_ns(0), begin_ns(4), begin_ns(24)
    (0.0, 10000.0, 1000000000.0)
    """
    return 1000 * 10 ** (band / 4) if band else 0.0
