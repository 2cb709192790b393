"""Drives and machines as a fit tries them: what a load sees on them, each load run once.

A load is a job file in which ``{drive}`` stands for the target. Every run has the same seed, so that what changes
between two trials is their parameters and not chance (common random numbers).
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from iogauge import workload
from iogauge.run.interrupts import Interrupts
from iogauge.run.modelled import simulate
from iogauge.schema import Direction, Kind, RunResult
from iogauge.stats.histogram import Histogram

Parameters = dict[str, Any]

SEED = 20170319
"""Of every trial; a day in the month when the first of these drives was announced."""


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


@dataclass(kw_only=True)
class Trial:
    """One choice of parameters for every drive and machine. Threads may share it."""

    drives: Mapping[str, Parameters]
    machines: Mapping[str, Parameters]
    interrupts: Interrupts
    _known: dict[Any, RunResult] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def with_drive(self, name: str, parameters: Parameters) -> Trial:
        """Return another trial in which a drive has these parameters."""
        return Trial(
            drives={**self.drives, name: parameters}, machines=self.machines, interrupts=self.interrupts
        )

    def run(self, jobs: str, drive: str, machine: str, *, state: str | None = None) -> RunResult:
        """Return what came of a job file on a drive behind a machine.

        ``state``: what was written before, as ``initial`` of a flash drive; None: as the drive's file says.
        """
        key = (jobs, drive, machine, state)
        with self._lock:
            found = self._known.get(key)
        if found is None:
            parameters = self.drives[drive]
            if state is not None and parameters["media"]["family"] == "nand":
                parameters = copy.deepcopy(parameters)
                parameters["media"]["initial"] = state
            found = simulate(
                workload.parse(jobs.replace("{drive}", "model:x"), source="load"),
                {"model:x": parameters},
                self.machines[machine],
                seed=SEED,
                interrupts=self.interrupts,
            )
            with self._lock:
                self._known[key] = found
        return found

    def seen(
        self,
        jobs: str,
        drive: str,
        machine: str,
        *,
        state: str | None = None,
        row: str = "",
        direction: Direction | None = None,
        clat: bool = False,
    ) -> Seen:
        """Return what a job of the load saw; the only one, where none is named."""
        result = self.run(jobs, drive, machine, state=state)
        (found,) = (each for each in result.rows if row in ("", each.name))
        kind = Kind.CLAT if clat else Kind.LAT
        tallies = [tally for way, tally in found.tallies.items() if direction in (None, way) and tally.ios]
        parts = [
            Histogram.decode(tally.histograms[one], tally.exact.get(one))
            for tally in tallies
            for one in [kind if kind in tally.histograms else Kind.LAT]
        ]
        return Seen(
            elapsed_s=(found.end_ns - found.start_ns) / 1e9,
            ios=sum(tally.ios for tally in tallies),
            bytes=sum(tally.bytes for tally in tallies),
            lat=Histogram.merge(parts) if parts else Histogram.empty(),
        )
