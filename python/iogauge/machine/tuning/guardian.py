"""Waits for the end of a process that tunes the machine, and undoes what it left: also after SIGKILL, at once.

It is a small process in a session of its own, so it does not end with the terminal. It watches its owner by a pidfd and
by a pipe: whichever says first that the owner has ended, or needs it no longer. Then it takes the lock and undoes the
journal of its owner, if there still is one.

    python -m iogauge.machine.tuning.guardian STATE SYS PROC PID START
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from pathlib import Path

from iogauge.machine.tuning.door import Door
from iogauge.machine.tuning.journal import State
from iogauge.machine.tuning.owner import start_of
from iogauge.machine.tuning.undo import undo

READY = b"r"
"""What it writes when it watches."""


def main(arguments: list[str]) -> None:
    """Watch and undo; stdin is the pipe whose other end the owner holds."""
    state, sys_, proc, pid, start = arguments
    # Who stops a whole group of processes stops the owner, too: the guardian must still be there then.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watch(int(pid), int(start))
    recover_from(State(Path(state)), Door(Path(sys_), Path(proc)), owner=int(pid), start=int(start))


def watch(pid: int, start: int, *, pipe: int = 0, ready: int = 1) -> None:
    """Say that it is ready, and return when the owner has ended or closes the pipe."""
    with contextlib.ExitStack() as stack:
        descriptors = [pipe]
        with contextlib.suppress(
            OSError
        ):  # it has ended already, or the kernel has no pidfd: the pipe says it
            descriptors.append(os.pidfd_open(pid))
            stack.callback(os.close, descriptors[-1])
        if start_of(pid) == start:
            with contextlib.suppress(BrokenPipeError):
                os.write(ready, READY)
            select.select(descriptors, [], [])


def recover_from(state: State, door: Door, *, owner: int, start: int) -> None:
    """Undo the journal of this owner, unless it is undone already, or was to stay.

    Who tunes next may hold the lock for hours, and the owner waits for its guardian: without anything to undo the lock
    is not waited for.
    """
    if not _leaves(state, owner, start):
        return
    with state.locked(wait=True):
        record = state.read()
        if record is None:
            state.discard()
            return
        if not _leaves(state, owner, start):
            return
        journal = state.reopen(record)
        result = undo(record, door)
        if result.failed:
            journal.release()  # the next start tries again
        else:
            journal.close(result.report("its guardian"))


def _leaves(state: State, owner: int, start: int) -> bool:
    """Return whether this owner's journal is still there, or one without a head, which could be its own."""
    if not state.journal.exists():
        return False
    record = state.read()
    return record is None or ((record.owner.pid, record.owner.start) == (owner, start) and not record.applied)


if __name__ == "__main__":
    main(sys.argv[1:])
