"""Logs that have every request, made of a run's spill once the run is over: the request log, and fio's.

    PREFIX_bw.N.log, PREFIX_iops.N.log, PREFIX_{lat,clat,slat}.N.log     time, value, ddir, bs, prio

fio writes them where a job has no ``log_avg_msec``. A file is written whole or not at all, and the spill stays what it
was. Memory is bounded: requests pass by piece by piece.
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

from iogauge.execution.request_log import DIRECTIONS, request_log
from iogauge.execution.spill import NO_INSTANT, Spill
from iogauge.report.run.fio_logs import DDIR, empty_names, name_of, request_names
from iogauge.schema import Direction, JobFile, RunPlan
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
    heard: Callable[[float], None] = lambda _: None,
) -> None:
    """Make all logs of a spill: the request log ``parquet``, and fio's logs that ``fio_logs.claim`` claimed.

    ``heard`` hears now and then which share is done. Raises IogaugeError where a log cannot be written, and none is
    then.
    """
    with ExitStack() as stack:
        log = stack.enter_context(request_log(parquet)) if parquet else None
        rows = {(row.stage, row.row): row for row in _rows(jobs, plan, logs, stack)}
        for records in spill.records():
            if log:
                log(records)
            for place, requests in _by_row(records) if rows else ():
                if place in rows:
                    rows[place].add(requests)
            heard(spill.read_share())


def _by_row(records: Requests) -> Iterator[tuple[tuple[int, int], Requests]]:
    """Yield the requests that have lines in fio's logs, for each stage and row those that are its, in order.

    These are the requests that succeeded, after the ramp, syncs left out. All rows are parted at once, since there may
    be thousands.
    """
    logged = records[(records["ramp"] == 0) & (records["result"] >= 0) & (records["direction"] != _SYNC)]
    places = logged["stage"].astype(np.int64) << 32 | logged["row"]
    order = np.argsort(places, kind="stable")
    ends = np.flatnonzero(np.diff(places[order])) + 1
    for requests in np.split(logged[order], ends):
        if len(requests):
            yield (int(requests["stage"][0]), int(requests["row"][0])), requests


def _rows(jobs: JobFile, plan: RunPlan, logs: Mapping[str, Output], stack: ExitStack) -> Iterator[_RowLogs]:
    """Yield every row that has such logs, with these opened."""
    number = 0
    seen = set()
    opened: dict[Output, IO[bytes]] = {}
    for stage, each in enumerate(plan.stages):
        origins_ns: dict[int, int] = {}
        for worker in each.workers:
            begins_ns = worker.start_delay_ns + worker.ramp_ns
            origins_ns[worker.row] = min(begins_ns, origins_ns.get(worker.row, begins_ns))
        for worker in each.workers:
            number += 1
            job = jobs.jobs[worker.job]
            if (stage, worker.row) in seen:
                continue
            seen.add((stage, worker.row))
            outputs = {name: logs[name_of(name, job, number)] for name in request_names(job)}
            for output in outputs.values():
                if output not in opened:  # which jobs without per_job_logs share
                    opened[output] = stack.enter_context(output.whole())
            if outputs:
                filled = outputs.keys() - empty_names(job)
                files = {name: opened[outputs[name]] for name in sorted(filled)}
                yield _RowLogs(stage, worker.row, origins_ns[worker.row], files)


@dataclass
class _RowLogs:
    """The open files of one row. ``origin_ns`` is its measured start, since that of its stage."""

    stage: int
    row: int
    origin_ns: int
    files: dict[str, IO[bytes]]

    def add(self, mine: Requests) -> None:
        """Write the lines of the row's requests."""
        start, done = mine["start_ns"].astype(np.int64), mine["done_ns"].astype(np.int64)
        known = mine["issued_ns"] != NO_INSTANT
        issued = np.where(known, mine["issued_ns"], mine["start_ns"]).astype(np.int64)
        length = mine["length_bytes"].astype(np.int64)
        values = {
            "bw": length * 10**6 // np.maximum(done - issued, 1),
            "iops": np.ones(len(mine), dtype=np.int64),
            "lat": done - start,
            "clat": done - issued,
            "slat": issued - start,
        }
        time_ms = (done - self.origin_ns) // 10**6
        for name, file in self.files.items():
            shown = known if name == "slat" else slice(None)
            columns = (time_ms, values[name], _DDIR_OF[mine["direction"]], length)
            file.write(_lines(*(column[shown] for column in columns)))


_DDIR_OF = np.array([DDIR.get(Direction(name), -1) for name in DIRECTIONS], dtype=np.int64)
"""fio's numbers of directions, by ours."""


def _lines(*columns: NDArray[np.int64]) -> memoryview:
    r"""Return a line of text for each row of the columns, with fio's priority of 0 at its end.

    >>> bytes(_lines(np.array([5, 6]), np.array([4300, 70]), np.array([0, 1]), np.array([4096, 512])))
    b'5, 4300, 0, 4096, 0\n6, 70, 1, 512, 0\n'
    """
    texts = [pc.cast(pa.array(column), pa.string()) for column in columns]
    if not len(texts[0]):
        return memoryview(b"")
    ends, between = (pa.repeat(text, len(texts[0])) for text in ("0\n", ", "))
    lines: Any = pc.binary_join_element_wise(*texts, ends, between)
    _, offsets, data = lines.buffers()
    return memoryview(data)[: np.frombuffer(offsets, dtype=np.int32)[len(lines)]]
