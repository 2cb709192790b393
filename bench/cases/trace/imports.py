"""The speed and memory of ``trace import``, beside PyArrow, which reads the same table and writes it as Parquet.

Both are whole processes. PyArrow copies the columns without interpreting them, and cannot read blktrace's records. The
rate *without start-up* subtracts the time of an import of few requests, because start-up does not grow with the trace.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv

from bench import peers
from bench.pairs import Estimate, interleave
from bench.results import Finding, Row, ratio_row
from bench.settings import Settings, note

REQUESTS = 4_000_000
GOAL_A_SECOND = 2_000_000
SHORT_REQUESTS = 1_000
MOST_MIB = 512
FILES = {"a table": "msr.csv", "blktrace": "sda.blktrace.0"}
"""The file of each format, in the folder of long traces and in that of short ones."""
_RECORD = np.dtype(
    [("magic", "<u4"), ("sequence", "<u4"), ("time", "<u8"), ("sector", "<u8"), ("bytes", "<u4"), ("action", "<u4"),
     ("pid", "<u4"), ("device", "<u4"), ("cpu", "<u4"), ("error", "<u2"), ("added", "<u2")]
)  # fmt: skip
_PEER = """
import sys, pyarrow as pa, pyarrow.csv as csv, pyarrow.parquet as pq
with csv.open_csv(sys.argv[1], csv.ReadOptions(autogenerate_column_names=True)) as reader:
    with pq.ParquetWriter(sys.argv[2], reader.schema, compression="zstd", compression_level=1) as writer:
        for batch in reader:
            writer.write_batch(batch)
"""


class Import(NamedTuple):
    """What one process took."""

    wall_s: float
    cpu_s: float
    peak_MiB: float


def imports(settings: Settings) -> Finding:
    """Measure requests a second of a table and of blktrace, by the clock and by CPU time, and the most memory."""
    requests = max(int(REQUESTS * settings.scale), 1_000_000)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_samples(folder / "long", requests)
        _write_samples(folder / "short", SHORT_REQUESTS)

        def ours(length: str, file: str) -> Import:
            trace = ["trace", "import", f"{folder}/{length}/{file}", f"--output={folder}/out"]
            return _run([str(peers.IOGAUGE), *trace])

        def table() -> Import:
            return ours("long", FILES["a table"])

        def pyarrow_copy() -> Import:
            return _run([sys.executable, "-c", _PEER, f"{folder}/long/{FILES['a table']}", f"{folder}/peer"])

        ours("short", FILES["a table"])  # compiles the modules, if they are not yet
        beside_arrow = []
        for pair in interleave(table, pyarrow_copy, pairs=settings.pairs):
            beside_arrow.append(pair)
            note(f"trace import: {pair[0].wall_s:.2f} s, PyArrow {pair[1].wall_s:.2f} s")
        lengths = {
            kind: list(
                interleave(
                    partial(ours, "long", file),
                    partial(ours, "short", file),
                    pairs=max(5, settings.pairs // 2),
                )
            )
            for kind, file in FILES.items()
        }
    mine, arrow = zip(*beside_arrow, strict=True)
    rows = [
        ratio_row(
            "trace import, a table, beside PyArrow",
            "requests/s",
            [requests / one.wall_s for one in mine],
            [requests / one.wall_s for one in arrow],
        )
    ]
    samples = {"table_wall_s": [one.wall_s for one in mine], "arrow_wall_s": [one.wall_s for one in arrow]}
    for kind, pairs in lengths.items():
        long, short = zip(*pairs, strict=True)
        rows += [
            _rate(f"trace import, {kind}", [requests / one.wall_s for one in long]),
            _rate(
                f"trace import, {kind}, without start-up",
                [(requests - SHORT_REQUESTS) / (run.wall_s - start_up.wall_s) for run, start_up in pairs],
            ),
            Row(
                f"trace import, {kind}",
                "requests/CPU s",
                Estimate.of([requests / one.cpu_s for one in long]).median,
            ),
            _memory(kind, long),
        ]
        samples |= {
            f"{kind}_{length}_{figure}": [getattr(one, figure) for one in runs]
            for length, runs in (("long", long), ("short", short))
            for figure in Import._fields
        }
    return Finding(rows, samples)


def _rate(measure: str, a_second: Sequence[float]) -> Row:
    rate = Estimate.of(a_second).median
    return Row(measure, "requests/s", rate, goal=f"median >= {GOAL_A_SECOND:g}", met=rate >= GOAL_A_SECOND)


def _memory(kind: str, runs: Sequence[Import]) -> Row:
    most = max(one.peak_MiB for one in runs)
    return Row(f"trace import, {kind}, most memory", "MiB", most, goal=f"<= {MOST_MIB}", met=most <= MOST_MIB)


def _run(command: Sequence[str]) -> Import:
    began, peak_MiB = time.monotonic(), 0.0
    process = subprocess.Popen(
        command, env=peers.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while True:
        ended, status, used = os.wait4(process.pid, os.WNOHANG)
        if ended:
            break
        # What wait4 says of memory is at least what this process has, from which the other was forked.
        peak_MiB = max(peak_MiB, _peak_MiB(process.pid))
        time.sleep(0.02)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise peers.PeerError(f"{' '.join(command[:3])}: status {process.returncode}")
    return Import(time.monotonic() - began, used.ru_utime + used.ru_stime, peak_MiB)


def _peak_MiB(pid: int) -> float:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(
        (int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM:")), 0.0
    )


def _write_samples(folder: Path, requests: int) -> None:
    """Write the same random requests as a table of MSR's and as blktrace's records."""
    folder.mkdir()
    table, records = (folder / file for file in FILES.values())
    chance = np.random.default_rng(1)
    times = np.cumsum(chance.integers(1, 2000, requests))
    offsets = chance.integers(0, 1 << 26, requests) * 4096
    sizes = chance.choice([4096, 8192, 65536], requests)
    writes = chance.random(requests) < 0.3
    latencies = chance.integers(500, 100_000, requests)
    columns: dict[str, Any] = {
        "time": 128_166_372_003_061_629 + times,
        "host": np.full(requests, "hm"),
        "disk": np.ones(requests, dtype=np.int64),
        "type": np.where(writes, "Write", "Read"),
        "offset": offsets,
        "size": sizes,
        "took": latencies,
    }
    options = pyarrow.csv.WriteOptions(include_header=False, quoting_style="none")
    pyarrow.csv.write_csv(pa.table(columns), table, options)
    events = np.zeros(2 * requests, dtype=_RECORD)
    events["magic"], events["device"] = 0x65617407, 8 << 20
    begin, end = events[:requests], events[requests:]
    begin["time"], end["time"] = times * 100, (times + latencies) * 100
    for part, action in ((begin, 1 << 20 | 1), (end, 1 << 23 | 8)):
        part["sector"], part["bytes"] = offsets // 512, sizes
        part["action"] = np.where(writes, 1 << 17, 1 << 16) | action
    events[np.argsort(events["time"], kind="stable")].tofile(records)
