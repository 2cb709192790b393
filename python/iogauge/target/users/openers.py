"""Lists the files that other processes have open, as far as proc shows them.

stat of a descriptor in proc queries the file's filesystem, and another machine (NFS) or process (FUSE) may never
answer. Reading the link queries nobody. So stat is called only if the link leads into /dev, if the filesystem is local
to this kernel, or if the filesystem has answered before.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from iogauge.target.users.mounts import Mount, all_mounts, processes
from iogauge.target.users.sysfs import HOST, Host, names_in, number_of, read_text


@dataclass(frozen=True)
class OpenFile:
    """A file or device that another process has open."""

    process: str
    path: Path
    """The descriptor's path in proc."""
    status: os.stat_result

    @property
    def is_writable(self) -> bool:
        """Whether the process can write to it."""
        flags = _info(self.path).get("flags", "0")
        return int(flags, 8) & os.O_ACCMODE != os.O_RDONLY


def open_files(host: Host = HOST, *, answered: Collection[str] = ()) -> Iterator[OpenFile]:
    """Yield the files that other processes have open. ``answered`` are numbers of filesystems that have answered."""
    mounts = {mount.id: mount for mount in all_mounts(host)}
    for process in processes(host):
        if int(process) == os.getpid():
            continue
        folder = host.proc / process / "fd"
        for name in names_in(folder):
            path = folder / name
            if not _answers(path, mounts, answered):
                continue
            try:
                status = host.stat(str(path))
            except (OSError, ValueError):
                continue
            yield OpenFile(process, path, status)


def processes_with_open(
    numbers: Collection[str], host: Host = HOST, *, write: bool = False, characters: Collection[str] = ()
) -> list[str]:
    """Return the other processes that have one of these block devices open, as ``name (pid 123)``.

    ``characters`` are numbers of character devices that count, too. Only processes that we may read are seen. ``write``
    selects those that can write to the device.
    """
    users = dict.fromkeys(
        file.process
        for file in open_files(host)
        if _is_one_of(file.status, numbers, characters) and (not write or file.is_writable)
    )
    return [program_name(process, host) for process in users]


def _is_one_of(status: os.stat_result, blocks: Collection[str], characters: Collection[str]) -> bool:
    number = number_of(status.st_rdev)
    if stat.S_ISBLK(status.st_mode):
        return number in blocks
    return stat.S_ISCHR(status.st_mode) and number in characters


def program_name(process: str, host: Host = HOST) -> str:
    """Return a process as messages name it: ``name (pid 123)``."""
    return f"{read_text(host.proc / process / 'comm') or '?'} (pid {process})"


def mount_id(descriptor: Path) -> int | None:
    """Return the id of the mount through which a descriptor in proc was opened; None if the kernel reports none."""
    number = _info(descriptor).get("mnt_id")
    return int(number) if number else None


def _answers(descriptor: Path, mounts: Mapping[int, Mount], answered: Collection[str]) -> bool:
    """Return whether stat of a descriptor is sure to return."""
    try:
        link = str(descriptor.readlink())
    except OSError:
        return False
    if link.startswith("/dev/"):
        return True
    if not link.startswith("/"):
        return False  # A pipe, a socket.
    mount = mounts.get(mount_id(descriptor) or 0)
    return mount is not None and (not mount.is_remote or mount.number in answered)


def _info(descriptor: Path) -> dict[str, str]:
    """Return the kernel's information on a descriptor in proc; empty if it may not be read."""
    text = read_text(descriptor.parent.with_name("fdinfo") / descriptor.name) or ""
    lines = (line.partition(":") for line in text.splitlines())
    return {name: value.strip() for name, _, value in lines}
