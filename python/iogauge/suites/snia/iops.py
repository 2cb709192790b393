"""SNIA's IOPS test: a drive's steady-state rate at every mix of reads and writes and every size of request.

A round is 56 cells of a minute each: seven mixes from all reads to all writes, each with eight sizes from 1024 KiB down
to 512 B, at random, by four threads at depth 32. The tracked cell is 4 KiB writes.

Caveats. The specification lets the tester choose and state threads and depth; these are its values for enterprise
drives. ``standard`` runs all cells for 2 s each, ``quick`` nine of them for a fifth of a second.

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
    TRACKS = "4 KiB random writes"

    def cells(self, request: SuiteRequest, _group: str) -> Jobs:
        """Return a stage for each size of each mix."""
        sizes = allowed(SIZES[request.pace], request)
        return mix_cells(SHARES[request.pace], sizes, threads=THREADS, depth=DEPTH)

    def tables(self, rounds: Sequence[RunRecord], _series: str, title: str) -> tuple[Matrix, ...]:
        """Return IOPS by mix and size."""
        return (mix_matrix(rounds, f"IOPS, mean of {title}", "IOPS", lambda figures: figures.iops),)

    def notes(self, request: SuiteRequest) -> Iterator[str]:
        """Yield how the test differs from the specification."""
        yield from super().notes(request)
        if request.pace == "quick":
            yield "Shortened: 3 mixes and 3 sizes of the specification's 7 and 8."
        yield from block_notes(SIZES[request.pace], request)
