"""The process that a command runs in: what signals do to it, and what it spends on itself.

SIGINT (Ctrl-C) and SIGTERM do the same, and no traceback is ever seen of them:

* until a command begins there is nothing to undo or to save: the process ends at once, whatever is being imported;
* from then on they raise KeyboardInterrupt, which a run takes as "stop and report" (``iogauge.execution.interrupts``);
* results are printed first, where they are being printed (``results_first``);
* once the exit status is known they are ignored: the process is as good as gone.

The exit status is 128 and the signal's number, as of any program that a signal ends: 130 and 143.
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import FrameType

from iogauge.cli.terminal import streams

ENDING = (signal.SIGINT, signal.SIGTERM)
_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}


@dataclass
class _Signals:
    """The signals so far; one for the process, as they are."""

    last: signal.Signals = signal.SIGINT
    held: bool = False
    waiting: bool = False


_signals = _Signals()


def arguments() -> list[str]:
    """Return the process's own arguments."""
    return sys.argv[1:]


def start() -> None:
    """Make the process ready for anything, before anything heavy is imported."""
    _take(_leave)
    streams.open_all()
    _open_many()
    # numpy's BLAS would start a thread for each CPU; nothing here multiplies matrices, and what is measured on this
    # machine should not share it with threads of ours.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports make many objects and no garbage: looking for some takes a tenth of the time to start.
    gc.disable()


def begin() -> None:
    """From here on there is something to undo or to save: a command has parsed its arguments and imported its code.

    Does nothing in a process that was not started by ``start``.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    if signal.getsignal(signal.SIGTERM) is _leave:
        _take(_interrupt)


def end() -> None:
    """Let nothing interrupt the end of the process."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def results_first() -> Iterator[None]:
    """Let a signal wait, for KeyboardInterrupt to be raised at the end: what was measured is not lost to it."""
    _signals.held, _signals.waiting = True, False
    try:
        yield
    finally:
        _signals.held = False
    if _signals.waiting:
        raise KeyboardInterrupt


def word() -> str:
    """Return what happened to the process, in a word."""
    return _WORDS[_signals.last]


def status() -> int:
    """Return the exit status of a process that was interrupted."""
    return 128 + _signals.last


def interrupted() -> int:
    """Say that the process was interrupted, and return its exit status."""
    streams.say(word())
    return status()


def _open_many() -> None:
    """Let the process open as many files as it may: a run of hundreds of jobs writes three logs for each."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _take(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in ENDING:
        # What the parent had ignored (nohup, a shell's background) stays ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _leave(number: int, _frame: FrameType | None) -> None:
    with contextlib.suppress(OSError):
        os.write(2, f"{_WORDS[signal.Signals(number)]}\n".encode())
    os._exit(128 + number)


def _interrupt(number: int, _frame: FrameType | None) -> None:
    _signals.last = signal.Signals(number)
    if _signals.held:
        _signals.waiting = True
    else:
        raise KeyboardInterrupt
