"""Words and tables as Markdown that reads as they do: whatever Markdown or HTML would make of them is escaped.

Knows nothing of what they say. Source: GitHub Flavored Markdown Spec, tables and backslash escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_MARKED = re.compile(r"([\\`*_{}\[\]<>#|~$@])")


def escaped(text: str) -> str:
    """Return ``text`` as Markdown that reads as it does, in one line.

    >>> escaped("<img> *a* | b")
    '\\\\<img\\\\> \\\\*a\\\\* \\\\| b'
    """
    return _MARKED.sub(r"\\\1", " ".join(text.split()))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int) -> Iterator[str]:
    """Yield a table and an empty line; the first ``left`` columns are words, the others numbers."""
    rules = [":--" if place < left else "--:" for place in range(len(head))]
    for cells in (
        [escaped(cell) for cell in head],
        rules,
        *([escaped(cell) for cell in row] for row in rows),
    ):
        yield f"| {' | '.join(cells)} |"
    yield ""
