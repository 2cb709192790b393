"""Runs loads on drive and machine models with the parameters that a fit tries. Each load runs once.

A load is a job file in which ``{drive}`` stands for the target and ``{other}`` for a second drive of the same kind.
Every run has the same seed, so that two trials differ by their parameters and not by chance (common random numbers).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from iogauge import workload
from iogauge.catalog import digest
from iogauge.catalog.state import in_state
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.modelled import simulate
from iogauge.schema import Direction, Kind, RunResult, State
from iogauge.stats.histogram import Histogram

Parameters = dict[str, Any]

SEED = 20170319
"""The seed of every trial: a day in the month when the first of these drives was announced."""

KEPT = 400
"""How many results are cached."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """Figures of one job of a load: of one direction, or of all directions together."""

    elapsed_s: float
    ios: int
    bytes: int
    lat: Histogram
    """Latency in ns: fio's clat if the load asks for it."""

    @property
    def iops(self) -> float:
        """I/Os a second."""
        return self.ios / self.elapsed_s

    @property
    def rate_Bps(self) -> float:
        """Bytes a second."""
        return self.bytes / self.elapsed_s


class Known:
    """A cache of results that trials share: two trials have most of their runs in common."""

    def __init__(self) -> None:
        self._results: OrderedDict[Any, RunResult] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any) -> RunResult | None:
        """Return a cached result and mark it as used last; None if it is not in the cache."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def keep(self, key: Any, result: RunResult) -> None:
        """Cache a result; drop the least recently used one if there are too many."""
        with self._lock:
            self._results[key] = result
            if len(self._results) > KEPT:
                self._results.popitem(last=False)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One choice of parameters for every drive and machine. Threads may share it."""

    drives: Mapping[str, Parameters]
    machines: Mapping[str, Parameters]
    interrupts: Interrupts
    known: Known = field(default_factory=Known)
    state: State = "as-is"
    """The state in which flash starts every run; ``as-is``: the load's, or the drive file's."""

    def with_drive(self, name: str, parameters: Parameters) -> Trial:
        """Return another trial in which a drive has these parameters."""
        return replace(self, drives={**self.drives, name: parameters})

    def run(self, jobs: str, drive: str, machine: str, *, state: State = "as-is") -> RunResult:
        """Run a job file on a drive behind a machine.

        ``state`` is the state in which flash starts; ``as-is`` means the drive file's. The trial's state overrides it.
        """
        parameters = in_state(self.drives[drive], state if self.state == "as-is" else self.state)
        key = (jobs, digest(parameters, self.machines[machine]))
        result = self.known.get(key)
        if result is None:
            targets = {f"model:{name}": parameters for name in ("drive", "other") if f"{{{name}}}" in jobs}
            text = jobs.replace("{drive}", "model:drive").replace("{other}", "model:other")
            result = simulate(
                workload.parse(text, source="load"),
                targets,
                self.machines[machine],
                seed=SEED,
                interrupts=self.interrupts,
            )
            self.known.keep(key, result)
        return result

    def seen(
        self,
        jobs: str,
        drive: str,
        machine: str,
        *,
        state: State = "as-is",
        row: str = "",
        direction: Direction | None = None,
        clat: bool = False,
    ) -> Seen:
        """Run a load and return the figures of its job ``row``; empty: of its only job."""
        result = self.run(jobs, drive, machine, state=state)
        (job_row,) = (candidate for candidate in result.rows if row in ("", candidate.name))
        kind = Kind.CLAT if clat else Kind.LAT
        tallies = [tally for way, tally in job_row.tallies.items() if direction in (None, way) and tally.ios]
        parts = [
            Histogram.decode(tally.histograms[one], tally.exact.get(one))
            for tally in tallies
            for one in [kind if kind in tally.histograms else Kind.LAT]
        ]
        return Seen(
            elapsed_s=(job_row.end_ns - job_row.start_ns) / 1e9,
            ios=sum(tally.ios for tally in tallies),
            bytes=sum(tally.bytes for tally in tallies),
            lat=Histogram.merge(parts) if parts else Histogram.empty(),
        )
