"""Outputs: the files that a user names to be written. They are written only through this module.

A command claims every output before anything runs, and writes it through its claim. These are refused:

- block devices, directories and sockets, and character devices but /dev/null and terminals;
- a name that is not UTF-8;
- a target of the run, an input of the command, and another output, by any path, symbolic link or hard link: files are
  compared by device and inode;
- a swap file, a file behind a loop device, and a file of a saved review;
- files below /proc and /sys, and new files in /dev;
- a file that iogauge did not write, unless the option's convention is to replace it (``Existing``).

A run may take hours, so the path is checked again before it is overwritten.

Pipes, terminals, /dev/null and the process's own descriptors (/dev/stdout, /dev/fd/3) are written directly. The target
of a symbolic link is replaced, and the link stays.

iogauge recognises its outputs by an extended attribute with their size and time of modification. A file without it
belongs to somebody else. This protects against mistakes, not against forgery.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from functools import partial
from pathlib import Path
from typing import IO

from iogauge import catalog
from iogauge.errors import IogaugeError
from iogauge.store import durable
from iogauge.store.durable import explained
from iogauge.store.kept import KeptFile, open_kept
from iogauge.store.names import COMPUTED, FIGURES, MANIFEST
from iogauge.target import is_model
from iogauge.target.answering import PATIENCE_S, await_answers, unanswered
from iogauge.target.users.usage import Usage

Identity = tuple[str | int, ...]
"""The file or device that a path leads to or, if nothing exists there, the path's directory and name."""

_ATTRIBUTE = "user.iogauge.output"
_DESCRIPTOR = re.compile(r"(?:/dev/fd|/proc/self/fd)/(\d{1,9})")
_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
_NULL = os.makedev(1, 3)
_SAVED_PATIENCE_S = 2.0
"""How long to wait for all targets of saved reviews: a command that reads reviews does not need them."""


class Existing(Enum):
    """What to do with an existing file. An empty one counts as missing, except for ``KEEP``."""

    REPLACE = "replace any file, as fio's --output does, with a message if iogauge did not write it"
    OWN = "replace a file that iogauge wrote, refuse any other"
    KEEP = "refuse any file"


