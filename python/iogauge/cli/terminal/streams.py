"""Print results on stdout, and everything else on stderr.

Errors of stderr are ignored. If stdout fails, the results go to stderr, since measuring them again may take hours; the
command still fails. If stdout's reader has gone (BrokenPipeError), the command ends.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import sys

from iogauge.errors import IogaugeError
from iogauge.text.grid import WIDTH, labelled

_VALUE = re.compile(r"(?<!\S)(--[\w-]+) (?=[^-\s])")
"""An option and the space before its value. No line breaks there."""
_LABEL = re.compile(r" *(error|hint|warning|note|failed|context): ")


def open_all() -> None:
    """Open the standard streams that the process was started without.

    Otherwise the next file would get the number of one, and messages for stderr would be written into a target.
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
        # A character that the terminal lacks, such as ±, is replaced. In UTF-8, undecodable bytes of names are kept.
        utf_8 = sys.stdout.encoding.lower() == "utf-8"
        sys.stdout.reconfigure(errors="surrogateescape" if utf_8 else "replace")


def columns() -> int:
    """Return the width of the terminal, at least 80; 80 where stdout is none."""
    return max(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH)


def table_columns() -> int:
    """Return the width that a table of records must fit, at least 80; without a terminal it has no limit.

    $COLUMNS limits it without a terminal too, as in other programs.
    """
    return columns() if sys.stdout.isatty() or "COLUMNS" in os.environ else sys.maxsize


def say(text: str, *, end: str = "\n") -> None:
    """Print lines on stderr, on a terminal wrapped at words.

    A line with a command stays as it is, so that the command can be copied.
    """
    if sys.stderr.isatty() or "COLUMNS" in os.environ:
        text = "\n".join(_wrapped(line) for line in text.split("\n"))
    with contextlib.suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)


def _wrapped(line: str) -> str:
    if len(line) <= columns() or "iogauge " in line:
        return line
    line = _VALUE.sub("\\1\u00a0", line)
    label = _LABEL.match(line)
    width = len(label[0]) if label else 0
    return "\n".join(labelled(line[:width].rstrip(), line[width:], indent="", width=width, columns=columns()))


def show(text: str) -> None:
    """Print results on stdout. If that fails, print them on stderr and raise IogaugeError."""
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
    """Discard what stdout still buffers, so that the interpreter's last flush does not fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
