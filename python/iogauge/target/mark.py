"""How iogauge knows a file again as its own: a mark with the file's identity, so that no copy passes for it.

The mark is an extended attribute, or where the filesystem has none a file ``.NAME.iogauge`` beside it. It records
the inode and its time of birth: a copy (``cp -a`` copies attributes too), a restored backup or another file of the
same name has others. It also records when iogauge last left the file; something else written over it in place
shows as a later modification. After a crash that instant is missing, and identity alone decides.

Guards against mistakes, not against forgery. Source: issue "Safety"; xattr(7), statx(2).
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import struct
from dataclasses import asdict, dataclass
from pathlib import Path

_ATTRIBUTE = "user.iogauge"
_VERSION = 1
_COARSEST_STAMP_NS = 2 * 10**9
"""FAT keeps modification times to 2 s, and network filesystems may round them when they flush."""

_AT_EMPTY_PATH = 0x1000
_STATX_BTIME = 0x800
_STATX_BYTES = 256
_BIRTH_OFFSET_BYTES = 80


@dataclass(frozen=True)
class Mark:
    """Which file, and how it was left."""

    inode: int
    birth_ns: int | None
    modified_ns: int | None
    """When iogauge last closed it; None while it is being written."""
    version: int = _VERSION


def put_mark(fd: int, real_path: str, *, in_use: bool) -> None:
    """Mark the open file as iogauge's: being written, or as it is left now. Raises OSError."""
    found = os.fstat(fd)
    mark = Mark(found.st_ino, birth_ns(fd), None if in_use else found.st_mtime_ns)
    text = json.dumps(asdict(mark)).encode()
    sidecar = _sidecar(real_path)
    try:
        os.setxattr(fd, _ATTRIBUTE, text)
    except OSError:
        _write(sidecar, text)
    else:
        # One left by an earlier file of this name would outlive this one's attribute and confuse.
        with contextlib.suppress(OSError):
            sidecar.unlink()


def remove_sidecar(real_path: str) -> None:
    """Remove the mark beside a file that was removed; an attribute went with its file."""
    with contextlib.suppress(OSError):
        _sidecar(real_path).unlink()


def why_foreign(fd: int, real_path: str) -> str | None:
    """Return None where iogauge made this very file and nobody changed it since; otherwise what speaks against it."""
    mark = _read(fd, real_path)
    if mark is None:
        return "iogauge did not make it"
    found = os.fstat(fd)
    born = birth_ns(fd)
    if mark.inode != found.st_ino or mark.birth_ns != born:
        return "it is a copy or a replacement of a file that iogauge made"
    if mark.modified_ns is None:
        # Without a time of birth a reused inode cannot be told from the old file.
        return None if born is not None else "it cannot be told from another file of that name"
    if abs(found.st_mtime_ns - mark.modified_ns) > _COARSEST_STAMP_NS:
        return "something else has written to it since iogauge used it"
    return None


def birth_ns(fd: int) -> int | None:
    """Return when the open file was created, None where the filesystem or the C library does not say."""
    statx = getattr(ctypes.CDLL(None, use_errno=True), "statx", None)
    if statx is None:
        return None
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(fd, b"", _AT_EMPTY_PATH, _STATX_BTIME, answer) != 0:
        return None
    (given,) = struct.unpack_from("=I", answer, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", answer, _BIRTH_OFFSET_BYTES)
    return int(seconds) * 10**9 + int(nanoseconds) if given & _STATX_BTIME else None


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
    numbers = (mark.inode, mark.birth_ns, mark.modified_ns)
    return (
        mark if mark.version == _VERSION and all(n is None or isinstance(n, int) for n in numbers) else None
    )


def _sidecar(real_path: str) -> Path:
    path = Path(real_path)
    return path.with_name(f".{path.name}.iogauge")


def _write(path: Path, text: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        os.write(fd, text)
    finally:
        os.close(fd)
