"""Writes rows as CSV that a spreadsheet does not run: text that would be a formula is quoted.

Source: OWASP, "CSV Injection".
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")


def csv_of(columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return the rows below a header line.

    None becomes empty, booleans become ``true`` and ``false``, bytes become hexadecimal digits. Text that begins like
    a formula gets an apostrophe before it, unless it is a number.

    >>> print(csv_of(["drive", "change"], [["=1+1", -1.5], ["-2", None], ["a, b", True]]), end="")
    drive,change
    '=1+1,-1.5
    -2,
    "a, b",true
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(map(_cell, columns))
    writer.writerows(map(_cell, row) for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        return value.hex()
    if not isinstance(value, str):
        return value
    # Python's csv does not quote a carriage return, and other programs end a line there.
    text = value.replace("\r", " ")
    return f"'{text}" if _FORMULA.match(value) and not _NUMBER.fullmatch(value) else text
