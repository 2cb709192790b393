"""A RAM-backed block device for the time of a benchmark.

zram completes a request within its submission, in about a microsecond, so that the cost is that of the block layer and
the program. The device is filled with random bytes, so that reads copy pages instead of expanding zeroes.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CONTROL = Path("/sys/class/zram-control")
CHUNK_BYTES = 1 << 20


def unavailable() -> str | None:
    """Return why no zram device can be made here, or None where one can."""
    if os.geteuid() != 0:
        return "needs root, to make a zram device"
    if not CONTROL.exists():
        return "the kernel has no zram (modprobe zram)"
    return None


@contextmanager
def device(*, size_bytes: int) -> Iterator[Path]:
    """Make, fill and yield ``/dev/zramN``; remove it afterwards in any case."""
    number = int((CONTROL / "hot_add").read_text())
    try:
        Path(f"/sys/block/zram{number}/disksize").write_text(str(size_bytes))
        node = Path(f"/dev/zram{number}")
        with node.open("wb", buffering=0) as target:
            for _ in range(size_bytes // CHUNK_BYTES):
                target.write(os.urandom(CHUNK_BYTES))
            os.fsync(target.fileno())
        yield node
    finally:
        remove(number)


def remove(number: int, *, patience_s: float = 10) -> None:
    """Remove ``/dev/zramN``, when its last user has closed it: the ring of an exited program closes a little later."""
    until = time.monotonic() + patience_s
    while True:
        try:
            (CONTROL / "hot_remove").write_text(str(number))
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > until:
                raise
            time.sleep(0.1)
        else:
            return
