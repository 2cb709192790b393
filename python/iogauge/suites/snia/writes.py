"""Rounds of random writes, which SNIA's tests and a preconditioning repeat until the rate is steady.

A round is one minute that counts and 29 more of the same load, since the specification judges minutes that lie half an
hour apart. Source: SNIA PTS 2.0.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from iogauge.schema import RunRecord
from iogauge.suites.snia.common import DEPTH, THREADS, TRACKED, Jobs, Procedure
from iogauge.suites.suite import Pace, SuiteRequest, time_text

BETWEEN = "between"
TIMES_BETWEEN: dict[Pace, int] = {"quick": 4, "standard": 29, "full": 29}
"""Length of the load between two counted stages, as a multiple of a counted stage."""
WRITES = {"rw": "randwrite", "bs": "4k", "numjobs": THREADS, "iodepth": DEPTH}


class WriteRounds(Procedure):
    """A test whose rounds are random writes."""

    TRACKS = "4 KiB random writes"
    JUDGED = "write"

    def cells(self, request: SuiteRequest, _group: str) -> Jobs:
        """Return a counted stage, and a longer stage of the same load that spaces the rounds."""
        between_ns = TIMES_BETWEEN[request.pace] * self.runtime_ns(request)
        return {
            TRACKED: WRITES,
            BETWEEN: {"stonewall": 1, **WRITES, "runtime": time_text(between_ns)},
        }

    def tables(self, _rounds: Sequence[RunRecord], _series: str, _title: str) -> tuple[()]:
        """Return nothing: the tracked rate says all."""
        return ()
