"""Outputs: the files that a user names to be written, and the one door to them.

A command claims every output before anything runs, and writes it through its claim. Refused are:

- block devices, directories and sockets, and character devices but /dev/null and terminals;
- a name that is not UTF-8;
- a target of the run, a file that the command reads and another of its outputs, whichever path, symbolic link or hard
  link leads there: files are compared by device and inode;
- a file that is swapped to or is behind a loop device, and a file of a saved review;
- a file that iogauge did not write, unless the option's convention is to replace it (``Existing``).

Pipes, terminals, /dev/null and the process's own descriptors (/dev/stdout, /dev/fd/3) are written straight. A symbolic
link stays one: the file that it leads to is replaced.

iogauge knows its outputs again by an extended attribute with their size and time of modification. In doubt, a file is
somebody else's. Guards against mistakes, not against forgery.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import IO

from iogauge import models
from iogauge.errors import IogaugeError
from iogauge.store import durable
from iogauge.store.durable import explained
from iogauge.store.names import FIGURES, MANIFEST
from iogauge.target import is_model
from iogauge.target.answering import PATIENCE_S, await_answers
from iogauge.target.usage import Usage

Identity = tuple[str | int, ...]
"""Which file or device a path leads to, whatever it is called; which place, where there is nothing yet."""

_ATTRIBUTE = "user.iogauge.output"
_DESCRIPTOR = re.compile(r"(?:/dev/fd|/proc/self/fd)/(\d{1,9})")
_STANDARD = {"/dev/stdout": 1, "/dev/stderr": 2}
_NULL = os.makedev(1, 3)


class Existing(Enum):
    """What becomes of a file that is there already. An empty one counts as missing, except for ``KEEP``."""

    REPLACE = "the option's convention, as fio's --output: any file is replaced, and said if iogauge did not write it"
    OWN = "a file that iogauge wrote is replaced, any other refused"
    KEEP = "any file is refused"


class Claims:
    """The outputs of one command. Each is checked when it is claimed; nothing is created until it is written."""

    def __init__(
        self,
        *,
        targets: Iterable[str] = (),
        inputs: Iterable[Path | str] = (),
        patience_s: float = PATIENCE_S,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``targets`` are those that the command drives, ``inputs`` files that it reads; ``say`` hears what is lost.

        Targets are waited for, each ``patience_s`` at most. Raises IogaugeError where one does not answer.
        """
        self._say = say
        targets = tuple(targets)
        await_answers(targets, patience_s=patience_s, say=say)
        self._taken: dict[Identity, str] = {}
        for target in targets:
            if is_model(target):
                inputs = [*inputs, *(part for part in models.split(target) if part and _is_path(part))]
            else:
                self._taken[identity(target)] = f"is the target {target}, which would be overwritten"
        for path in inputs:
            self._taken[identity(path)] = f"is read by this command, as {path}"

    def file(self, path: Path, *, existing: Existing) -> Output:
        """Claim a file. Raises IogaugeError where it must not, or cannot, be written."""
        _refuse_name(path)
        with explained("write", path):
            descriptor = _descriptor(path)
            place = os.fstat(descriptor) if descriptor is not None else _stat(path)
            known = _known(place) if place else identity(path)
            if known in self._taken:
                raise _refused(path, self._taken[known])
            if place:
                _refuse_kind(path, place)
            if descriptor is not None or (place and not stat.S_ISREG(place.st_mode)):
                return Output(path, real=None, descriptor=descriptor, existing=existing, taken={})
            real = Path(os.path.realpath(path))
            _refuse_place(path, real)
            if place and (place.st_size or existing is Existing.KEEP):
                self._refuse_content(path, real, place, existing)
            taken = dict(self._taken)
            self._taken[known] = f"is another output of this command: {path}"
            return Output(path, real=real, descriptor=None, existing=existing, taken=taken)

    def place(self, path: Path) -> None:
        """Claim a place for a directory that is made later. Raises IogaugeError where a target is, or is to be."""
        _refuse_name(path)
        with explained("create", path):
            if (known := identity(path)) in self._taken:
                raise _refused(path, self._taken[known])

    def directory(self, path: Path) -> Path:
        """Claim a directory for outputs, which is made with those above it where it is missing; return it."""
        self.place(path)
        with explained("create", path):
            path.mkdir(parents=True, exist_ok=True)
        return path

    def _refuse_content(self, path: Path, real: Path, place: os.stat_result, existing: Existing) -> None:
        if existing is Existing.KEEP:
            raise IogaugeError(f"{path}: exists", hint="name another by --output, or remove it")
        if uses := Usage().of_file((place.st_dev, place.st_ino)):
            raise IogaugeError(
                f"{path}: it is in use: {uses[0].what}", hint=f"name another file, or {uses[0].remedy} first"
            )
        if _is_ours(real, place):
            return
        if existing is Existing.OWN:
            raise IogaugeError(
                f"{path}: exists, and iogauge did not write it as it is",
                hint="name another file, or remove it",
            )
        self._say(f"{path}: exists, and iogauge did not write it: it will be replaced")


