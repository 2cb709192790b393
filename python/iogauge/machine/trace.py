"""What tells whether anything wrote to a target between two looks at it, whoever it was.

A review that goes on must know whether its target still is as it left it. The kernel counts what is written to a block
device, everybody's writes, as long as the machine runs; a file has the time at which it was last written to; and the
ledger knows what iogauge wrote, over reboots too. Whoever writes through another name of the same storage (a partition
beside, the device below a file) is seen only by the ledger, and only as far as that goes.

Reads alone; two traces are compared where a review goes on.
Source: Documentation/block/stat.rst; proc(5), random/boot_id; inode(7).
"""

from __future__ import annotations

from pathlib import Path

from iogauge.machine.stat import read_counters
from iogauge.schema import TargetFacts, Trace
from iogauge.target import ledger
from iogauge.target.users.sysfs import HOST, Host, read_text

_SECTORS_WRITTEN, _TRIMS = 6, 11
"""Columns of a device's counters."""
_SECTOR_BYTES = 512


def trace_of(target: TargetFacts, host: Host = HOST) -> Trace | None:
    """Return what tells later whether a target was written to; None: nothing would, as with a drive model."""
    entries = ledger.entries(target)
    entered = {"entries": len(entries), "entered_bytes": sum(entry.written_bytes for entry in entries)}
    if target.kind == "file":
        try:
            return Trace(modified_ns=Path(target.real_path or target.path).stat().st_mtime_ns, **entered)
        except OSError:
            return None
    if target.kind != "block":
        return None
    counters = read_counters([target], host).get(target.device or "")
    return Trace(
        boot=read_text(host.proc / "sys/kernel/random/boot_id"),
        written_bytes=counters[_SECTORS_WRITTEN] * _SECTOR_BYTES if counters else None,
        trims=counters[_TRIMS] if counters else None,
        **entered,
    )
