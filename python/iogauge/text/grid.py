"""Plain text in columns: cells in, aligned lines out."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

WIDTH = 100
"""Every text report fits in this many columns."""


def aligned(table: Sequence[Sequence[str]], *, indent: str = "", left: int = 1, gap: int = 2) -> list[str]:
    """Return one line per row: the first ``left`` columns flush left, the others flush right.

    >>> aligned([["p50", "9 us"], ["p99.9", "12.5 us"]])
    ['p50       9 us', 'p99.9  12.5 us']
    """
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for cells in table:
        fitted = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        lines.append((indent + (" " * gap).join(fitted)).rstrip())
    return lines


_BOUND = re.compile(r"(?<=[\d~]) (?=[\d%A-Za-z])")
"""The space between a number and its unit or mark. No line breaks there."""


def labelled(
    label: str, text: str, *, indent: str = "  ", width: int = 13, columns: int = WIDTH
) -> list[str]:
    """Return ``text`` to the right of a label, wrapped at ``columns``.

    >>> labelled("errors", "EIO 3")
    ['  errors       EIO 3']
    """
    begin = f"{indent}{label:<{width}}"
    wrapped = textwrap.wrap(
        _BOUND.sub("\u00a0", text),
        columns,
        initial_indent=begin,
        subsequent_indent=" " * len(begin),
        break_on_hyphens=False,
        break_long_words=False,
    )
    return [line.replace("\u00a0", " ") for line in wrapped] or [begin.rstrip()]
