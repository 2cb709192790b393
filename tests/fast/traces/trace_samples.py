"""Traces as other programs lay them out, of requests that tests choose."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from iogauge.traces.file import Facts, Trace, TraceFile
from iogauge.traces.rows import DIRECTIONS, ROW, UNKNOWN, Rows

WINDOWS_TICKS = 116_444_736_000_000_000
_LETTERS = {"read": "R", "write": "W"}
READ, WRITE, TRIM, FLUSH = 1 << 16, 1 << 17, 1 << 29, 1 << 18
QUEUED, COMPLETED = 1 << 20 | 1, 1 << 23 | 8


@dataclass(frozen=True)
class Request:
    """One request of a sample."""

    time_us: int
    direction: str = "read"
    offset: int = 0
    size: int = 4096
    latency_us: int = 100
    device: int = 0


REQUESTS = (
    Request(1_000_000, "read", 8192, 4096, 250, 3),
    Request(1_000_010, "write", 1 << 40, 65536, 900, 3),
    Request(1_000_010, "read", 0, 512, 80, 7),
    Request(2_500_000, "read", 4096, 1024, 81, 3),
)


def text(lines: Iterable[str]) -> bytes:
    """Return lines as a file."""
    return "".join(f"{line}\n" for line in lines).encode()


def msr(requests: Sequence[Request] = REQUESTS, host: str = "hm") -> bytes:
    """Return Timestamp, Hostname, DiskNumber, Type, Offset, Size, ResponseTime; times in ticks of 100 ns since 1601."""
    return text(
        f"{WINDOWS_TICKS + one.time_us * 10},{host},{one.device},{one.direction.capitalize()},{one.offset},{one.size},"
        f"{one.latency_us * 10}"
        for one in requests
    )


def spc(requests: Sequence[Request] = REQUESTS) -> bytes:
    """Return ASU, LBA, Size, Opcode, Timestamp; addresses in sectors, times in seconds."""
    return text(
        f"{one.device},{one.offset // 512},{one.size},{_LETTERS[one.direction].lower()},{one.time_us / 1e6:.6f}"
        for one in requests
    )


def alibaba(requests: Sequence[Request] = REQUESTS) -> bytes:
    """Return device_id, opcode, offset, length, timestamp; times in microseconds since 1970."""
    return text(
        f"{one.device},{_LETTERS[one.direction]},{one.offset},{one.size},{1_577_808_000_000_000 + one.time_us}"
        for one in requests
    )


def tencent(requests: Sequence[Request] = REQUESTS) -> bytes:
    """Return Timestamp, Offset, Size, IOType, VolumeID; times in seconds since 1970, the rest in sectors."""
    return text(
        f"{1_538_323_200 + one.time_us // 10**6},{one.offset // 512},{one.size // 512},"
        f"{int(one.direction == 'write')},{one.device}"
        for one in requests
    )


def iolog(requests: Sequence[Request] = REQUESTS) -> bytes:
    """Return fio's iolog of version 3, whose devices are files."""
    names = sorted({one.device for one in requests})
    return text(
        [
            "fio version 3 iolog",
            *(f"0 /f{name} add" for name in names),
            *(f"{one.time_us} /f{one.device} {one.direction} {one.offset} {one.size}" for one in requests),
        ]
    )


def vscsi(requests: Sequence[Request] = REQUESTS) -> bytes:
    """Return records of version 2: command, version, serial, length, pieces, block, time, latency (microseconds)."""
    return b"".join(
        struct.pack(
            "<HHIIIQQQ",
            0x28 if one.direction == "read" else 0x2A,
            2 << 8,
            number,
            one.size,
            1,
            one.offset // 512,
            one.time_us,
            one.latency_us,
        )
        for number, one in enumerate(requests)
    )


def blktrace_record(time_ns: int, action: int, offset: int, size: int, device: int, cpu: int = 0) -> bytes:
    """Return a ``struct blk_io_trace`` of Linux."""
    return struct.pack(
        "<IIQQIIIIIHH", 0x65617407, 1, time_ns, offset // 512, size, action, 77, 8 << 20 | device, cpu, 0, 0
    )


def blktrace(requests: Sequence[Request] = REQUESTS, cpus: int = 1) -> list[bytes]:
    """Return a file for each CPU: requests are queued on one, and complete on the next."""
    events = []
    for number, one in enumerate(requests):
        direction = READ if one.direction == "read" else WRITE
        place = (one.offset, one.size, one.device)
        begin_ns = one.time_us * 1000
        events.append((begin_ns, number % cpus, QUEUED | direction, place))
        events.append((begin_ns + one.latency_us * 1000, (number + 1) % cpus, COMPLETED | direction, place))
    return [
        b"".join(
            blktrace_record(time_ns, action, *place, cpu)
            for time_ns, where, action, place in sorted(events, key=lambda event: event[:2])
            if where == cpu
        )
        for cpu in range(cpus)
    ]


def rows(requests: Sequence[Request]) -> Rows:
    """Return requests as rows."""
    array = np.zeros(len(requests), dtype=ROW)
    for row, one in zip(array, requests, strict=True):
        row["time_ns"], row["latency_ns"] = one.time_us * 1000, one.latency_us * 1000
        row["offset_bytes"], row["size_bytes"], row["device"] = one.offset, one.size, one.device
        row["direction"] = [direction.value for direction in DIRECTIONS].index(one.direction)
    array["latency_ns"][array["latency_ns"] < 0] = UNKNOWN
    return array


def write(path: Path, requests: Sequence[Request], **facts: object) -> Path:
    """Write a trace file of these requests, and return its path."""
    names = [f"disk{number}" for number in range(max((one.device for one in requests), default=0) + 1)]
    with path.open("wb") as sink, TraceFile(sink) as file:
        file.write(rows(requests), names)
        file.close(Facts.model_validate({"source": "test", **facts}))
    return path


def read(path: Path) -> tuple[Rows, list[str], Facts]:
    """Return all rows of a trace file, the names of its devices, and its facts."""
    with Trace(path) as trace:
        batches = [*trace.batches()]
        return np.concatenate(batches), [*trace.devices], trace.facts
