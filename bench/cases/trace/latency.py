"""What ``--trace-latency`` costs: iogauge with it beside iogauge without it, on a RAM-backed block device.

zram completes a request within its submission, at about 400,000 a second and thread. So every event of the tracing is
on the path of the request, and the cost is at its highest.
"""

from __future__ import annotations

from functools import partial

from bench import peers, zram
from bench.cases.block import DEVICE_BYTES, samples_of
from bench.peers import Job
from bench.results import Finding, Row, ratio_row
from bench.settings import Settings

ENGINES = {"psync": 1, "libaio": 8}
LEAST = 0.99
"""The goal: at most a hundredth of the rate."""


def cost(settings: Settings) -> Finding:
    """Compare the IOPS and the mean latency with tracing and without it, in pairs."""
    if reason := zram.unavailable():
        return Finding(skipped=reason)
    rows: list[Row] = []
    samples: dict[str, list[float]] = {}
    traced = partial(peers.iogauge, options=["--no-ceiling", "--trace-latency"])
    plain = partial(peers.iogauge, options=["--no-ceiling"])
    with zram.device(size_bytes=DEVICE_BYTES) as device:
        for engine, depth in ENGINES.items():
            name = f"tracing, zram, {engine} QD{depth}"
            job: Job = {"rw": "randread", "bs": "4k", "direct": 1, "ioengine": engine, "iodepth": depth}
            job = {**job, "filename": str(device), "time_based": 1, "runtime": settings.seconds(10)}
            ours, without = settings.compare(name, traced, plain, job)
            figures = {
                figure: ([getattr(run, figure) for run in ours], [getattr(run, figure) for run in without])
                for figure in ("iops", "lat_mean_ns")
            }
            rows.append(ratio_row(name, "IOPS", *figures["iops"], at_least=LEAST))
            rows.append(ratio_row(name, "mean lat, ns", *figures["lat_mean_ns"]))
            samples |= {f"{engine}_{key}": values for key, values in samples_of(figures).items()}
    return Finding(rows, samples)