class Claims:
    """The outputs of one command. Each is checked when it is claimed, and created when it is written."""

    def __init__(
        self,
        *,
        targets: Iterable[str] = (),
        saved_targets: Iterable[str] = (),
        inputs: Iterable[Path | str] = (),
        patience_s: float = PATIENCE_S,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """Note the files that must not be written:

        - ``targets`` of the command. It waits for each, at most ``patience_s``;
        - ``saved_targets``, those of saved reviews and plans. One that does not answer within 2 s is compared by name;
        - ``inputs``, files that the command reads.

        ``say`` is called with messages about replaced files. Raises IogaugeError if a target does not answer or an
        input cannot be read.
        """
        self._say = say
        self._taken: dict[Identity, str] = {}
        driven, saved = tuple(targets), tuple(saved_targets)
        await_answers(driven, patience_s=patience_s, say=say)
        silent = unanswered(saved, patience_s=_SAVED_PATIENCE_S)
        files = list(inputs)
        for target in (*driven, *saved):
            if is_model(target):
                files += [part for part in catalog.split(target) if part and catalog.is_path(part)]
            else:
                known = _by_name(target) if target in silent else _identity_of_target(target)
                self._taken[known] = f"is the target {target}, which would be overwritten"
        for path in files:
            self.spare(path)

    def spare(self, path: Path | str) -> None:
        """Note a file that the command reads, and must not write. Raises IogaugeError if it cannot be read."""
        with explained("read", Path(path)):
            self._taken[identity(path)] = f"is an input of this command: {path}"

    def file(self, path: Path, *, existing: Existing) -> Output:
        """Claim a file. Raises IogaugeError if it must not or cannot be written."""
        refuse_name(path)
        self._refuse_taken(path, _by_name(path))
        with explained("write", path):
            descriptor = _own_descriptor(path)
            if descriptor is not None:
                return self._descriptor(path, descriptor, existing)
            status = _status(path)
            known = _identity_of(status) if status else identity(path)
            self._refuse_taken(path, known)
            if status:
                _refuse_kind(path, status)
                if not stat.S_ISREG(status.st_mode):
                    return Output(path, existing=existing, status=status)
            real = Path(os.path.realpath(path))
            self._refuse_taken(path, _by_name(real))
            _refuse_place(path, real)
            if status:
                _refuse_content(path, real, status, existing, self._say)
            taken = dict(self._taken)
            self._taken[known] = f"is another output of this command: {path}"
            return Output(path, existing=existing, status=status, real=real, taken=taken, say=self._say)

    def new_directory(self, path: Path) -> None:
        """Claim a directory that is created later. Raises IogaugeError if it is a target or an output."""
        refuse_name(path)
        self._refuse_taken(path, _by_name(path))
        with explained("create", path):
            self._refuse_taken(path, identity(path))

    def make_directory(self, path: Path) -> Path:
        """Claim a directory for outputs, create it with its parents if it is missing, and return it."""
        self.new_directory(path)
        with explained("create", path):
            path.mkdir(parents=True, exist_ok=True)
        return path

    def kept(self, path: Path, *, size_bytes: int) -> KeptFile:
        """Claim and open the file that keeps the data of a served drive; create it if it is missing.

        Raises IogaugeError if it must not or cannot be written.
        """
        refuse_name(path)
        self._refuse_taken(path, _by_name(path))
        with explained("write", path):
            known = identity(path)
            self._refuse_taken(path, known)
            if status := _status(path):
                _refuse_kind(path, status)
            real = Path(os.path.realpath(path))
            _refuse_place(path, real)
            self._taken[known] = f"keeps the data of the served drive, as {path}"
            return open_kept(path, real, size_bytes=size_bytes, say=self._say)

    def _descriptor(self, path: Path, descriptor: int, existing: Existing) -> Output:
        """Claim a descriptor of this process."""
        status = os.fstat(descriptor)
        known = _identity_of(status)
        self._refuse_taken(path, known)
        _refuse_kind(path, status, descriptor)
        if fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise _refused(path, "is open for reading only")
        if stat.S_ISREG(status.st_mode):
            self._taken[known] = f"is another output of this command: {path}"
        return Output(path, existing=existing, status=status, descriptor=descriptor)

    def _refuse_taken(self, path: Path, known: Identity) -> None:
        if known in self._taken:
            raise _refused(path, self._taken[known])


class Output:
    """A claimed output: a file, or a pipe, a terminal, /dev/null or a descriptor, which is written directly."""

    def __init__(
        self,
        path: Path,
        *,
        existing: Existing,
        status: os.stat_result | None,
        real: Path | None = None,
        descriptor: int | None = None,
        taken: Mapping[Identity, str] | None = None,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``status``: of the existing file; ``real``: its resolved path; ``taken``: files that it must not be."""
        self.path = path
        """As the user named it."""
        self._real = real
        self._descriptor = descriptor
        self._existing = existing
        self._taken = taken or {}
        self._say = say
        self._version = _version(status) if status else None
        """The version of the file when it was claimed, or written last."""
        self._explained = partial(explained, "write", path)

    @property
    def is_file(self) -> bool:
        """Whether it is a file, which can be read again."""
        return self._real is not None

    @property
    def folder(self) -> Path | None:
        """The directory of a file, with symbolic links resolved; None if it is not a file."""
        return self._real.parent if self._real else None

    def write(self, data: bytes, *, mode: int | None = None) -> None:
        """Write the output atomically. ``mode``: its permissions, if they are not the usual ones."""
        with self.atomic() as file:
            file.write(data)
            if mode is not None and self._real is not None:
                with self._explained():
                    os.fchmod(file.fileno(), mode)

    @contextmanager
    def atomic(self) -> Iterator[IO[bytes]]:
        """Yield a temporary file that replaces the output when the context ends, and is removed on an error.

        Raises IogaugeError if it cannot be written; other errors of the caller pass through.
        """
        if self._real is None or not os.access(self._real.parent, os.W_OK):
            with self.stream() as file:
                yield file
            return
        with self._explained():
            self._refuse_stranger(_status(self._real))
        with durable.replacing(self._real, explain=self._explained) as file:
            yield file
            self._finish(file)

    @contextmanager
    def stream(self) -> Iterator[IO[bytes]]:
        """Empty the output and yield it, to be written in place.

        Raises IogaugeError if it cannot be written; other errors of the caller pass through.
        """
        with self._explained():
            descriptor = self._open()
            self._version = _version(os.fstat(descriptor))
        with durable.explained_file(descriptor, self._explained) as file:
            yield file
            if self._real is not None:
                self._finish(file)

    def remove_empty(self) -> None:
        """Remove the file again if nothing was written to it."""
        if self._real is None:
            return
        with self._explained():
            status = _status(self._real)
            if status and not status.st_size and _version(status) == self._version:
                self._real.unlink()

    def _open(self) -> int:
        if self._descriptor is not None:
            return os.dup(self._descriptor)
        if self._real is None:
            return self._open_checked(self.path, self._refuse_other)
        status = _status(self._real)
        if status is None:
            return os.open(self._real, _FLAGS | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
        self._refuse_stranger(status)
        descriptor = self._open_checked(self._real, self._refuse_stranger)
        try:
            os.ftruncate(descriptor, 0)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def _open_checked(self, path: Path, check: Callable[[os.stat_result], None]) -> int:
        """Open a path, and check the open file: the path may have come to name another one."""
        descriptor = os.open(path, _FLAGS | (os.O_NOFOLLOW if self._real else 0))
        try:
            check(os.fstat(descriptor))
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _refuse_other(self, status: os.stat_result) -> None:
        """Refuse a file or block device in place of the pipe, terminal or null device that was claimed."""
        if stat.S_ISREG(status.st_mode) or stat.S_ISBLK(status.st_mode):
            raise _refused(self.path, "has become a file or a block device")

    def _refuse_stranger(self, status: os.stat_result | None) -> None:
        """Refuse a file that replaced the claimed one, by the rules of a claim."""
        if status is None or _version(status) == self._version:
            return
        known = _identity_of(status)
        if not stat.S_ISREG(status.st_mode) or known in self._taken:
            raise _refused(self.path, self._taken.get(known, "is no longer a regular file"))
        assert self._real is not None
        _refuse_content(self.path, self._real, status, self._existing, self._say)

    def _finish(self, file: IO[bytes]) -> None:
        """Mark a finished file as an output of iogauge, if its file system has extended attributes."""
        file.flush()
        with self._explained():
            status = os.fstat(file.fileno())
        with contextlib.suppress(OSError):
            os.setxattr(file.fileno(), _ATTRIBUTE, _mark_of(status))
        self._version = _version(status)


_FLAGS = os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY


def identity(path: Path | str) -> Identity:
    """Return the identity of a path, which need not exist. Raises OSError as ``stat`` does."""
    if status := _status(path):
        return _identity_of(status)
    real = Path(os.path.realpath(path))
    folder = _status(real.parent)
    # A directory may be mounted at two places.
    return ("name", *(_identity_of(folder) if folder else (str(real.parent),)), real.name)


def _identity_of_target(target: str) -> Identity:
    """Return the identity of a target, or its name if it cannot be examined; ``target`` explains the error."""
    try:
        return identity(target)
    except OSError:
        return _by_name(os.path.realpath(target))
    except ValueError:  # It has a null byte.
        return _by_name(target)


def _by_name(path: Path | str) -> Identity:
    """Return the identity of a path that is not examined: its name."""
    return ("path", os.path.abspath(path))  # noqa: PTH100 (a name may end in '..')


def _status(path: Path | str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 (the name stays as it is)
    except FileNotFoundError:
        return None


def _identity_of(status: os.stat_result) -> Identity:
    if stat.S_ISBLK(status.st_mode):
        return ("device", status.st_rdev)
    return ("file", status.st_dev, status.st_ino)


def _version(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _own_descriptor(path: Path) -> int | None:
    """Return the number of the process's own descriptor that a path names; None if it names none."""
    match = _DESCRIPTOR.fullmatch(str(path))
    return int(match[1]) if match else _STANDARD.get(str(path))


def refuse_name(path: Path) -> None:
    """Raise IogaugeError if a path is not UTF-8."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise IogaugeError(
            f"{shown}: its name is not UTF-8, so results and terminals cannot show it",
            hint="use a UTF-8 name",
        ) from None


def _refuse_kind(path: Path, status: os.stat_result, descriptor: int | None = None) -> None:
    mode = status.st_mode
    if stat.S_ISBLK(mode):
        raise _refused(path, "is a block device, whose content would be lost")
    if stat.S_ISDIR(mode):
        raise _refused(path, "is a directory")
    if stat.S_ISSOCK(mode):
        raise _refused(path, "is a socket")
    terminal = _is_terminal(path) if descriptor is None else os.isatty(descriptor)
    if stat.S_ISCHR(mode) and status.st_rdev != _NULL and not terminal:
        raise _refused(path, "is a character device other than /dev/null or a terminal")


def _is_terminal(path: Path) -> bool:
    # A terminal can be opened without effect. Opening other devices acts: a tape rewinds, a watchdog starts.
    return re.fullmatch(r"/dev/(tty\d*|console|pts/\d+)", os.path.realpath(path)) is not None


def _refuse_place(path: Path, real: Path) -> None:
    folder = real.parent if path.parent.exists() else path.parent
    if not folder.is_dir():
        raise IogaugeError(f"{path}: there is no directory {folder}", hint=f"create it: mkdir -p {folder}")
    if real.is_relative_to("/dev") and not real.is_relative_to("/dev/shm"):
        raise IogaugeError(
            f"{path}: no such device", hint="files in /dev are in memory: name a file elsewhere"
        )
    if real.is_relative_to("/proc") or real.is_relative_to("/sys"):
        raise _refused(path, "belongs to the kernel")
    if not os.access(real if real.exists() else folder, os.W_OK):
        raise IogaugeError(f"{path}: cannot be written", hint="name a file that can be written")
    for review in real.parents:
        inner = real.relative_to(review).parts[0]
        if inner in ("steps", "stopped", MANIFEST, FIGURES, COMPUTED) and (review / MANIFEST).is_file():
            raise _refused(path, f"belongs to the review saved in {review}")


def _refuse_content(
    path: Path, real: Path, status: os.stat_result, existing: Existing, say: Callable[[str], None]
) -> None:
    """Refuse to replace a file that is in use or not iogauge's, or say that it will be replaced."""
    if existing is Existing.KEEP:
        raise IogaugeError(f"{path}: exists", hint="name another file, or remove it")
    if not status.st_size:
        return
    if uses := Usage().of_file((status.st_dev, status.st_ino), path=str(real), size_bytes=status.st_size):
        raise IogaugeError(
            f"{path}: it is in use: {uses[0].what}", hint=f"name another file, or {uses[0].remedy} first"
        )
    if (stranger := _why_stranger(real, status)) is None:
        return
    if existing is Existing.OWN:
        raise IogaugeError(f"{path}: {stranger}", hint="name another file, or remove it")
    say(f"{path}: {stranger}: it will be replaced")


def _why_stranger(real: Path, status: os.stat_result) -> str | None:
    """Return None if iogauge wrote the file as it is; otherwise the reason why it is not known to."""
    try:
        if os.getxattr(real, _ATTRIBUTE) == _mark_of(status):
            return None
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return "exists, and its file system cannot tell whether iogauge wrote it"
    return "exists and was not written by iogauge, or was changed since"


def _mark_of(status: os.stat_result) -> bytes:
    return f"{status.st_size} {status.st_mtime_ns}".encode()


def _refused(path: Path, why: str) -> IogaugeError:
    return IogaugeError(f"{path}: {why}", hint="name another file")
