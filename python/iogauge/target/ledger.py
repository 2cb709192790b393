"""The ledger of a target: what iogauge wrote to it since when, over all runs and reviews.

What flash does depends on what was written to it, and a review that does not know says so. A target's ledger is a file
of JSON lines, one for each run that wrote to it and for each purge, in $XDG_STATE_HOME/iogauge/ledger (by default
~/.local/state/iogauge/ledger). A drive is known by model and serial number, a partition by its drive and its place
there, a file by its place and its birth; devices without a serial number and drive models have none. What is written to
a partition is entered for its drive too; what is written to a drive is not, for its partitions. Each user has ledgers
of his own.

What is not in it: what others wrote, what a run wrote that was killed outright, and trims. So all that it says is "at
least". It is a help, and no part of a result: where it cannot be kept, runs go on without.

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
    """Add an entry to a target's ledger, whole or not at all; nothing happens for a target that has none.

    A partition's is added to its drive's too. Raises OSError: it cannot be written.
    """
    for key in dict.fromkeys((_key(target), _key_of_drive(target))):
        if key is not None:
            _append(_path(key), entry)


def _append(path: Path, entry: LedgerEntry) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        # One write to a file that is appended to: neither a kill nor another process comes in between.
        os.write(fd, entry.model_dump_json().encode() + b"\n")
    finally:
        os.close(fd)


def entries(target: TargetFacts) -> list[LedgerEntry]:
    """Return what is in a target's ledger, the oldest first; nothing where there is none or it cannot be read."""
    path = path_of(target)
    try:
        lines = path.read_text().splitlines() if path else []
    except (OSError, UnicodeDecodeError):
        return []
    return list(_understood(lines))


def state_of(target: TargetFacts) -> TargetState | None:
    """Return in which state a target is, as far as its ledger goes; None: it has none, or nothing in it."""
    history = entries(target)
    if not history:
        return None
    # A purge of a partition leaves the rest of its drive as it was.
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
        written_bytes=sum(entry.written_bytes for entry in runs),
        random_bytes=sum(entry.random_bytes for entry in runs),
        last=runs[-1] if runs else None,
    )


def path_of(target: TargetFacts) -> Path | None:
    """Return where a target's ledger is; None: it has none."""
    key = _key(target)
    return None if key is None else _path(key)


def _path(key: str) -> Path:
    return directory() / f"{key}.jsonl"


def directory() -> Path:
    """Return where ledgers are. A relative $XDG_STATE_HOME is not used, as its specification has it."""
    configured = Path(os.environ.get("XDG_STATE_HOME", ""))
    return (
        (configured if configured.is_absolute() else Path.home() / ".local" / "state") / "iogauge" / "ledger"
    )


def _key(target: TargetFacts) -> str | None:
    """Return a name that is the target's alone, usable as a file name."""
    if drive := _key_of_drive(target):
        device = BlockDevice.by_name(target.device, HOST) if target.device else None
        if device is None or not device.is_partition:
            return drive
        # Where it begins and how long it is: one that is made anew elsewhere is another.
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
    """Return the name of the drive that a block device is, or is a partition of."""
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
