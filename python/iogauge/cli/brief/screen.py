"""Fits lines to the height of a screen: what is left out is counted, and said."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iogauge.text.grid import labelled

EVERYTHING = "-v shows everything"


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


def bullets(sentences: Iterable[str], *, columns: int, most: int) -> list[str]:
    """Return sentences that fit in ``most`` lines, each whole, and a line that counts the others."""
    entries = [
        [f"- {line}" if first else f"  {line}" for first, line in _marked(sentence, columns - 2)]
        for sentence in sentences
    ]
    if sum(map(len, entries)) <= most:
        return [line for entry in entries for line in entry]
    kept: list[str] = []
    for number, entry in enumerate(entries):
        if len(kept) + len(entry) > most - 1:
            left = len(entries) - number
            return [*kept, _more(left, "finding", after=number)][:most]
        kept += entry
    return kept


def _marked(sentence: str, columns: int) -> list[tuple[bool, str]]:
    lines = labelled("", sentence, indent="", width=0, columns=columns)
    return [(number == 0, line) for number, line in enumerate(lines)]


def rows_that_fit(table: Sequence[str], *, most: int) -> list[str]:
    """Return a table's lines, at most ``most`` of them, its head first, and a line that counts the others."""
    if len(table) <= most:
        return [*table]
    kept = table[: max(most - 1, 1)]
    return [*kept, _more(len(table) - len(kept), "row", after=len(kept) - 1)]


def _more(number: int, noun: str, *, after: int) -> str:
    other = "more " if after else ""
    return f"... {number} {other}{noun}{'' if number == 1 else 's'}: {EVERYTHING}"
