"""SNIA's throughput test: how much a drive moves in order, in steady state.

Twice, with requests of 128 KiB and of 1024 KiB, each with a purge and a filling of its own in requests of that size:
round by round a minute of reads and a minute of writes, in order. One thread at depth 32. Tracked are the writes.

Source: SNIA PTS 2.0.2, the throughput test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from iogauge.results.conclusions import TextTable
from iogauge.schema import RunRecord
from iogauge.stats.figures import StepFigures
from iogauge.suites.snia.common import DEPTH, TRACKED, Jobs, Procedure, cell, mean
from iogauge.suites.suite import SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import KIB, size_text

SIZES = {"128k": 128 * KIB, "1024k": 1024 * KIB}
READS = "reads"


class PtsThroughput(Procedure):
    """See the module's text."""

    NAME = "pts-throughput"
    TITLE = "SNIA PTS: throughput"
    FOLLOWED = "sequential writes"
    UNIT = "MB/s"
    GROUPS: ClassVar[Mapping[str, str]] = {"128k": "128 KiB", "1024k": "1024 KiB"}

    def tracked(self, figures: StepFigures) -> float:
        """What is written, MB/s."""
        return figures.rate_Bps / 1e6

    def fill_bytes(self, group: str) -> int:
        """Fill with what is measured."""
        return SIZES[group]

    def cells(self, _request: SuiteRequest, group: str) -> Jobs:
        """Reads, and then writes."""
        common = {"bs": size_text(SIZES[group]), "iodepth": DEPTH}
        return {READS: {"rw": "read", **common}, TRACKED: {"stonewall": 1, "rw": "write", **common}}

    def shown(self, rounds: Sequence[RunRecord], _series: str, title: str) -> tuple[TextTable, ...]:
        """Throughput of reads and of writes."""
        rows = (
            (way, numbers.figure(mean([self.tracked(cell(record, name)) for record in rounds])))
            for way, name in (("reads", READS), ("writes", TRACKED))
        )
        return (TextTable(f"throughput, mean of {title}", ("", "MB/s"), tuple(rows)),)
