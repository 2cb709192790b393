"""Checks whether targets answer at all, in a child process, because the check itself may hang.

A file system can hang (FUSE, or NFS without its server), and so can a drive. No signal ends a process inside such a
call, not even SIGKILL. So a child process accesses every target first. If the child hangs, this process leaves it
behind: it can say what it waits for, and it ends on Ctrl-C. Every run checks again, because a file system can hang
between two steps of a review. A target that hangs later, during a run, is reported by the run.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Self

from iogauge.target.modelled import is_model
from iogauge.target.namespace import block_device_of
from iogauge.target.refusal import TargetRefused
from iogauge.text.option import option

PATIENCE_S = 120.0
"""How long a target may take to answer: a disk that spins up needs 10 to 30 s."""
_QUIET_S = 2.0
"""How long a target may take before a message names it."""
_BLOCK_BYTES = 4096
_MOST_WITHOUT_PROC = 1 << 16
"""How many descriptors are closed if /proc does not list them."""


def await_answers(
    paths: Iterable[str], *, patience_s: float = PATIENCE_S, say: Callable[[str], None] = lambda _: None
) -> None:
    """Wait until every target has answered with its content or an error. Drive models always answer.

    If the child ends early, the remaining targets are taken to answer. ``say`` takes a message that names the target
    waited for. Raises TargetRefused if a target takes longer than ``patience_s``.
    """
    targets = _on_disk(paths)
    with _Child(targets, _read_block) as child:
        for number, target in enumerate(targets, 1):
            if child.wait_for(number, min(_QUIET_S, patience_s)):
                continue
            if patience_s > _QUIET_S:
                say(f"{target}: waiting for its file system or drive to answer")
                if child.wait_for(number, patience_s - _QUIET_S):
                    continue
            raise TargetRefused(
                f"{target}: it does not answer; gave up after {patience_s:g} s",
                hint="its file system or drive hangs: look at dmesg and mount, or, of a run, raise "
                f"{option('give_up')}",
            )


def unanswered(paths: Iterable[str], *, patience_s: float) -> frozenset[str]:
    """Return the targets that do not answer ``stat``; all together have ``patience_s``. Their content is not read."""
    targets = _on_disk(paths)
    with _Child(targets, os.stat) as child:
        child.wait_for(len(targets), patience_s)
        return frozenset(targets[child.answers :])


def _on_disk(paths: Iterable[str]) -> list[str]:
    """Return the distinct paths on disk: no drive models, and no strings that cannot be a path."""
    return [path for path in dict.fromkeys(paths) if path and "\0" not in path and not is_model(path)]


class _Child:
    """A child process that accesses paths one after the other; ``answers`` counts those that have answered."""

    def __init__(self, paths: Sequence[str], look: Callable[[str], object]) -> None:
        self.answers = 0
        self._paths = paths
        self._look = look
        self._reader = -1
        self._process = 0

    def __enter__(self) -> Self:
        if not self._paths:
            return self
        self._reader, writer = os.pipe()
        try:
            self._process = os.fork()
        except OSError:  # No more processes: the caller accesses the targets itself.
            self.answers = len(self._paths)
        else:
            if self._process == 0:
                _be_the_child(self._paths, self._look, writer)
        os.close(writer)
        return self

    def __exit__(self, *_: object) -> None:
        if not self._paths:
            return
        os.close(self._reader)
        if self._process:
            # A child that hangs survives this: it is left behind.
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0 if self.answers == len(self._paths) else os.WNOHANG)

    def wait_for(self, number: int, timeout_s: float) -> bool:
        """Wait until ``number`` paths have answered or the child has ended. Return whether that was in time."""
        deadline_s = time.monotonic() + timeout_s
        while self.answers < number:
            # A signal may end the wait early, and poll counts in whole milliseconds.
            left_ms = 1000 * (deadline_s - time.monotonic())
            if left_ms <= 0:
                return False
            poll = select.poll()
            poll.register(self._reader, select.POLLIN)
            if poll.poll(max(1.0, left_ms)):
                data = os.read(self._reader, 65536)
                if not data:
                    return True
                self.answers += len(data)
        return True


def _be_the_child(paths: Sequence[str], look: Callable[[str], object], writer: int) -> None:
    """Access each path and report it; never return. The parent's descriptors are closed: this process may hang."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDONLY)
        # 3 last: it may be the null device's own number.
        for source, descriptor in ((null, 0), (null, 1), (null, 2), (writer, 3)):
            os.dup2(source, descriptor)
        _close_from(4)
        for path in paths:
            with contextlib.suppress(OSError, ValueError):
                look(path)
            os.write(3, b".")
    finally:
        os._exit(0)


def _close_from(lowest: int) -> None:
    """Close all descriptors from ``lowest``. Without a list there may be a billion numbers to try."""
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]  # noqa: PTH208 (Path.iterdir is this call)
    except OSError:
        numbers = list(range(_MOST_WITHOUT_PROC))
    for number in numbers:
        if number >= lowest:
            with contextlib.suppress(OSError):
                os.close(number)


def _read_block(path: str) -> None:
    """Read one block of a file or block device, and drop it from the page cache: the target will be measured."""
    path = path if (device := block_device_of(path)) is None else f"/dev/{device.name}"
    mode = os.stat(path).st_mode  # noqa: PTH116 (of a name as it was given)
    if stat.S_ISREG(mode) or stat.S_ISBLK(mode):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)  # nothing is read ahead
        os.pread(descriptor, _BLOCK_BYTES, 0)
        os.posix_fadvise(descriptor, 0, _BLOCK_BYTES, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
