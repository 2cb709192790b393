"""Opens a regular file: creates it if it is missing, and overwrites it only if that is safe.

It is safe if iogauge made the file (``mark``) or ``--destroy`` names it. A file that is an active swap area, is mounted
or is behind a loop device is in use and never written. Reading an existing file needs no flag.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
from collections.abc import Collection
from pathlib import Path

from iogauge.target.facts import facts_of
from iogauge.target.handle import Target
from iogauge.target.layout import Say, check_space, gib, lay_out
from iogauge.target.mark import put_mark, remove_sidecar, why_foreign
from iogauge.target.refusal import TargetRefused, refused_by_kernel
from iogauge.target.users.locks import foreign_lock
from iogauge.target.users.sysfs import HOST, Host
from iogauge.target.users.usage import Usage
from iogauge.text.option import option


def create_file(
    real_path: str, path: str, *, write: bool, size_bytes: int | None, say: Say, host: Host = HOST
) -> Target:
    """Create the file, mark it, and fill it with random data. Raises TargetRefused and leaves no file then."""
    if real_path.startswith("/dev/") and not real_path.startswith("/dev/shm/"):
        # A mistyped device must not become a file in memory that is then measured.
        raise TargetRefused(f"{path}: no such device", hint="check its name: lsblk lists the devices")
    if not size_bytes:
        raise TargetRefused(
            f"{path}: no such file, and no size to create it with", hint="check the path, or give size="
        )
    try:
        fd = os.open(real_path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno == errno.ENOENT:
            folder = Path(real_path).parent
            raise TargetRefused(
                f"{path}: there is no directory {folder}", hint=f"check the path, or mkdir -p {folder}"
            ) from None
        raise refused_by_kernel(path, "creating it", error) from None
    try:
        _lock(fd, path)
        # Before a mark is put into the directory.
        check_space(fd, path, size_bytes=size_bytes)
        _lay_out(fd, real_path, path, size_bytes=size_bytes, ours=True, say=say)
    except KeyboardInterrupt:
        _leave(fd, real_path)
        os.close(fd)
        raise
    except BaseException as error:
        os.close(fd)
        with contextlib.suppress(OSError):
            Path(real_path).unlink()
        remove_sidecar(real_path)
        if isinstance(error, OSError):
            raise refused_by_kernel(path, "creating it", error) from None
        raise
    return _hand_out(fd, real_path, path, write=write, ours=True, host=host)


def open_file(
    node: int,
    real_path: str,
    path: str,
    *,
    write: bool,
    size_bytes: int | None,
    destroy: Collection[str],
    say: Say,
    host: Host = HOST,
) -> Target:
    """Open the existing file that the descriptor ``node`` (O_PATH) holds. Raises TargetRefused.

    A file that iogauge made is extended to ``size_bytes``, even for reading.
    """
    grow = size_bytes is not None and os.fstat(node).st_size < size_bytes
    change = write or grow
    try:
        flags = os.O_RDWR if change else os.O_RDONLY
        fd = os.open(f"/proc/self/fd/{node}", flags | os.O_CLOEXEC)
    except OSError as error:
        raise refused_by_kernel(path, "opening it", error) from None
    try:
        ours = False
        if change:
            ours = _clear(fd, real_path, path, write=write, size_bytes=size_bytes, destroy=destroy, host=host)
            check_space(fd, path, size_bytes=_grown(os.fstat(fd), size_bytes))
            if ours:
                put_mark(fd, real_path, in_use=True)
        try:
            if grow and size_bytes is not None:
                _lay_out(fd, real_path, path, size_bytes=size_bytes, ours=ours, say=say)
        except BaseException:
            if ours:
                _leave(fd, real_path)
            raise
        if os.fstat(fd).st_size == 0:
            raise TargetRefused(f"{path}: the file is empty", hint="give size=, or another file")
    except OSError as error:
        os.close(fd)
        raise refused_by_kernel(path, "preparing it", error) from None
    except BaseException:
        os.close(fd)
        raise
    return _hand_out(fd, real_path, path, write=write, ours=ours, host=host)


def _grown(status: os.stat_result, size_bytes: int | None) -> int:
    """Return how many bytes a file can occupy once jobs have written its first ``size_bytes``; None: all of it."""
    reach = size_bytes or status.st_size
    return min(max(reach, status.st_size), status.st_blocks * 512 + reach)


def require_removable(path: str, *, destroy: Collection[str]) -> None:
    """Raise TargetRefused if a file of this name exists and may not be removed.

    It may be if iogauge made it, or if ``destroy`` names it. Nothing else that could be driven is ever removed.
    """
    real_path = os.path.realpath(path)
    try:
        fd = os.open(real_path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError as error:
        raise refused_by_kernel(path, "opening it", error) from None
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode) or names_file(destroy, real_path, path):
            return
        if foreign := why_foreign(fd, real_path):
            raise TargetRefused(
                f"{path}: the job removes its files (unlink), and {foreign}",
                hint=f"remove unlink; if the file may be lost, add {option('destroy', real_path)}",
            )
    finally:
        os.close(fd)


def remove_files(paths: Collection[str], *, say: Say) -> None:
    """Remove the regular files among ``paths``, with their marks. Says which could not be removed."""
    for path in paths:
        real_path = os.path.realpath(path)
        try:
            if not stat.S_ISREG(os.lstat(real_path).st_mode):
                continue
            Path(real_path).unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            say(f"{path}: could not be removed: {error.strerror}")
            continue
        remove_sidecar(real_path)


def names_file(destroy: Collection[str], real_path: str, path: str) -> bool:
    """Return whether ``destroy`` names this file: by the user's path, or by any path to it."""
    return any(name == path or os.path.realpath(name) == real_path for name in destroy)


