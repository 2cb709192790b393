"""Fits lines to the height of a screen. What is left out is counted; a screen's last line shows the way to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iogauge.text import numbers
from iogauge.text.grid import labelled

EVERYTHING = "-v shows everything"
"""The last line of a command that can be repeated at no cost."""


def saved_everything(path: object) -> str:
    """Return the last line of a command that measured: it names the one that shows everything of the saved review.

    >>> saved_everything("saved")
    'everything: iogauge show saved -v'
    """
    return f"everything: iogauge show {numbers.argument(path)} -v"


def wrapped(text: str, *, columns: int, most: int) -> list[str]:
    """Return a sentence on at most ``most`` lines; a longer one is cut, and ends with ``...``.

    >>> wrapped("one two three four", columns=9, most=2)
    ['one two', 'three...']
    """
    lines = labelled("", text, indent="", width=0, columns=columns)
    if len(lines) <= most:
        return lines
    last = lines[most - 1]
    while len(last) + 3 > columns:
        last = last.rpartition(" ")[0]
    return [*lines[: most - 1], f"{last.rstrip(' ,;:')}..."]


def bullets(
    sentences: Iterable[str], *, columns: int, most: int, bullet: str = "- ", noun: str = "finding"
) -> list[str]:
    """Return sentences that fit in ``most`` lines, each whole, and a line that counts the others.

    >>> bullets(["one two", "three four", "five"], columns=12, most=2)
    ['- one two', '... 2 more findings']
    """
    entries = [labelled("", sentence, indent=bullet, width=0, columns=columns) for sentence in sentences]
    if sum(map(len, entries)) <= most:
        return [line for entry in entries for line in entry]
    kept: list[str] = []
    for number, entry in enumerate(entries):
        if len(kept) + len(entry) > most - 1:
            return [*kept, _more(len(entries) - number, noun, after=number)][:most]
        kept += entry
    return kept


def in_a_line(label: str, parts: Sequence[str], *, columns: int) -> str:
    """Return the first parts that fit on one line after their label, each whole, and how many others there are.

    >>> in_a_line("context:", ["virtual machine", "inexact clock", "workers changed CPUs"], columns=80)
    'context: virtual machine; inexact clock; workers changed CPUs'
    >>> in_a_line("context:", ["virtual machine", "inexact clock", "workers changed CPUs"], columns=50)
    'context: virtual machine; and 2 more'
    """
    for kept in range(len(parts), 0, -1):
        others = [f"and {len(parts) - kept} more"] if kept < len(parts) else []
        line = f"{label} {'; '.join([*parts[:kept], *others])}"
        if len(line) <= columns:
            return line
    return f"{label} {len(parts)}"


def rows_that_fit(table: Sequence[str], *, most: int) -> list[str]:
    """Return a table's lines, at most ``most`` of them, its head first, and a line that counts the others."""
    if len(table) <= most:
        return [*table]
    kept = table[: max(most - 1, 1)]
    return [*kept, _more(len(table) - len(kept), "row", after=len(kept) - 1)]


def _more(number: int, noun: str, *, after: int) -> str:
    return f"... {numbers.counted(number, f'more {noun}' if after else noun)}"
