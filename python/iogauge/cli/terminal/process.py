"""The signals and the limits of the process that runs a command.

SIGINT (Ctrl-C) and SIGTERM have the same effect, without a traceback:

* before a command begins, they end the process at once, even during an import: there is nothing to undo or to save;
* then they raise KeyboardInterrupt, on which a run stops and reports (``iogauge.execution.interrupts``);
* while results are printed, they wait until all are printed (``results_first``);
* when the exit status is known, they are ignored.

The exit status is 128 plus the number of the signal, 130 or 143, as of any program that a signal ends.
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
_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated", signal.SIGHUP: "hung up"}


@dataclass
class _Signals:
    """The signals that the process has received; one object for the process."""

    last: signal.Signals = signal.SIGINT
    held: bool = False
    waiting: bool = False


@dataclass
class _Inherited:
    """What the process was started with and has changed for itself; programs that it starts get it back."""

    environment: dict[str, str] | None = None
    files: tuple[int, int] | None = None


_signals = _Signals()
_inherited = _Inherited()


def arguments() -> list[str]:
    """Return the process's own arguments."""
    return sys.argv[1:]


def start() -> None:
    """Prepare the process for signals, before slow imports."""
    _take(_leave)
    streams.open_all()
    _inherited.environment = dict(os.environ)
    _open_many()
    # numpy's BLAS would start a thread for each CPU, beside the load that is measured. iogauge multiplies no matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Imports make many objects and no garbage: looking for garbage takes a tenth of the time to start.
    gc.disable()


def begin() -> None:
    """Begin the command: from now on, signals raise KeyboardInterrupt.

    Call it when the arguments are parsed and the code is imported. Without ``start`` it does nothing.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()
    if signal.getsignal(signal.SIGTERM) is _leave:
        _take(_interrupt)


def end_on_hangup() -> None:
    """Let SIGHUP raise KeyboardInterrupt, too: for commands that must put something back."""
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, _interrupt)


def inherited_environment() -> dict[str, str]:
    """Return the environment as it was when the process began, and restore its limit of open files."""
    if _inherited.files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, _inherited.files)
    return dict(os.environ) if _inherited.environment is None else _inherited.environment


def end() -> None:
    """Ignore signals while the process ends."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)


@contextlib.contextmanager
def results_first() -> Iterator[None]:
    """Delay KeyboardInterrupt to the end of the context, so that a signal does not lose results."""
    _signals.held, _signals.waiting = True, False
    try:
        yield
    finally:
        _signals.held = False
    if _signals.waiting:
        raise KeyboardInterrupt


def word() -> str:
    """Return ``interrupted`` or ``terminated``, by the last signal."""
    return _WORDS[_signals.last]


def status() -> int:
    """Return the exit status of a process that was interrupted."""
    return 128 + _signals.last


def interrupted() -> int:
    """Say that the process was interrupted, and return its exit status."""
    streams.say(word())
    return status()


def _open_many() -> None:
    """Raise the limit of open files to the most allowed: a run of hundreds of jobs writes three logs for each."""
    _inherited.files = resource.getrlimit(resource.RLIMIT_NOFILE)
    _, most = _inherited.files
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _take(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in ENDING:
        # A signal that the parent ignores (nohup, a shell's background job) stays ignored.
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
