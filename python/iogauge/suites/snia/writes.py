"""Rounds of random writes: what SNIA's tests and a preconditioning wait for to become steady.

A round is one minute that counts and 29 more of the same load, so that five rounds cover two hours, as the minutes that
the specification looks at lie half an hour apart. Source: SNIA PTS 2.0.2.
"""

from __future__ import annotations

from iogauge.suites.snia.common import DEPTH, THREADS, TRACKED, Jobs
from iogauge.suites.suite import Pace, time_text

BETWEEN = "between"
TIMES_BETWEEN: dict[Pace, int] = {"quick": 4, "standard": 29, "full": 29}
"""How many times as long as what counts the load goes on until it counts again."""
WRITES = {"rw": "randwrite", "bs": "4k", "numjobs": THREADS, "iodepth": DEPTH}


def writing_cells(pace: Pace, counted_ns: int) -> Jobs:
    """Return the two stages of a round; ``counted_ns`` is how long the first takes."""
    between_ns = TIMES_BETWEEN[pace] * counted_ns
    return {
        TRACKED: WRITES,
        BETWEEN: {"stonewall": 1, **WRITES, "runtime": time_text(between_ns)},
    }
