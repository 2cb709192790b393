"""SNIA's IOPS test: what a drive in steady state does at every mix of reads and writes and every size of request.

Round by round, seven mixes from nothing but reads to nothing but writes, and in each eight sizes from 1024 KiB down to
512 B, at random, a minute each: 56 cells. Four threads at depth 32. Tracked are 4 KiB writes.

Caveats. The specification lets the tester choose threads and depth as long as they are said; these are its own for
enterprise drives. ``standard`` has all cells for 2 s each, ``quick`` nine of them for a fifth of a second.

Source: SNIA PTS 2.0.2, the IOPS test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.results.conclusions import Matrix
from iogauge.schema import RunRecord
from iogauge.suites.snia.cells import allowed, block_notes, mix_cells, mix_matrix
from iogauge.suites.snia.common import DEPTH, THREADS, Jobs, Procedure
from iogauge.suites.suite import Pace, SuiteRequest
from iogauge.workload.numbers import KIB

ALL_SHARES = (100, 95, 65, 50, 35, 5, 0)
ALL_SIZES = (1024 * KIB, 128 * KIB, 64 * KIB, 32 * KIB, 16 * KIB, 8 * KIB, 4 * KIB, 512)
SHARES: dict[Pace, tuple[int, ...]] = {"quick": (100, 65, 0), "standard": ALL_SHARES, "full": ALL_SHARES}
"""Reads, in percent."""
SIZES: dict[Pace, tuple[int, ...]] = {
    "quick": (1024 * KIB, 64 * KIB, 4 * KIB),
    "standard": ALL_SIZES,
    "full": ALL_SIZES,
}
"""Bytes of a request."""


class PtsIops(Procedure):
    """See the module's text."""

    NAME = "pts-iops"
    TITLE = "SNIA PTS: IOPS"
    FOLLOWED = "4 KiB random writes"

    def cells(self, request: SuiteRequest, _group: str) -> Jobs:
        """Every mix, and in it every size: a stage each."""
        sizes = allowed(SIZES[request.pace], request)
        return mix_cells(SHARES[request.pace], sizes, threads=THREADS, depth=DEPTH)

    def shown(self, rounds: Sequence[RunRecord], _series: str, title: str) -> tuple[Matrix, ...]:
        """IOPS by mix and size."""
        return (mix_matrix(rounds, f"IOPS, mean of {title}", "IOPS", lambda figures: figures.iops),)

    def notes(self, request: SuiteRequest) -> Iterator[str]:
        """Yield what is not as the specification has it."""
        yield from super().notes(request)
        if request.pace == "quick":
            yield "Shortened: 3 mixes and 3 sizes of the specification's 7 and 8."
        yield from block_notes(SIZES[request.pace], request)
