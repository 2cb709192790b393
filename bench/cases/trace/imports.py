"""The speed and memory of ``trace import``, beside PyArrow, which reads the same table and writes it as Parquet.

Both are whole processes. PyArrow copies the columns as they are, without the meaning of any of them; blktrace's records
it cannot read. The rate *once it runs* leaves out the time of a process that imports a few requests: traces are longer
than this one, and take long after a process has begun.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
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
FEW_REQUESTS = 1_000
MOST_MIB = 512
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
        table, records, output = folder / "msr.csv", folder / "sda.blktrace.0", folder / "out"
        _write_samples(table, records, requests)
        ours = [str(peers.IOGAUGE), "trace", "import", str(table), "--output", str(output)]
        theirs = [sys.executable, "-c", _PEER, str(table), str(folder / "peer")]
        pairs = []
        for pair in interleave(lambda: _run(ours), lambda: _run(theirs), pairs=settings.pairs):
            pairs.append(pair)
            note(f"trace import: {pair[0].wall_s:.2f} s, PyArrow {pair[1].wall_s:.2f} s")
        repeats = max(3, settings.pairs // 3)
        blktrace = [_run([*ours[:3], str(records), "--output", str(output)]) for _ in range(repeats)]
        few = folder / "few.csv"
        _write_samples(few, records, FEW_REQUESTS)
        began = [_run([*ours[:3], str(few), "--output", str(output)]) for _ in range(repeats)]
    mine, arrow = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    rows = [
        ratio_row(
            "trace import, a table, beside PyArrow",
            "requests/s",
            [requests / one.wall_s for one in mine],
            [requests / one.wall_s for one in arrow],
        )
    ]
    begin_s = Estimate.of([one.wall_s for one in began]).median
    rows.append(Row(f"trace import, a table of {FEW_REQUESTS:,} requests", "s", begin_s))
    for kind, runs in (("a table", mine), ("blktrace", blktrace)):
        rate = Estimate.of([requests / (one.wall_s - begin_s) for one in runs]).median
        rows += [
            Row(
                f"trace import, {kind}",
                "requests/s",
                Estimate.of([requests / one.wall_s for one in runs]).median,
            ),
            Row(
                f"trace import, {kind}, once it runs",
                "requests/s",
                rate,
                goal=f">= {GOAL_A_SECOND:g}",
                met=rate >= GOAL_A_SECOND,
            ),
            Row(
                f"trace import, {kind}",
                "requests/CPU s",
                Estimate.of([requests / one.cpu_s for one in runs]).median,
            ),
            _memory(kind, runs),
        ]
    samples = {
        f"{kind}_{figure}": [getattr(one, figure) for one in runs]
        for kind, runs in (("table", mine), ("arrow", arrow), ("blktrace", blktrace), ("few", began))
        for figure in Import._fields
    }
    return Finding(rows, samples)


def _memory(kind: str, runs: Sequence[Import]) -> Row:
    most = max(one.peak_MiB for one in runs)
    return Row(f"trace import, {kind}, most memory", "MiB", most, goal=f"<= {MOST_MIB}", met=most <= MOST_MIB)


def _run(command: Sequence[str]) -> Import:
    began, peak_MiB = time.monotonic(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
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


def _write_samples(table: Path, records: Path, requests: int) -> None:
    """Write the same random requests as a table of MSR's and as blktrace's records."""
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
