"""Names the drives behind targets, and locks them, so that two reviews of fleets never use one at once.

The lock is a ``flock`` on a file in the user's runtime directory. The kernel holds it as long as the process that took
it exists, and no longer, however that ends. It is taken in every directory that may be the runtime directory, since
two logins of a user need not have the same. A drive that is written is also opened exclusively (``target``), which
other users and programs respect.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import stat
from collections.abc import Iterable
from pathlib import Path

from iogauge.errors import InUseError, IogaugeError
from iogauge.live.places import directories, why_not_private
from iogauge.store.durable import open_lock
from iogauge.target import is_model
from iogauge.target.facts import drive_below, serials
from iogauge.target.namespace import block_device_of
from iogauge.target.users.mounts import mounts_of
from iogauge.target.users.sysfs import HOST, BlockDevice, number_of

_MOST_TEXT = 1000


def drives_of(targets: Iterable[str]) -> tuple[str, ...]:
    """Return unique names of the drives and files behind targets; drive models have none."""
    return tuple(dict.fromkeys(names[0] for path in targets if (names := names_of(path))))


class DriveLocks:
    """The locks on the drives of a review. They are never given back: the end of the process does that."""

    def __init__(self, holder: str) -> None:
        self._holder = holder
        """Who holds them, as others are told."""
        self._held: dict[str, list[int]] = {}

    def take(self, path: str) -> None:
        """Lock the drive behind a target, unless this object has locked it already.

        A file that did not exist has a further name once it does, so this is called again when it is laid out. Raises
        IogaugeError if another process holds the drive, or it cannot be locked.
        """
        for name in names_of(path):
            if name not in self._held:
                self._held[name] = self._lock(path, name)

    def _lock(self, path: str, drive: str) -> list[int]:
        name = f"{hashlib.sha256(drive.encode()).hexdigest()[:32]}.drive"
        descriptors: list[int] = []
        for directory in _places():
            try:
                descriptor = open_lock(directory / name)
            except OSError as error:
                raise _unlockable(path, f"{directory / name}: {error.strerror}") from error
            descriptors.append(descriptor)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.read(descriptor, _MOST_TEXT).decode(errors="replace")
                for opened in descriptors:
                    os.close(opened)
                raise InUseError(
                    f"{path}: a review of a fleet is using its drive{f': {holder}' if holder else ''}",
                    hint="wait until that has ended, or end it",
                ) from None
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{self._holder}, process {os.getpid()}".encode()[:_MOST_TEXT], 0)
        return descriptors


def _places() -> list[Path]:
    """Return the directories of the locks, all that this user can use. Raises IogaugeError if there is none."""
    usable, reasons = [], []
    for directory in directories():
        try:
            directory.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            reasons.append(f"{directory}: {error.strerror}")
            continue
        if (reason := why_not_private(directory)) is None:
            usable.append(directory)
        else:
            reasons.append(f"{directory}: {reason}")
    if not usable:
        raise IogaugeError("; ".join(reasons), hint="set XDG_RUNTIME_DIR to a directory of your own")
    return usable


def _unlockable(path: str, why: str) -> IogaugeError:
    return IogaugeError(
        f"{path}: its drive cannot be locked: {why}", hint="mend that, so that no two reviews use it"
    )


def names_of(path: str) -> tuple[str, ...]:
    """Return the names of the drive or file behind a target, the most reliable first; none for a drive model.

    A file is also known by its name in its directory, since it may not exist yet. One of a network file system is known
    by its path, which is likely to mean the same file on every host.
    """
    if is_model(path):
        return ()
    real = Path(os.path.realpath(path))
    device = block_device_of(str(real))
    try:
        status = real.stat()
    except OSError:
        status = None
    if device is None and status is not None and stat.S_ISBLK(status.st_mode):
        device = BlockDevice.by_number(number_of(status.st_rdev))
    if device is not None:
        drive = drive_below(device)
        serial = next(iter(serials(drive)), None)
        return (f"serial {serial}" if serial else f"device {boot_id()} {drive.number}",)
    keys = [f"network {real}"] if _is_remote(real) else []
    if status is not None:
        keys.append(f"file {boot_id()} {status.st_dev}:{status.st_ino}")
    try:
        folder = real.parent.stat()
    except OSError:
        return tuple(keys)
    return (*keys, f"file {boot_id()} {folder.st_dev}:{folder.st_ino} {json.dumps(real.name)}")


def _is_remote(path: Path) -> bool:
    """Return whether another computer or process serves the file system of a path."""
    above = {str(path), *map(str, path.parents)}
    mounts = [mount for mount in mounts_of(HOST) if mount.point in above]
    # Of several on one directory, the last one is seen.
    innermost = max(enumerate(mounts), key=lambda pair: (len(pair[1].point), pair[0]), default=None)
    return innermost is not None and innermost[1].is_remote


def boot_id() -> str:
    """Return the id of this computer's boot, without which numbers of files mean nothing elsewhere."""
    try:
        return (HOST.proc / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return os.uname().nodename
