"""Text and tables as Markdown: characters that Markdown or HTML would interpret are escaped.

Source: GitHub Flavored Markdown Spec, tables and backslash escapes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_MARKED = re.compile(r"([\\`*_{}\[\]<>#|~$@])")


def escaped(text: str) -> str:
    """Return ``text`` on one line with Markdown's special characters escaped.

    >>> escaped("<img> *a* | b")
    '\\\\<img\\\\> \\\\*a\\\\* \\\\| b'
    """
    return _MARKED.sub(r"\\\1", " ".join(text.split()))


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, left: int) -> Iterator[str]:
    """Yield a table and an empty line. The first ``left`` columns align left, the others right."""
    rules = [":--" if place < left else "--:" for place in range(len(head))]
    for cells in (
        [escaped(cell) for cell in head],
        rules,
        *([escaped(cell) for cell in row] for row in rows),
    ):
        yield f"| {' | '.join(cells)} |"
    yield ""