def _clear(
    fd: int,
    real_path: str,
    path: str,
    *,
    write: bool,
    size_bytes: int | None,
    destroy: Collection[str],
    host: Host,
) -> bool:
    """Return whether iogauge made the file. Raises TargetRefused if it may not be written."""
    status = os.fstat(fd)
    file = (status.st_dev, status.st_ino)
    if uses := Usage(host).of_file(file, path=real_path, size_bytes=status.st_size):
        raise TargetRefused(
            f"{path}: it is in use: {', '.join(use.what for use in uses[:3])}",
            hint=f"{'; '.join(dict.fromkeys(use.remedy for use in uses[:3]))}; "
            f"{option('destroy')} does not apply to what is in use",
        )
    _lock(fd, path)
    foreign = why_foreign(fd, real_path)
    if names_file(destroy, real_path, path):
        return foreign is None
    if status.st_nlink > 1:
        raise TargetRefused(
            f"{path}: the file has {status.st_nlink} names (hard links), so others may use its content",
            hint=f"choose another file; if its content may be lost, add {option('destroy', real_path)}",
        )
    if foreign is None:
        return True
    if not write:
        raise TargetRefused(
            f"{path}: the file holds {gib(status.st_size)}, not {gib(size_bytes or 0)}, and {foreign}",
            hint=f"ask for at most {status.st_size} bytes, or add {option('destroy', real_path)} to extend it",
        )
    raise TargetRefused(
        f"{path}: the file exists ({gib(status.st_size)}), and {foreign}",
        hint=f"choose another file; if its content may be lost, add {option('destroy', real_path)}",
    )


def _lock(fd: int, path: str) -> None:
    """Refuse a file that another program has locked, and lock it against a second iogauge.

    Where locks are not supported, continue without one.
    """
    if lock := foreign_lock(fd):
        raise TargetRefused(
            f"{path}: it is in use: {lock}",
            hint=f"end that use first, or choose another file; {option('destroy')} does not apply to what is in use",
        )
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise TargetRefused(
            f"{path}: another iogauge is writing to it", hint="wait for it, or choose another file"
        ) from None
    except OSError:
        pass


def _lay_out(fd: int, real_path: str, path: str, *, size_bytes: int, ours: bool, say: Say) -> None:
    """Lay the file out. Its mark holds the seed, so that the data of a killed layout can be recognised."""
    seed = secrets.randbits(63)
    if ours:
        put_mark(fd, real_path, in_use=True, layout_seed=seed)
    lay_out(fd, path, size_bytes=size_bytes, seed=seed, say=say)
    if ours:
        put_mark(fd, real_path, in_use=True)


def _hand_out(fd: int, real_path: str, path: str, *, write: bool, ours: bool, host: Host) -> Target:
    try:
        if not write and ours:
            _leave(fd, real_path)
            # The file was opened for writing only to extend it; the caller asked for reading.
            reading = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY | os.O_CLOEXEC)
            os.close(fd)
            fd = reading
        facts = facts_of(fd, path, size_bytes=os.fstat(fd).st_size, host=host)
    except OSError as error:
        os.close(fd)
        raise refused_by_kernel(path, "examining it", error) from None
    on_close = (lambda closing: _leave(closing, real_path)) if write and ours else None
    return Target(fd, facts=facts, writable=write, on_close=on_close)


def _leave(fd: int, real_path: str) -> None:
    """Record the file's final state in its mark. If that fails, the mark of a running job stays, which is enough."""
    with contextlib.suppress(OSError):
        put_mark(fd, real_path, in_use=False)
