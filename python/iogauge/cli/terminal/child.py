"""Runs a program in place of this one, as far as its user can see: streams, signals and exit status are its own."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Sequence

from iogauge.cli.terminal import process
from iogauge.errors import UsageError

_FORWARDED = {
    signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
}  # fmt: skip
_FROM_TERMINAL = 0x80
"""``SI_KERNEL``: the terminal sent the signal to the whole group, and the program has it already."""

_LOOKS_S = 0.2
"""The longest time between two looks whether the program has ended."""


def require_program(name: str) -> None:
    """Raise UsageError if there is no such program."""
    if shutil.which(name) is None:
        raise UsageError(f"{name}: no such command", hint="name a program, with its arguments, after --")


def run(command: Sequence[str]) -> int:
    """Run a program to its end and return its exit status; 128 and the signal's number if a signal ended it.

    Signals that this process gets are passed on. Raises UsageError if the program cannot be started.
    """
    waited = {*_FORWARDED, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        try:
            pid = os.posix_spawnp(
                command[0],
                list(command),
                process.inherited_environment(),
                setsigmask=before,
                setsigdef={signal.SIGPIPE, signal.SIGXFSZ},  # which Python ignores
            )
        except OSError as error:
            raise UsageError(f"{command[0]}: {error.strerror}", hint="name a program after --") from None
        while True:
            # Where this process has other threads, one of them may get the signal that the program has ended.
            received = signal.sigtimedwait(waited, _LOOKS_S)
            if received is not None and received.si_signo != signal.SIGCHLD:
                if received.si_code != _FROM_TERMINAL:
                    os.kill(pid, received.si_signo)
                continue
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
