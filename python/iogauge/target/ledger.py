"""Keeps the ledger of a target: what iogauge wrote to it, over all runs and reviews.

The behaviour of flash depends on what was written to it. A target's ledger is a file of JSON lines in
$XDG_STATE_HOME/iogauge/ledger (by default ~/.local/state/iogauge/ledger), with a line for each run that wrote and for
each purge. A drive is identified by its model and serial number, a partition by its drive and its position there, a
file by its path and its time of birth. Devices without a serial number and drive models have no ledger. A write to a
partition is entered for its drive too; a write to a drive is not entered for its partitions. Every user has separate
ledgers.

The ledger lacks writes of other programs, writes of a run that was killed, and trims. So its figures are lower bounds.
It is no part of a result: if it cannot be written, runs continue without it.

Source: XDG Base Directory Specification.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pydantic

from iogauge.schema import LedgerEntry, TargetFacts, TargetState
from iogauge.target.mark import birth_ns
from iogauge.target.users.sysfs import HOST, BlockDevice


def enter(target: TargetFacts, entry: LedgerEntry) -> None:
    """Add an entry to a target's ledger atomically; do nothing if the target has no ledger.

    An entry for a partition is added to its drive's ledger too. Raises OSError if a ledger cannot be written.
    """
    for key in dict.fromkeys((_key(target), _key_of_drive(target))):
        if key is not None:
            _append(_path(key), entry)


def _append(path: Path, entry: LedgerEntry) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        # A single appending write: neither a kill nor another process can split it.
        os.write(fd, entry.model_dump_json().encode() + b"\n")
    finally:
        os.close(fd)


def entries(target: TargetFacts) -> list[LedgerEntry]:
    """Return the entries of a target's ledger, the oldest first; none if it does not exist or cannot be read."""
    path = path_of(target)
    try:
        lines = path.read_text().splitlines() if path else []
    except (OSError, UnicodeDecodeError):
        return []
    return list(_understood(lines))


def state_of(target: TargetFacts) -> TargetState | None:
    """Return the state of a target according to its ledger; None if there is no ledger or it is empty."""
    history = entries(target)
    if not history:
        return None
    # A purge of a partition does not purge its drive.
    purges = [
        place
        for place, entry in enumerate(history)
        if entry.what == "purge" and entry.capacity_bytes >= target.size_bytes
    ]
    since = history[purges[-1] + 1 :] if purges else history
    runs = [entry for entry in since if entry.written_bytes]
    return TargetState(
        known_since=history[0].at,
        purged_at=history[purges[-1]].at if purges else None,
        purged_by=(history[purges[-1]].purged_by if purges else None) or "discard",
        written_bytes=sum(entry.written_bytes for entry in runs),
        random_bytes=sum(entry.random_bytes for entry in runs),
        last=runs[-1] if runs else None,
    )


def path_of(target: TargetFacts) -> Path | None:
    """Return the path of a target's ledger; None if it has none."""
    key = _key(target)
    return None if key is None else _path(key)


def _path(key: str) -> Path:
    return directory() / f"{key}.jsonl"


def directory() -> Path:
    """Return the directory of ledgers."""
    return xdg_directory("XDG_STATE_HOME", ".local/state") / "iogauge" / "ledger"


def xdg_directory(variable: str, default: str) -> Path:
    """Return the directory that a variable of the XDG specification names, or ``default`` in the home directory.

    A relative path is ignored, as the specification says. Raises RuntimeError if the user has no home directory.
    """
    configured = Path(os.environ.get(variable, ""))
    return configured if configured.is_absolute() else Path.home() / default


def _key(target: TargetFacts) -> str | None:
    """Return a file name that is unique to the target."""
    if drive := _key_of_drive(target):
        device = BlockDevice.by_name(target.device, HOST) if target.device else None
        if device is None or not device.is_partition:
            return drive
        # Start and length are part of the key: a partition made again elsewhere is another one.
        return _named(f"{device.name}-{target.serial}", [drive, device.text("start"), device.size_bytes])
    if target.kind == "file":
        try:
            node = os.open(target.real_path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            status = os.fstat(node)
            identity = [target.real_path, status.st_dev, status.st_ino, birth_ns(node)]
        finally:
            os.close(node)
        return _named(Path(target.real_path).name, identity)
    return None


def _key_of_drive(target: TargetFacts) -> str | None:
    """Return the key of a block device's drive."""
    if target.kind != "block" or not target.serial:
        return None
    return _named(f"{target.model or 'drive'}-{target.serial}", [target.model, target.serial])


def _named(name: str, identity: list[object]) -> str:
    digest = hashlib.sha256(repr(identity).encode()).hexdigest()
    return f"{re.sub('[^A-Za-z0-9._-]+', '-', name)[:60]}-{digest[:12]}"


def _understood(lines: list[str]) -> Iterator[LedgerEntry]:
    for line in lines:
        try:
            yield LedgerEntry.model_validate_json(line)
        except pydantic.ValidationError:
            continue  # of a newer version, or damaged: it counts as unknown
