"""Lists mounts and swap areas in every visible mount namespace.

A container's mounts are missing from our own ``/proc/self/mountinfo``, yet they hold the device. So the table of one
process per namespace is read. ``usage`` decides what the entries mean.
Source: proc(5), Documentation/filesystems/proc.rst section 3.5.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from iogauge.target.users.sysfs import Host, names_in, number_of, read_text

_REMOTE = re.compile(
    r"(nfs|cifs|smb|9p|afs|ceph|coda|fuse|glusterfs|lustre|orangefs|virtiofs|gfs2|ocfs2|beegfs|gpfs).*"
)
"""Filesystems served by another machine or another process."""
_SYSTEM = "choose another one: the system runs from this"

FileId = tuple[int, int]
"""``(st_dev, st_ino)``, which identifies a file under any name."""


@dataclass(frozen=True)
class Mount:
    """One line of mountinfo."""

    id: int
    number: str
    """``major:minor`` of the filesystem; anonymous (``0:N``) for btrfs, overlay, tmpfs."""
    root: str
    """The directory of the filesystem that is mounted; ``/``: all of it."""
    point: str
    kind: str
    source: str
    options: tuple[str, ...]
    """Options of the superblock."""

    @property
    def is_remote(self) -> bool:
        """Whether another machine or process serves it, so that a call on one of its files may never return."""
        return _REMOTE.fullmatch(self.kind) is not None

    def sources(self) -> Iterator[str]:
        """Yield the paths that the filesystem may lie on: its source, and log or journal devices among its options."""
        if self.source.startswith("/"):
            yield self.source
            # bcachefs names all its members.
            yield from (part for part in self.source.split(":") if part.startswith("/dev/"))
        for option in self.options:
            _, _, value = option.partition("=")
            if value.startswith("/dev/"):
                yield value


@dataclass(frozen=True)
class Backing:
    """The storage below a mount or a swap area: block devices by number, and files by identity."""

    what: str
    remedy: str
    numbers: frozenset[str]
    files: frozenset[FileId]


def parse_mount(line: str) -> Mount | None:
    r"""Parse one line of mountinfo; None for a line of another form.

    >>> parse_mount(r"36 35 98:0 /a /mnt\040b rw,noatime master:1 - ext3 /dev/root rw,errors=continue").point
    '/mnt b'
    """
    left, separator, right = line.partition(" - ")
    before, after = left.split(" "), right.split(" ")
    if not separator or len(before) < 6 or len(after) < 2 or not before[0].isdecimal():
        return None
    return Mount(
        id=int(before[0]),
        number=before[2],
        root=unescape(before[3]),
        point=unescape(before[4]),
        kind=after[0],
        source=unescape(after[1]),
        options=tuple(unescape(option) for option in after[2].split(",")) if len(after) > 2 else (),
    )


def unescape(text: str) -> str:
    r"""Undo the kernel's octal escapes of blanks and backslashes.

    >>> unescape(r"a\040b")
    'a b'
    """
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), text)


def mounts_of(host: Host, process: str = "self") -> list[Mount]:
    """Return the mounts that a process sees; none if they may not be read."""
    text = read_text(host.proc / process / "mountinfo") or ""
    return [mount for line in text.splitlines() if (mount := parse_mount(line))]


def all_mounts(host: Host) -> Iterator[Mount]:
    """Yield our own mounts, then those of every other mount namespace with a process that we may read.

    Their ids are distinct.
    """
    yield from mounts_of(host)
    seen = {_namespace(host, "self")}
    for process in processes(host):
        namespace = _namespace(host, process)
        if namespace is not None and namespace not in seen:
            seen.add(namespace)
            yield from mounts_of(host, process)


def mounted(host: Host) -> Iterator[Backing]:
    """Yield the storage below every mounted filesystem, as far as its source and options name it."""
    distinct = {(mount.number, mount.point, mount.source): mount for mount in all_mounts(host)}
    for mount in distinct.values():
        numbers, files = {mount.number}, set[FileId]()
        for source in mount.sources():
            number, file = _identify(host, source)
            numbers |= {number} if number else set()
            files |= {file} if file else set()
        yield Backing(
            what=f"mounted at {mount.point}",
            remedy=f"umount {mount.point}" if mount.point != "/" else _SYSTEM,
            numbers=frozenset(numbers),
            files=frozenset(files),
        )


def swapped(host: Host) -> Iterator[Backing]:
    """Yield the storage below every active swap area."""
    for line in (read_text(host.proc / "swaps") or "").splitlines()[1:]:
        path = unescape(line.split()[0])
        number, file = _identify(host, path)
        yield Backing(
            what="used as swap",
            remedy=f"swapoff {path}",
            numbers=frozenset({number} if number else ()),
            files=frozenset({file} if file else ()),
        )


def processes(host: Host) -> list[str]:
    """Return the process ids in proc, in order."""
    return sorted(filter(str.isdecimal, names_in(host.proc)), key=int)


def _identify(host: Host, path: str) -> tuple[str | None, FileId | None]:
    """Return the number of the block device at ``path``, or the identity of the regular file there."""
    try:
        status = host.stat(path)
    except (OSError, ValueError):
        return None, None
    if stat.S_ISBLK(status.st_mode):
        return number_of(status.st_rdev), None
    return None, (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _namespace(host: Host, process: str) -> str | None:
    try:
        return str((host.proc / process / "ns" / "mnt").readlink())
    except OSError:
        return None
