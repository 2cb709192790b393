"""Logs of single requests, made from a run's spill after the run: the request log, and fio's logs.

    PREFIX_bw.N.log, PREFIX_iops.N.log, PREFIX_{lat,clat,slat}.N.log     time, value, ddir, bs, prio

fio writes these logs for a job without ``log_avg_msec``. A file is written completely or not at all, and the spill is
not changed. Memory is bounded, but for iologs: requests are read block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from iogauge.execution.log.iolog import iologs
from iogauge.execution.log.request_log import DIRECTIONS, request_log
from iogauge.execution.log.spill import NO_INSTANT, Spill
from iogauge.execution.plans.priorities import CLASS_SHIFT, REAL_TIME
from iogauge.report.run.fio_logs import DDIR, IOLOG, empty_names, name_of, request_names
from iogauge.schema import Direction, Job, JobFile, RunPlan
from iogauge.store.outputs import Output

Requests = NDArray[np.void]

_SYNC = DIRECTIONS.index(Direction.SYNC)


def convert(
    spill: Spill,
    *,
    jobs: JobFile,
    plan: RunPlan,
    parquet: Output | None,
    logs: Mapping[str, Output],
    on_progress: Callable[[float], None] = lambda _: None,
) -> None:
    """Write all logs of a spill: the request log ``parquet``, and fio's logs that ``fio_logs.claim`` claimed.

    ``on_progress`` is called with the share that is done. Raises IogaugeError if a log cannot be written; then none is.
    """
    with ExitStack() as stack:
        log = stack.enter_context(request_log(parquet)) if parquet else None
        rows = {(row.stage, row.row): row for row in _rows(jobs, plan, logs, stack)}
        replayable = [*iologs(jobs, plan, logs, stack)]
        for records in spill.records():
            if log:
                log(records)
            for iolog in replayable:
                iolog.add(records)
            for key, requests in _by_row(records) if rows else ():
                if key in rows:
                    rows[key].add(requests)
            on_progress(spill.read_share())
        for iolog in replayable:
            iolog.write()


def _by_row(records: Requests) -> Iterator[tuple[tuple[int, int], Requests]]:
    """Yield for each stage and row its requests that have lines in fio's logs, in order.

    These are the reads, writes and trims that succeeded after the ramp. One sort splits all rows, since there may be
    thousands.
    """
    logged = records[(records["ramp"] == 0) & (records["result"] >= 0) & (records["direction"] != _SYNC)]
    keys = logged["stage"].astype(np.int64) << 32 | logged["row"]
    order = np.argsort(keys, kind="stable")
    ends = np.flatnonzero(np.diff(keys[order])) + 1
    for requests in np.split(logged[order], ends):
        if len(requests):
            yield (int(requests["stage"][0]), int(requests["row"][0])), requests


def _rows(jobs: JobFile, plan: RunPlan, logs: Mapping[str, Output], stack: ExitStack) -> Iterator[_RowLogs]:
    """Yield every row that has logs of requests, with its files opened."""
    number = 0
    seen = set()
    opened: dict[Output, IO[bytes]] = {}
    for stage, staged in enumerate(plan.stages):
        origins_ns: dict[int, int] = {}
        for worker in staged.workers:
            if worker.waits_for:
                continue
            begins_ns = worker.start_delay_ns + worker.ramp_ns
            origins_ns[worker.row] = min(begins_ns, origins_ns.get(worker.row, begins_ns))
        for worker in staged.workers:
            number += 1
            job = jobs.jobs[worker.job]
            if (stage, worker.row) in seen:
                continue
            seen.add((stage, worker.row))
            outputs = {name: logs[name_of(name, job, number)] for name in request_names(job) if name != IOLOG}
            for output in outputs.values():
                if output not in opened:  # jobs without per_job_logs share a file
                    opened[output] = stack.enter_context(output.atomic())
            if outputs:
                filled = outputs.keys() - empty_names(job)
                files = {name: opened[outputs[name]] for name in sorted(filled)}
                searches = worker.latency_target and not worker.latency_target.keeps_adjusting
                # The first request shows when a job that waited began.
                origin_ns = None if searches else origins_ns.get(worker.row)
                yield _RowLogs(stage, worker.row, origin_ns, files, job)


@dataclass
class _RowLogs:
    """The open log files of one row."""

    stage: int
    row: int
    origin_ns: int | None
    """The measured start of the row, since the start of its stage; None: that of its first such request."""
    files: dict[str, IO[bytes]]
    job: Job

    def add(self, requests: Requests) -> None:
        """Write the lines of some requests of the row."""
        start, done = requests["start_ns"].astype(np.int64), requests["done_ns"].astype(np.int64)
        if self.origin_ns is None:
            self.origin_ns = int(start.min())
        known = requests["issued_ns"] != NO_INSTANT
        issued = np.where(known, requests["issued_ns"], requests["start_ns"]).astype(np.int64)
        length = requests["length_bytes"].astype(np.int64)
        values = {
            "bw": length * 10**6 // np.maximum(done - issued, 1),
            "iops": np.ones(len(requests), dtype=np.int64),
            "lat": done - start,
            "clat": done - issued,
            "slat": issued - start,
        }
        time_ms = (done - self.origin_ns) // 10**6
        for name, file in self.files.items():
            logged = known if name == "slat" else slice(None)
            columns = [time_ms, values[name], _DDIR_OF[requests["direction"]], length]
            if self.job.log_window_value == "both":
                columns.insert(2, np.zeros_like(length))  # A single request has no maximum.
            if self.job.log_offset:
                columns.append(requests["offset_bytes"].astype(np.int64))
            ends = self._ends(requests["priority"][logged])
            file.write(_lines(*(column[logged] for column in columns), ends=ends))

    def _ends(self, priorities: NDArray[np.uint16]) -> pa.StringArray:
        """Return the end of each line: a priority as a hexadecimal number, or whether it is real-time."""
        known, places = np.unique(priorities, return_inverse=True)
        texts = [
            f"0x{priority:04x}\n" if self.job.log_prio else f"{int(priority >> CLASS_SHIFT == REAL_TIME)}\n"
            for priority in known
        ]
        return pa.array(texts, pa.string()).take(pa.array(places, pa.int64()))


_DDIR_OF = np.array([DDIR.get(Direction(name), -1) for name in DIRECTIONS], dtype=np.int64)
"""fio's number of each direction, by iogauge's number."""


def _lines(*columns: NDArray[np.int64], ends: pa.StringArray) -> memoryview:
    r"""Return a line of text for each row of the columns, with these ends.

    >>> ends = pa.array(["0\n", "1\n"])
    >>> bytes(_lines(np.array([5, 6]), np.array([4300, 70]), ends=ends))
    b'5, 4300, 0\n6, 70, 1\n'
    """
    if not len(ends):
        return memoryview(b"")
    texts = [pc.cast(pa.array(column), pa.string()) for column in columns]
    lines: Any = pc.binary_join_element_wise(*texts, ends, pa.repeat(", ", len(ends)))
    _, offsets, data = lines.buffers()
    return memoryview(data)[: np.frombuffer(offsets, dtype=np.int32)[len(lines)]]
