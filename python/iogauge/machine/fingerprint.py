"""Takes a fingerprint of what was written to a target, to tell later whether anything wrote to it since.

A review that is resumed must know whether its target is still as it left it. The kernel counts all writes to a block
device until the machine reboots. A file has its modification time. The ledger knows what iogauge wrote, across
reboots. Writes through another name of the same storage (another partition, the device below a file) are seen only by
the ledger, so only if iogauge made them.

This module only reads; the resumed review compares two fingerprints.
Source: Documentation/block/stat.rst; proc(5), random/boot_id; inode(7).
"""

from __future__ import annotations

from pathlib import Path

from iogauge.machine.stat import read_counters
from iogauge.schema import TargetFacts, WriteFingerprint
from iogauge.target import ledger
from iogauge.target.users.sysfs import HOST, Host, read_text

_SECTORS_WRITTEN, _TRIMS = 6, 11
"""Columns of a device's counters."""
_SECTOR_BYTES = 512


def fingerprint_of(target: TargetFacts, host: Host = HOST) -> WriteFingerprint | None:
    """Return the write fingerprint of a target; None if it has none, such as a drive model."""
    entries = ledger.entries(target)
    entered = {"entries": len(entries), "entered_bytes": sum(entry.written_bytes for entry in entries)}
    if target.kind == "file":
        try:
            return WriteFingerprint(
                modified_ns=Path(target.real_path or target.path).stat().st_mtime_ns, **entered
            )
        except OSError:
            return None
    if target.kind != "block":
        return None
    counters = read_counters([target], host).get(target.device or "")
    return WriteFingerprint(
        boot=read_text(host.proc / "sys/kernel/random/boot_id"),
        written_bytes=counters[_SECTORS_WRITTEN] * _SECTOR_BYTES if counters else None,
        trims=counters[_TRIMS] if counters else None,
        **entered,
    )
