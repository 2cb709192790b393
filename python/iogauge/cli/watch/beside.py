"""``--watch``: shows the screen beside a measurement, in a process of its own at low priority.

The process that measures draws nothing and only writes its feed, as it always does. Python and the libraries that draw
are loaded before the measurement begins. What the command says on stderr while the screen is shown is held back, and
printed below it when it has ended.
"""

from __future__ import annotations

import contextlib
import io
import os
import select
import signal
import subprocess
import sys
import termios
from collections import deque
from contextlib import AbstractContextManager
from typing import Any

from iogauge.cli.watch import terminal

_READY_S = 60.0
"""How long to wait until the screen is ready; without it, the measurement begins nevertheless."""
_ENDING_S = 30.0
"""How long the screen may take to show the end, and then to obey SIGTERM."""
_HELD = 10_000


class Beside(AbstractContextManager["Beside"]):
    """The process that shows the screen, and the lines that wait for its end."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._stream = _Held()
        self._settings: list[Any] | None = None

    @staticmethod
    def possible() -> bool:
        """Return whether stderr is a terminal that the screen can be drawn on."""
        return terminal.is_capable(sys.stderr)

    @property
    def is_shown(self) -> bool:
        """Whether the process that shows the screen is there."""
        return self._process is not None and self._process.poll() is None

    @property
    def progress_options(self) -> dict[str, Any]:
        """How ``Progress`` is to be made: lines for what has ended, and none for what is shown on the screen."""
        if not self.is_shown:
            return {}
        return {"stream": self._stream, "plain": True, "every_s": float("inf")}

    def start(self) -> None:
        """Start the process, and wait until it is ready to draw. It finds this process's feed by itself."""
        with contextlib.suppress(termios.error):
            self._settings = termios.tcgetattr(sys.stderr.fileno())
        ready, ready_end = os.pipe()
        command = [sys.executable, "-P", "-m", "iogauge.cli.watch.shown", str(os.getpid()), str(ready_end)]
        try:
            self._process = subprocess.Popen(
                command,
                stdout=sys.stderr.fileno(),
                pass_fds=[ready_end],
            )
        except OSError:
            os.close(ready_end)
            os.close(ready)
            return
        os.close(ready_end)
        select.select([ready], [], [], _READY_S)
        os.close(ready)

    def hold(self) -> None:
        """Hold back what is said from now on, as long as the screen is shown."""
        self._stream.process = self._process

    def __exit__(self, *_: object) -> None:
        """Wait until the screen has shown the end of the feed, and print what was held back."""
        if self._process is not None:
            _end(self._process)
            if self._process.returncode < 0 and self._settings is not None and _in_foreground():
                # A signal killed it before it could put the terminal back.
                with contextlib.suppress(termios.error):
                    termios.tcsetattr(sys.stderr.fileno(), termios.TCSADRAIN, self._settings)
                sys.stderr.write(terminal.LEAVE)
        self._stream.release()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a process, and bring it about if that takes too long: it may be stopped."""
    for numbers in ((signal.SIGTERM, signal.SIGCONT), (signal.SIGKILL,)):
        try:
            process.wait(_ENDING_S)
            return
        except subprocess.TimeoutExpired:
            for number in numbers:
                process.send_signal(number)
    process.wait()


def _in_foreground() -> bool:
    """Return whether the terminal is this process's to change: in the background that would stop it."""
    try:
        return os.tcgetpgrp(sys.stderr.fileno()) == os.getpgrp()
    except OSError:
        return False


class _Held(io.TextIOBase):
    """stderr, or a place to wait as long as ``process`` shows the screen on it."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self._texts: deque[str] = deque(maxlen=_HELD)

    def write(self, text: str) -> int:
        """Write, or hold back."""
        if self.process is not None and self.process.poll() is None:
            self._texts.append(text)
        else:
            self.release()
            sys.stderr.write(text)
        return len(text)

    def flush(self) -> None:
        """Flush stderr."""
        sys.stderr.flush()

    def release(self) -> None:
        """Write what was held back."""
        while self._texts:
            sys.stderr.write(self._texts.popleft())
        sys.stderr.flush()
