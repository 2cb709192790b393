"""Reads text of which only the byte order mark tells the encoding, as files from Windows are."""

from __future__ import annotations

_MARKS = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
"""Byte order marks: Windows PowerShell's ``>`` writes UTF-16."""


def decoded(data: bytes) -> str:
    """Return text by its byte order mark, or else as UTF-8; what cannot be decoded is replaced.

    >>> decoded(b"\\xff\\xfea\\x00"), decoded(b"a"), decoded(b"a\\xff")
    ('a', 'a', 'a\\ufffd')
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    return data.decode("utf-8", errors="replace")
