"""Drives and machines as a fit tries them: what a load sees on them, each load run once.

A load is a job file in which ``{drive}`` stands for the target, and ``{other}`` for a second drive of the kind. Every
run has the same seed, so that what changes between two trials is their parameters and not chance (common random
numbers).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from iogauge import workload
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.modelled import simulate
from iogauge.models import digest
from iogauge.models.state import in_state
from iogauge.schema import Direction, Kind, RunResult, State
from iogauge.stats.histogram import Histogram

Parameters = dict[str, Any]

SEED = 20170319
"""Of every trial; a day in the month when the first of these drives was announced."""

KEPT = 400
"""Results that are remembered."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What one job of a load saw, all of its directions together unless one is named."""

    elapsed_s: float
    ios: int
    bytes: int
    lat: Histogram
    """As fio's clat where the load says so, ns."""

    @property
    def iops(self) -> float:
        """Completed in a second."""
        return self.ios / self.elapsed_s

    @property
    def rate_Bps(self) -> float:
        """Bytes a second."""
        return self.bytes / self.elapsed_s


class Known:
    """The last results, by all that they follow from. Trials share them: most of a trial is as in the one before."""

    def __init__(self) -> None:
        self._results: OrderedDict[Any, RunResult] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Any) -> RunResult | None:
        """Return a result, which is then the latest; None where it is not known any more."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
            return self._results.get(key)

    def keep(self, key: Any, result: RunResult) -> None:
        """Keep a result, and let go of the oldest where there are many."""
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
    """What flash begins in, whatever a load would have; ``as-is``: what the load would, or the drive's file."""

    def with_drive(self, name: str, parameters: Parameters) -> Trial:
        """Return another trial in which a drive has these parameters."""
        return replace(self, drives={**self.drives, name: parameters})

    def run(self, jobs: str, drive: str, machine: str, *, state: State = "as-is") -> RunResult:
        """Return what came of a job file on a drive behind a machine.

        ``state``: what flash begins in; ``as-is``: what the drive's file says. The trial's own goes before it.
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
        """Return what a job of the load saw; the only one, where none is named."""
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
