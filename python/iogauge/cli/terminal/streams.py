"""What is printed where: results on stdout, everything else on stderr; and what happens where that cannot be.

A full disk behind stderr disturbs nothing. Results that stdout does not take go to stderr instead, since measuring
them again may take hours; that is still an error. A reader that went away (BrokenPipeError) is none of these.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys

from iogauge.errors import IogaugeError


def open_all() -> None:
    """Give the process the standard streams that it was started without.

    Otherwise the next file opened would get their number: what is meant for stderr would be written into a target.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is the one that is closed.
            os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 (for the process's life)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that has no ± costs a character and not the table; the bytes of a name that is no text are kept.
        utf_8 = sys.stdout.encoding.lower() == "utf-8"
        sys.stdout.reconfigure(errors="surrogateescape" if utf_8 else "replace")


def say(text: str, *, end: str = "\n") -> None:
    """Print a line, or several, on stderr."""
    with contextlib.suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)


def show(text: str) -> None:
    """Print results on stdout, or else on stderr; raises IogaugeError then."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        drop_stdout()
        say(text, end="")
        raise IogaugeError(f"stdout: {error.strerror}", hint="send the output to another place") from error


def drop_stdout() -> None:
    """Let nothing that is still buffered fail again when the interpreter flushes at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
