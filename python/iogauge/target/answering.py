"""Whether targets answer at all: a child process looks at them first, because a look may never come back.

A file system can hang (FUSE, NFS whose server is gone), and so can a drive. No signal ends a process inside such a
call, not even SIGKILL. So nothing here looks at a target before a child process has: the child can be left behind, and
this process goes on, says what it waits for, and ends on Ctrl-C. A target that hangs later, during a run, is the
run's to report.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import stat
import time
from collections.abc import Callable, Iterable, Sequence

from iogauge.target.modelled import is_model
from iogauge.target.refusal import TargetRefused

PATIENCE_S = 120.0
"""How long a target may take: a disk that spins up needs 10 to 30 s."""
_QUIET_S = 2.0
"""How long it may take before that is said."""
_BLOCK_BYTES = 4096

_answered: set[str] = set()
"""Paths that have answered this process."""


def await_answers(
    paths: Iterable[str], *, patience_s: float = PATIENCE_S, say: Callable[[str], None] = lambda _: None
) -> None:
    """Wait until every target has answered a look, with its content or an error. Drive models always answer.

    ``say`` hears which target is waited for. Raises TargetRefused where one takes longer than ``patience_s``.
    """
    waiting = [path for path in dict.fromkeys(paths) if path not in _answered and _is_path(path)]
    if not waiting:
        return
    reader, writer = os.pipe()
    try:
        child = os.fork()
    except OSError:  # No more processes: looking in this one is all that is left.
        os.close(reader)
        os.close(writer)
        return
    if child == 0:
        _be_the_child(waiting, writer)
    os.close(writer)
    try:
        _follow(reader, waiting, patience_s, say)
    except BaseException:
        os.kill(child, signal.SIGKILL)
        raise
    else:
        os.waitpid(child, 0)
    finally:
        os.close(reader)
    _answered.update(waiting)


def _is_path(path: str) -> bool:
    return bool(path) and "\0" not in path and not is_model(path)


def _follow(reader: int, paths: Sequence[str], patience_s: float, say: Callable[[str], None]) -> None:
    """Count the child's answers: one byte each, in order. Where the child ends early, nothing is left to wait for."""
    poll = select.poll()
    poll.register(reader, select.POLLIN)
    answers, since, is_said = 0, time.monotonic(), False
    while answers < len(paths):
        waited_s = time.monotonic() - since
        if waited_s >= patience_s:
            raise TargetRefused(
                f"{paths[answers]}: it does not answer; gave up after {patience_s:g} s",
                hint="its file system or drive hangs: look at dmesg and mount, or wait longer where there is --give-up",
            )
        if waited_s >= _QUIET_S and not is_said:
            say(f"{paths[answers]}: waiting for its file system or drive to answer")
            is_said = True
        deadline_s = patience_s if is_said else min(_QUIET_S, patience_s)
        if poll.poll(max(1.0, 1000 * (deadline_s - waited_s))):
            data = os.read(reader, 65536)
            if not data:
                return
            answers, since, is_said = answers + len(data), time.monotonic(), False


def _be_the_child(paths: Sequence[str], writer: int) -> None:
    """Look at each path and report it; never return. What the parent has open is closed: this process may stay."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDONLY)
        # 3 last: it may be the null device's own number.
        for source, descriptor in ((null, 0), (null, 1), (null, 2), (writer, 3)):
            os.dup2(source, descriptor)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        for path in paths:
            with contextlib.suppress(OSError, ValueError):
                _look(path)
            os.write(3, b".")
    finally:
        os._exit(0)


def _look(path: str) -> None:
    mode = os.stat(path).st_mode  # noqa: PTH116 (of a name as it was given)
    if stat.S_ISREG(mode) or stat.S_ISBLK(mode):
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        os.pread(descriptor, _BLOCK_BYTES, 0)
        os.close(descriptor)
