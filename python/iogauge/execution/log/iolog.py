"""Writes fio's iologs (``write_iolog``) from a run's spill: version 3, which fio and iogauge replay.

    MICROSECONDS FILE add|open|close
    MICROSECONDS FILE read|write|trim|sync OFFSET LENGTH

A log has every request of its jobs in the order of their starts, also those of the ramp and those that failed. The
requests of a log are sorted in memory: 25 bytes each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from iogauge.execution.log.request_log import DIRECTIONS
from iogauge.schema import JobFile, RunPlan
from iogauge.store.outputs import Output

_ENTRY = np.dtype(
    [("at_us", "i8"), ("offset", "u8"), ("length", "u4"), ("path", "u4"), ("direction", "u1")], align=False
)
_LINES = 1 << 16
"""Lines that are made at a time."""
_US = 1_000


def iologs(jobs: JobFile, plan: RunPlan, logs: Mapping[str, Output], stack: ExitStack) -> Iterator[Iolog]:
    """Yield the iologs of the jobs, opened. Jobs and clones that name the same file share a log."""
    for path in dict.fromkeys(job.write_iolog for job in jobs.jobs if job.write_iolog is not None):
        file = stack.enter_context(logs[path].atomic())
        workers = {
            (stage, index): tuple(file.path for file in worker.files)
            for stage, staged in enumerate(plan.stages)
            for index, worker in enumerate(staged.workers)
            if jobs.jobs[worker.job].write_iolog == path
        }
        yield Iolog(file=file, workers=workers)


@dataclass
class Iolog:
    """One log, and the requests that it will have."""

    file: IO[bytes]
    workers: Mapping[tuple[int, int], tuple[str, ...]]
    """The files of the workers whose requests it has, by stage and worker."""
    entries: dict[int, list[NDArray[np.void]]] = field(default_factory=dict)
    """By stage."""

    def __post_init__(self) -> None:
        self.paths = list(dict.fromkeys(path for files in self.workers.values() for path in files))

    def add(self, records: NDArray[np.void]) -> None:
        """Keep the requests of its workers."""
        for (stage, worker), files in self.workers.items():
            own = records[(records["stage"] == stage) & (records["worker"] == worker)]
            if not len(own):
                continue
            numbers = np.array([self.paths.index(path) for path in files], dtype="u4")
            entries = np.empty(len(own), dtype=_ENTRY)
            entries["at_us"] = own["start_ns"] // _US
            entries["offset"], entries["length"] = own["offset_bytes"], own["length_bytes"]
            entries["path"], entries["direction"] = numbers[own["target"]], own["direction"]
            self.entries.setdefault(stage, []).append(entries)

    def write(self) -> None:
        """Write the log. Stages follow each other."""
        self.file.write(b"fio version 3 iolog\n")
        for action in ("add", "open"):
            self._of_files(0, action)
        after_us = 0
        for stage in sorted(self.entries):
            entries = np.concatenate(self.entries.pop(stage))
            entries["at_us"] += after_us
            entries = entries[np.argsort(entries["at_us"], kind="stable")]
            for begin in range(0, len(entries), _LINES):
                self.file.write(self._lines(entries[begin : begin + _LINES]))
            after_us = int(entries["at_us"][-1])
        self._of_files(after_us, "close")

    def _of_files(self, at_us: int, action: str) -> None:
        self.file.write("".join(f"{at_us} {path} {action}\n" for path in self.paths).encode())

    def _lines(self, entries: NDArray[np.void]) -> bytes:
        columns = (
            np.ascontiguousarray(entries["at_us"]),
            np.array(self.paths)[entries["path"]],
            np.array(DIRECTIONS)[entries["direction"]],
            np.ascontiguousarray(entries["offset"]),
            np.ascontiguousarray(entries["length"]),
        )
        texts = [pc.cast(pa.array(column), pa.string()) for column in columns]
        return "".join(f"{line}\n" for line in pc.binary_join_element_wise(*texts, " ").to_pylist()).encode()
