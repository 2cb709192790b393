"""The terminal of the screen: the alternate screen, keys without Enter, and putting everything back."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import termios
import tty
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack
from types import FrameType
from typing import Any, Protocol, TextIO

ENTER, LEAVE = "\x1b[?1049h\x1b[?25l", "\x1b[?25h\x1b[?1049l"
"""Begin and end of the alternate screen, without a cursor."""
_ESCAPE = "\x1b"


class Terminal(Protocol):
    """A stream that may be a terminal."""

    def isatty(self) -> bool:
        """Return whether it is one."""

    def fileno(self) -> int:
        """Return its descriptor."""


def is_capable(stream: Terminal) -> bool:
    """Return whether a stream is a terminal on which the cursor can be moved."""
    return stream.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb", "unknown")


class Keys(AbstractContextManager["Keys"]):
    """The keys of a terminal, one by one. If ``stream`` is none, no key ever comes."""

    def __init__(self, stream: Terminal | None) -> None:
        self._descriptor = stream.fileno() if stream is not None and stream.isatty() else -1
        self._before: list[Any] | None = None

    def __enter__(self) -> Keys:
        if self._descriptor >= 0:
            self._before = termios.tcgetattr(self._descriptor)
            tty.setcbreak(self._descriptor)
        return self

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            # The terminal may be gone.
            with contextlib.suppress(termios.error):
                termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)

    @property
    def are_there(self) -> bool:
        """Whether keys can come."""
        return self._descriptor >= 0

    def read(self, timeout_s: float) -> list[str]:
        """Return the keys that were pressed, waiting at most so long for one."""
        readable, _, _ = select.select([self._descriptor] if self.are_there else [], [], [], timeout_s)
        if not readable:
            return []
        try:
            data = os.read(self._descriptor, 256)
        except OSError:
            data = b""
        if not data:
            self._descriptor = -1  # The terminal has gone.
            return []
        return list(_keys(data.decode(errors="replace")))


def _keys(text: str) -> Iterator[str]:
    """Yield the keys of what a terminal sent, without those that are sequences, such as arrows.

    >>> list(_keys("1\\x1b[Aq"))
    ['1', 'q']
    """
    rest = iter(text)
    for character in rest:
        if character != _ESCAPE:
            yield character
        elif next(rest, "") in ("[", "O"):
            # The sequence ends with a letter or a tilde.
            next((final for final in rest if "@" <= final <= "~"), None)


class Screen(AbstractContextManager["Screen"]):
    """The alternate screen of ``stream`` and its keys. Every exit puts the terminal back, also that by a signal.

    ``draw`` shows lines. Ctrl-Z puts the terminal back too, and the shell's ``fg`` comes back to the screen.
    """

    def __init__(self, stream: TextIO, keys: Terminal | None) -> None:
        from rich.console import Console

        self._stream = stream
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._keys_of = keys
        self._open = ExitStack()
        self.keys = Keys(None)

    def __enter__(self) -> Screen:
        self._begin()
        before = signal.signal(signal.SIGTSTP, self._suspend)
        self._open.callback(signal.signal, signal.SIGTSTP, before)
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._leave()

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines now, whatever COLUMNS and LINES say: they do not follow a window."""
        columns, lines = os.get_terminal_size(self._stream.fileno())
        # Some serial lines say nothing.
        return columns or self._console.size.width, lines or self._console.size.height

    @property
    def blocks(self) -> bool:
        """Whether the terminal shows more than ASCII."""
        return "utf" in (self._stream.encoding or "").lower()

    def draw(self, lines: list[list[tuple[str, str]]]) -> None:
        """Show lines, each of pieces of text with a style; what does not fit is cut."""
        from rich.text import Text

        columns, height = self.size
        with self._console.capture() as capture:
            for pieces in lines[:height]:
                line = Text.assemble(*pieces, no_wrap=True)
                line.truncate(columns)
                self._console.print(line, soft_wrap=True)
        drawn = "\r\n".join(f"\x1b[2K{line}" for line in capture.get().splitlines())
        self._write(f"\x1b[H{drawn}\x1b[J" if len(lines) < height else f"\x1b[H{drawn}")

    def _begin(self) -> None:
        self.keys = Keys(self._keys_of).__enter__()
        self._write(ENTER)

    def _leave(self) -> None:
        with contextlib.suppress(OSError):
            self._write(LEAVE)
        self.keys.__exit__(None, None, None)

    def _suspend(self, _number: int, _frame: FrameType | None) -> None:
        """Stop as Ctrl-Z asks, and begin again when the shell continues the process.

        It stops at once: later, the shell's SIGCONT could come before the stop, and nobody would send another. By now
        the terminal may be the shell's, and SIGTTOU would stop the process before it has put the terminal back.
        """
        before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        self._leave()
        signal.signal(signal.SIGTTOU, before)
        os.kill(os.getpid(), signal.SIGSTOP)
        self._begin()

    def _write(self, text: str) -> None:
        """Write past the stream's buffer, which a signal handler must not enter while a write is under way."""
        left = memoryview(text.encode(self._stream.encoding or "ascii", "replace"))
        while left:
            left = left[os.write(self._stream.fileno(), left) :]