class Output:
    """A claimed output: a file, or what is written straight (a pipe, a terminal, /dev/null, a descriptor)."""

    def __init__(
        self,
        path: Path,
        *,
        real: Path | None,
        descriptor: int | None,
        existing: Existing,
        taken: Mapping[Identity, str],
    ) -> None:
        self.path = path
        """As the user named it."""
        self._real = real
        self._descriptor = descriptor
        self._existing = existing
        self._taken = taken

    @property
    def is_file(self) -> bool:
        """Whether what is written can be read again."""
        return self._real is not None

    def write(self, data: bytes, *, mode: int | None = None) -> None:
        """Write the output whole or not at all. ``mode``: its permissions, where they are not the usual ones."""
        with self.whole() as file:
            file.write(data)
            if mode is not None and self._real is not None:
                os.fchmod(file.fileno(), mode)

    @contextmanager
    def whole(self) -> Iterator[IO[bytes]]:
        """Enter a file to be written, which takes its place as the context is left, and leaves no trace on an error.

        Raises IogaugeError where it cannot be written.
        """
        if self._real is None or not os.access(self._real.parent, os.W_OK):
            with self.stream() as file:
                yield file
            return
        with explained("write", self.path):
            self._check_again()
            with durable.replacing(self._real) as file:
                yield file
                _mark(file)

    @contextmanager
    def stream(self) -> Iterator[IO[bytes]]:
        """Enter a file that is emptied, and written in its place as it comes.

        Raises IogaugeError where it cannot be written.
        """
        with explained("write", self.path):
            self._check_again()
            with os.fdopen(self._open(), "wb") as file:
                yield file
                if self._real is not None:
                    _mark(file)

    def spill(self) -> IO[bytes]:
        """Open a file without a name in the output's directory, for what has to wait on a disk; closed, it is gone."""
        with explained("write", self.path):
            return durable.nameless(self._real.parent if self._real else Path("/tmp"))

    def _open(self) -> int:
        if self._descriptor is not None:
            return os.dup(self._descriptor)
        if self._real is None:
            return os.open(self.path, os.O_WRONLY | os.O_CLOEXEC)
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self._real, flags, 0o666)
        os.ftruncate(descriptor, 0)
        return descriptor

    def _check_again(self) -> None:
        """A run takes time, and something else may have come to the place that was claimed."""
        place = _stat(self._real) if self._real else None
        if place is None:
            return
        if not stat.S_ISREG(place.st_mode) or _known(place) in self._taken:
            raise _refused(self.path, self._taken.get(_known(place), "is no plain file any more"))
        if self._existing is Existing.KEEP:
            raise IogaugeError(f"{self.path}: exists by now", hint="name another by --output, or remove it")


def identity(path: Path | str) -> Identity:
    """Return which file or device a path leads to. Raises OSError, as ``stat`` does, unless there is none."""
    if place := _stat(path):
        return _known(place)
    real = Path(os.path.realpath(path))
    folder = _stat(real.parent)
    # A directory may be mounted at two places.
    return ("name", *(_known(folder) if folder else (str(real.parent),)), real.name)


def _stat(path: Path | str) -> os.stat_result | None:
    try:
        return os.stat(path)  # noqa: PTH116 (of a name as it was given)
    except FileNotFoundError:
        return None


def _known(place: os.stat_result) -> Identity:
    if stat.S_ISBLK(place.st_mode):
        return ("device", place.st_rdev)
    return ("file", place.st_dev, place.st_ino)


def _is_path(reference: str) -> bool:
    return reference.endswith(".toml") or "/" in reference


def _descriptor(path: Path) -> int | None:
    """Return the number of the process's own descriptor that a path means."""
    match = _DESCRIPTOR.fullmatch(str(path))
    return int(match[1]) if match else _STANDARD.get(str(path))


def _refuse_name(path: Path) -> None:
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise IogaugeError(
            f"{shown}: its name is not UTF-8, which neither a result nor a terminal could show",
            hint="give it a name in UTF-8",
        ) from None


def _refuse_kind(path: Path, place: os.stat_result) -> None:
    mode = place.st_mode
    if stat.S_ISBLK(mode):
        raise _refused(path, "is a block device, whose content would be lost")
    if stat.S_ISDIR(mode):
        raise _refused(path, "is a directory")
    if stat.S_ISSOCK(mode):
        raise _refused(path, "is a socket")
    if stat.S_ISCHR(mode) and place.st_rdev != _NULL and not _is_terminal(path):
        raise _refused(path, "is a character device, and neither /dev/null nor a terminal")


def _is_terminal(path: Path) -> bool:
    # To open a terminal does nothing, which cannot be said of other devices: a tape rewinds, a watchdog starts.
    return re.fullmatch(r"/dev/(tty\d*|console|pts/\d+)", os.path.realpath(path)) is not None


def _refuse_place(path: Path, real: Path) -> None:
    folder = real.parent if path.parent.exists() else path.parent
    if not folder.is_dir():
        raise IogaugeError(f"{path}: there is no directory {folder}", hint=f"create it: mkdir -p {folder}")
    if real.is_relative_to("/dev") and not real.is_relative_to("/dev/shm"):
        raise IogaugeError(
            f"{path}: no such device", hint="a file in /dev would be one in memory: name another"
        )
    if not os.access(real if real.exists() else folder, os.W_OK):
        raise IogaugeError(f"{path}: cannot be written", hint="name a file that can be written")
    for review in real.parents:
        inner = real.relative_to(review).parts[0]
        if inner in ("steps", "stopped", MANIFEST, FIGURES) and (review / MANIFEST).is_file():
            raise _refused(path, f"is a part of the review saved in {review}")


def _refused(path: Path, why: str) -> IogaugeError:
    return IogaugeError(f"{path}: {why}", hint="name another file")


def _mark(file: IO[bytes]) -> None:
    """Note on a finished output that it is one. Where the filesystem has no attributes it stays a stranger's."""
    file.flush()
    place = os.fstat(file.fileno())
    with contextlib.suppress(OSError):
        os.setxattr(file.fileno(), _ATTRIBUTE, _seen(place))


def _is_ours(real: Path, place: os.stat_result) -> bool:
    try:
        return os.getxattr(real, _ATTRIBUTE) == _seen(place)
    except OSError:
        return False


def _seen(place: os.stat_result) -> bytes:
    return f"{place.st_size} {place.st_mtime_ns}".encode()
