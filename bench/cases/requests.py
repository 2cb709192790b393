"""A run with its per-request log, for cases that need every request."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from bench import peers
from bench.peers import Job


@dataclass(frozen=True)
class Logged:
    """A run and the table of its requests."""

    outcome: peers.Outcome
    table: pa.Table

    def column_ns(self, instant: str) -> NDArray[np.int64]:
        """Return one instant of every request, in nanoseconds: intended, ready, start, issued or done."""
        return np.asarray(self.table.column(f"{instant}_ns").to_numpy(), dtype=np.int64)


def run_logged(job: Job, folder: Path) -> Logged:
    """Run ``job`` with iogauge and read its request log from ``folder``."""
    path = folder / "requests.parquet"
    outcome = peers.iogauge(job, options=[f"--request-log={path}"])
    return Logged(outcome, pq.read_table(path))
