"""Every engine with default options, on a RAM-backed block device and on a file.

The other cases pin both programs to one CPU, and so hide what each chooses itself: where its worker and the kernel's
threads run, and how many requests a call submits. Here neither is pinned. fio's worker is a process, its default.
"""

from __future__ import annotations

from pathlib import Path

from bench import peers, zram
from bench.cases.block import DEVICE_BYTES, FILE, samples_of, written_file
from bench.peers import Job, Outcome
from bench.results import Finding, Row, ratio_row
from bench.settings import Settings

DEPTHS = {"psync": (1,), "pvsync2": (1,), "libaio": (8, 16), "io_uring": (32,)}
FIGURES = ("iops", "lat_mean_ns", "user_ns_per_io", "system_ns_per_io")
IN_FLIGHT = (0.98, 1.0)
"""The goal for the share of iodepth in flight, on a device that completes one request after another."""


def on_zram(settings: Settings) -> Finding:
    """Compare the IOPS of every engine on a new zram device."""
    if reason := zram.unavailable():
        return Finding(skipped=reason)
    with zram.device(size_bytes=DEVICE_BYTES) as device:
        return _engines("zram", settings, device, times=1, in_flight=False)


def on_file(settings: Settings) -> Finding:
    """Compare the IOPS of every engine on a file with direct I/O, and the requests in flight."""
    return _engines("file", settings, written_file(FILE), times=2, in_flight=True)


def _engines(place: str, settings: Settings, target: Path, *, times: int, in_flight: bool) -> Finding:
    rows: list[Row] = []
    samples: dict[str, list[float]] = {}
    for engine, depths in DEPTHS.items():
        for depth in depths:
            name = f"{place}, defaults, {engine} QD{depth}"
            job: Job = {"rw": "randread", "bs": "4k", "direct": 1, "ioengine": engine, "iodepth": depth}
            job = {**job, "filename": str(target), "time_based": 1, "runtime": settings.seconds(3)}
            ours, fio = settings.compare(name, peers.iogauge, peers.fio_as_typed, job, times=times)
            figures = {
                figure: ([getattr(run, figure) for run in ours], [getattr(run, figure) for run in fio])
                for figure in FIGURES
            }
            rows.append(ratio_row(name, "IOPS", *figures["iops"], at_least=0.97, bound=True))
            rows.append(ratio_row(name, "user ns per I/O", *figures["user_ns_per_io"]))
            rows.append(ratio_row(name, "system ns per I/O", *figures["system_ns_per_io"]))
            if in_flight and depth > 1:
                rows.append(_in_flight_row(name, depth, ours, fio))
            samples |= {f"{engine}_{depth}_{key}": values for key, values in samples_of(figures).items()}
    return Finding(rows, samples)


def _in_flight_row(name: str, depth: int, ours: list[Outcome], fio: list[Outcome]) -> Row:
    mine, theirs = ([run.in_flight / depth for run in runs] for runs in (ours, fio))
    row = ratio_row(name, "share of iodepth in flight", mine, theirs)
    least, most = IN_FLIGHT
    met = least <= float(row.iogauge) <= most
    return Row(row.measure, row.unit, row.iogauge, row.peer, row.ratio, f"{least:g} to {most:g}", met)
