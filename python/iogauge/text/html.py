"""Short tables and lists as HTML, for a notebook that shows a result. All text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

MOST_ROWS = 20
"""Rows that a table shows; the others are counted."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]], *, most: int = MOST_ROWS) -> str:
    """Return a table whose first column is text and whose others are figures.

    >>> table(["job", "IOPS"], [["a<b", "5"]], most=1)
    '<table><thead><tr><th>job</th><th>IOPS</th></tr></thead><tbody><tr><td>a&lt;b</td><td>5</td></tr></tbody></table>'
    """
    every = list(rows)
    body = "".join(_row("td", row) for row in every[:most])
    left = len(every) - most
    below = f"<p>and {left:,} more row{'s' if left > 1 else ''}</p>" if left > 0 else ""
    return f"<table><thead>{_row('th', head)}</thead><tbody>{body}</tbody></table>{below}"


def items(texts: Iterable[str]) -> str:
    """Return a list of sentences; empty where there are none.

    >>> items(["one & two"]), items([])
    ('<ul><li>one &amp; two</li></ul>', '')
    """
    shown = "".join(f"<li>{escape(text)}</li>" for text in texts)
    return f"<ul>{shown}</ul>" if shown else ""


def preformatted(text: str) -> str:
    """Return text whose columns stay where they are."""
    return f"<pre>{escape(text)}</pre>"


def heading(text: str) -> str:
    """Return a line that names what follows."""
    return f"<p><b>{escape(text)}</b></p>"


def folded(summary: str, content: str) -> str:
    """Return what a reader opens when it is wanted; empty where there is no content."""
    return f"<details><summary>{escape(summary)}</summary>{content}</details>" if content else ""


def _row(cell: str, texts: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{cell}>{escape(text)}</{cell}>" for text in texts) + "</tr>"
