"""Rounds of random writes, which SNIA's tests and a preconditioning repeat until the rate is steady.

A round is one minute that counts and 29 more of the same load, since the specification judges minutes that lie half an
hour apart. Source: SNIA PTS 2.0.2.
"""

from __future__ import annotations

from iogauge.suites.snia.common import DEPTH, THREADS, TRACKED, Jobs
from iogauge.suites.suite import Pace, time_text

BETWEEN = "between"
TIMES_BETWEEN: dict[Pace, int] = {"quick": 4, "standard": 29, "full": 29}
"""Length of the load between two counted stages, as a multiple of a counted stage."""
WRITES = {"rw": "randwrite", "bs": "4k", "numjobs": THREADS, "iodepth": DEPTH}


def writing_cells(pace: Pace, counted_ns: int) -> Jobs:
    """Return the two stages of a round; ``counted_ns`` is the length of the first."""
    between_ns = TIMES_BETWEEN[pace] * counted_ns
    return {
        TRACKED: WRITES,
        BETWEEN: {"stonewall": 1, **WRITES, "runtime": time_text(between_ns)},
    }
