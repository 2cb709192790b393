"""What a user gets who types a job and nothing else: every engine, on a RAM-backed block device and on a file.

The other cases put both programs on the same CPU, and so cannot see what each chooses for itself: where its worker
runs, where the kernel's threads for it run, how many requests go into one call. Here neither is told. fio's worker is
a process, as it is by default.
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
HELD = (0.98, 1.0)
"""Of iodepth, in flight on a device that completes one request after another."""


def on_zram(settings: Settings) -> Finding:
    """IOPS of every engine on a zram device of our own."""
    if reason := zram.unavailable():
        return Finding(skipped=reason)
    with zram.device(size_bytes=DEVICE_BYTES) as device:
        return _engines("zram", settings, device, times=1, held=False)


def on_file(settings: Settings) -> Finding:
    """IOPS of every engine on a file, past the page cache, and how many requests are in flight."""
    return _engines("file", settings, written_file(FILE), times=2, held=True)


def _engines(place: str, settings: Settings, target: Path, *, times: int, held: bool) -> Finding:
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
            if held and depth > 1:
                rows.append(_held(name, depth, ours, fio))
            samples |= {f"{engine}_{depth}_{key}": values for key, values in samples_of(figures).items()}
    return Finding(rows, samples)


def _held(name: str, depth: int, ours: list[Outcome], fio: list[Outcome]) -> Row:
    mine, theirs = ([run.in_flight / depth for run in runs] for runs in (ours, fio))
    row = ratio_row(name, "share of iodepth in flight", mine, theirs)
    least, most = HELD
    met = least <= float(row.iogauge) <= most
    return Row(row.measure, row.unit, row.iogauge, row.peer, row.ratio, f"{least:g} to {most:g}", met)
