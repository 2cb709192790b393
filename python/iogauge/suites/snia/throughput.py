"""SNIA's throughput test: a drive's sequential throughput in steady state.

The test runs twice, with requests of 128 KiB and of 1024 KiB. Each part has its own purge, and its own fill with
requests of that size. A round is a minute of sequential reads and a minute of sequential writes by one thread at depth
32. The tracked value is the throughput of the writes.

Source: SNIA PTS 2.0.2, the throughput test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from iogauge.results.conclusions import TextTable
from iogauge.schema import RunRecord
from iogauge.stats.figures import StepFigures
from iogauge.suites.snia.common import DEPTH, TRACKED, Jobs, Procedure, cell_figures, mean
from iogauge.suites.suite import SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import KIB, size_text

SIZES = {"128k": 128 * KIB, "1024k": 1024 * KIB}
READS = "reads"


class PtsThroughput(Procedure):
    """See the module's text."""

    NAME = "pts-throughput"
    TITLE = "SNIA PTS: throughput"
    TRACKS = "sequential writes"
    UNIT = "MB/s"
    GROUPS: ClassVar[Mapping[str, str]] = {"128k": "128 KiB", "1024k": "1024 KiB"}

    def tracked(self, figures: StepFigures) -> float:
        """Return the throughput, MB/s."""
        return figures.rate_Bps / 1e6

    def fill_bytes(self, group: str) -> int:
        """Return the size of the measured requests."""
        return SIZES[group]

    def cells(self, _request: SuiteRequest, group: str) -> Jobs:
        """Return a stage of reads and one of writes."""
        common = {"bs": size_text(SIZES[group]), "iodepth": DEPTH}
        return {READS: {"rw": "read", **common}, TRACKED: {"stonewall": 1, "rw": "write", **common}}

    def tables(self, rounds: Sequence[RunRecord], _series: str, title: str) -> tuple[TextTable, ...]:
        """Return the throughput of reads and of writes."""
        rows = (
            (way, numbers.figure(mean([self.tracked(cell_figures(record, name)) for record in rounds])))
            for way, name in (("reads", READS), ("writes", TRACKED))
        )
        return (TextTable(f"throughput, mean of {title}", ("", "MB/s"), tuple(rows)),)
