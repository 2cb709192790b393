"""What a server costs: the time of its answers, and the memory of its processes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from statistics import median

TIMES = 9


def family(pid: int) -> Iterable[int]:
    """Return a process and its children that still run."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return (pid, *map(int, children))


def peak_bytes(pid: int) -> int:
    """Return the most memory that a process has had resident."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(1024 * int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))


def median_ms(call: Callable[[], object]) -> float:
    """Return the median time of several calls in milliseconds."""
    took_s = []
    for _ in range(TIMES):
        began = time.perf_counter()
        call()
        took_s.append(time.perf_counter() - began)
    return 1000 * median(took_s)
