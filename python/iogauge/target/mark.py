"""Marks files that iogauge made, to recognise them later: a mark holds the file's identity and its last state.

The mark is an extended attribute or, on filesystems without attributes, a file ``.NAME.iogauge`` beside the target. It
records

- the inode and its time of birth. A copy (``cp -a`` copies attributes too), a restored backup or another file of the
  same name has different ones;
- the size and the time of modification when iogauge last closed the file, which must match exactly, and a time after
  which the inode must not have changed (the mark itself changes it; ctime cannot be set back). If timestamps are coarse
  or only the inode has changed (mv, chmod), the content must look like iogauge's (``noise``);
- only the size while the file is in use. A killed run leaves that mark: then the size must match and the content must
  look like iogauge's. A killed layout leaves its seed too, and its data is compared with that seed's.

In doubt a file is not iogauge's, and only ``--destroy`` overrides that. A mark guards against mistakes, not forgery.
Source: xattr(7), statx(2), inode(7).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import struct
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from iogauge.target.noise import holds_noise, may_be_ours
from iogauge.target.users.usage import mount_of_fd

_ATTRIBUTE = "user.iogauge"
_VERSION = 2

_EXACT = frozenset(
    ("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "ramfs", "tmpfs", "xfs", "zfs")
)
"""Filesystems that store the kernel's timestamps without rounding."""
_COARSEST_STAMP_NS = 2 * 10**9
"""Rounding elsewhere: FAT keeps modification times to 2 s, and network filesystems may round them when they flush."""
_FINE_STAMP_NS = 10**6
"""A timestamp that is a multiple of this counts as coarse: ext4 with small inodes keeps whole seconds."""
_MARKING_NS = 10**8
"""Longest time from the instant in the mark to the change of the inode by the mark itself."""

_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
_STATX_BYTES = 256
_BIRTH_OFFSET_BYTES = 80


@dataclass(frozen=True)
class Mark:
    """The identity of a file and its last state."""

    inode: int
    birth_ns: int | None
    size_bytes: int
    """The size when iogauge closed the file; during a layout, the size before the layout."""
    modified_ns: int
    left_ns: int | None
    """When iogauge last closed the file; None while it is in use."""
    layout_seed: int | None = None
    """The seed of the layout in progress; None if there is none."""
    version: int = _VERSION


def put_mark(fd: int, real_path: str, *, in_use: bool, layout_seed: int | None = None) -> None:
    """Mark the open file as iogauge's: in use, being laid out, or about to be closed. Raises OSError."""
    status = os.fstat(fd)
    mark = Mark(
        inode=status.st_ino,
        birth_ns=birth_ns(fd),
        size_bytes=status.st_size,
        modified_ns=status.st_mtime_ns,
        left_ns=None if in_use else time.time_ns(),
        layout_seed=layout_seed,
    )
    text = json.dumps(asdict(mark)).encode()
    sidecar = _sidecar(real_path)
    try:
        os.setxattr(fd, _ATTRIBUTE, text)
    except OSError:
        _write(sidecar, text)
    else:
        # The sidecar of an earlier file of this name would be read if this file lost its attribute.
        with contextlib.suppress(OSError):
            sidecar.unlink()


def remove_sidecar(real_path: str) -> None:
    """Remove the sidecar of a removed file; an attribute is removed with its file."""
    with contextlib.suppress(OSError):
        _sidecar(real_path).unlink()


def why_foreign(fd: int, real_path: str) -> str | None:
    """Return why this file may not be iogauge's; None if iogauge made it and nothing else has changed it since."""
    mark = _read(fd, real_path)
    if mark is None:
        return "iogauge did not make it"
    status = os.fstat(fd)
    born = birth_ns(fd)
    if mark.inode != status.st_ino or mark.birth_ns != born:
        return "it is a copy or a replacement of a file that iogauge made"
    if mark.left_ns is not None:
        return None if _as_left(fd, mark, status) else "something else has changed it since iogauge used it"
    if born is None:
        # Without a time of birth, a reused inode looks like the old file.
        return "this filesystem does not record whether it is still the file that iogauge made"
    if not _as_killed(fd, mark, status.st_size):
        return "its content is not what a killed run of iogauge leaves"
    return None


def _as_left(fd: int, mark: Mark, status: os.stat_result) -> bool:
    mount = mount_of_fd(fd)
    exact = mount is not None and mount.kind in _EXACT
    away_ns = abs(status.st_mtime_ns - mark.modified_ns)
    if status.st_size != mark.size_bytes or away_ns > (0 if exact else _COARSEST_STAMP_NS):
        return False
    fine = exact and mark.modified_ns % _FINE_STAMP_NS != 0
    untouched = mark.left_ns is not None and status.st_ctime_ns <= mark.left_ns + _MARKING_NS
    return (fine and untouched) or may_be_ours(fd)


def _as_killed(fd: int, mark: Mark, size_bytes: int) -> bool:
    if size_bytes != mark.size_bytes and (
        mark.layout_seed is None
        or size_bytes < mark.size_bytes
        or not holds_noise(fd, seed=mark.layout_seed, start=mark.size_bytes, end=size_bytes)
    ):
        return False
    return may_be_ours(fd)


def birth_ns(fd: int) -> int | None:
    """Return the creation time of the open file; None if the filesystem or the C library does not report it."""
    statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    if statx is None:
        return None
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(fd, b"", _AT_EMPTY_PATH, _STATX_BTIME, answer) != 0:
        return None
    (mask,) = struct.unpack_from("=I", answer, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", answer, _BIRTH_OFFSET_BYTES)
    return int(seconds) * 10**9 + int(nanoseconds) if mask & _STATX_BTIME else None


def _read(fd: int, real_path: str) -> Mark | None:
    try:
        text = os.getxattr(fd, _ATTRIBUTE)
    except OSError:
        try:
            text = _sidecar(real_path).read_bytes()
        except OSError:
            return None
    try:
        fields = json.loads(text)
        mark = Mark(**fields)
    except (ValueError, TypeError):
        return None
    required = (mark.inode, mark.size_bytes, mark.modified_ns)
    optional = (mark.birth_ns, mark.left_ns, mark.layout_seed)
    valid = all(isinstance(n, int) for n in required) and all(
        n is None or isinstance(n, int) for n in optional
    )
    return mark if mark.version == _VERSION and valid else None


def _sidecar(real_path: str) -> Path:
    path = Path(real_path)
    return path.with_name(f".{path.name}.iogauge")


def _write(path: Path, text: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)
