"""Plain text in columns: cells in, aligned lines out."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

WIDTH = 80
"""Every text report fits in this many columns."""
NAME = 32
"""A name in a table keeps this many characters as long as the table has another column to lose."""


def heading(title: str, *, rule: str = "-") -> list[str]:
    """Return a title, and a line under it that fits in ``WIDTH``.

    >>> heading("reads")
    ['reads', '-----']
    """
    return [title, rule * min(len(title), WIDTH)]


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


def folded(table: Sequence[Sequence[str]], *, left: int = 1, names: int = 1, split: int = 0) -> list[str]:
    """Return the lines of a table. Columns that do not fit in ``WIDTH`` follow below, with the names repeated.

    The first ``names`` columns name a row. A table that is too wide is divided before column ``split``, or else where
    it reaches ``WIDTH``.

    >>> folded([["", "p50", "p99"], ["reads" * 15, "9 us", "12 us"]])[2].rstrip("p9").rstrip() == ""
    True
    """
    lines = aligned(table, left=left)
    columns = len(table[0])
    if columns < names + 2 or max(map(len, lines)) <= WIDTH:
        return lines
    split = split or max(names + 1, sum(_width(table, columns=end) <= WIDTH for end in range(1, columns)))
    parts = [row[:split] for row in table], [[*row[:names], *row[split:]] for row in table]
    return [line for part in parts for line in folded(part, left=left, names=names)]


def narrowed(
    table: Sequence[Sequence[str]],
    leave_out: Sequence[str],
    *,
    columns: int,
    left: int = 1,
    names: Sequence[str] = (),
) -> list[str]:
    """Return the lines of a table that is at most ``columns`` wide, without the columns that do not fit.

    ``leave_out`` has the heads of columns that may go, the first to go first. ``names`` has the heads of columns whose
    cells lose their first words where the table is too wide. They keep ``NAME`` characters as long as a column can go,
    and what is left after that. No other cell is cut, and none is wrapped. A table that is still too wide keeps the
    columns that may not go.

    >>> narrowed([["", "p50", "p99"], ["reads", "9 us", "12 us"]], ["p50"], columns=12)
    ['         p99', 'reads  12 us']
    >>> narrowed([["job", "p99"], ["128 KiB sequential reads", "12 us"]], [], columns=27, names=["job"])
    ['job                    p99', '...sequential reads  12 us']
    """
    going = [head for head in dict.fromkeys(leave_out) if head in table[0]]
    while True:
        cut = _with_names_cut(table, names, least=NAME if going else 0, columns=columns)
        lines = aligned(cut, left=left)
        if not going or max(map(len, lines)) <= columns:
            return lines
        place = table[0].index(going.pop(0))
        left -= place < left
        table = [[*row[:place], *row[place + 1 :]] for row in table]


def _with_names_cut(
    table: Sequence[Sequence[str]], names: Sequence[str], *, least: int, columns: int
) -> Sequence[Sequence[str]]:
    """Return a table with the cells of the columns ``names`` as short as the width needs, the widest column first."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    excess = sum(widths) + 2 * (len(widths) - 1) - columns
    places = [table[0].index(head) for head in names if head in table[0]]
    for place in sorted(places, key=lambda place: widths[place], reverse=True):
        kept = max(widths[place] - max(excess, 0), min(least, widths[place]), len(table[0][place]))
        excess -= widths[place] - kept
        table = [[*row[:place], last_words(row[place], kept), *row[place + 1 :]] for row in table]
    return table


def shortened(text: str, columns: int) -> str:
    """Return a text on one line; one that is too long is cut at a word and ends with ``...``.

    >>> shortened("one two three", 13), shortened("one two three", 11)
    ('one two three', 'one two...')
    """
    if len(text) <= columns:
        return text
    kept = text[: columns - 2].rpartition(" ")[0] or text[: columns - 3]
    return f"{kept.rstrip(' ,;:')}..."


def last_words(text: str, columns: int) -> str:
    """Return a text; if it is too long, its last whole words after ``...``, or the end of a last word that is too long.

    >>> last_words("Mixed of t.bin, 70 %", 20), last_words("Mixed of t.bin, 70 %", 16), last_words("/long/path", 7)
    ('Mixed of t.bin, 70 %', '...t.bin, 70 %', '...path')
    """
    if len(text) <= columns:
        return text
    start = len(text) - max(columns - 3, 0)
    bound = _BOUND.sub("\u00a0", text)
    word = start if bound[start - 1 : start] == " " else bound.find(" ", start) + 1
    return f"...{text[word or start :]}"


def _width(table: Sequence[Sequence[str]], *, columns: int) -> int:
    """Return the width of a table's first columns."""
    return max(map(len, aligned([row[:columns] for row in table])))


_BOUND = re.compile(r"(?<=\d) (?=[\d%A-Za-z])|(?<=\d:) (?=[\d<])")
"""The space between a number and its unit, or between a range and its share. No line breaks there."""


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
