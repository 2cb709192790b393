"""Suggests the known word that is closest to an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 64


def closest(word: str, known: Iterable[str]) -> str | None:
    """Return the word of ``known`` that is most similar to ``word``; None if none is similar.

    >>> closest("iodepht", ["iodepth", "ioengine"])
    'iodepth'
    >>> closest("xyzzy", ["iodepth", "ioengine"])
    """
    if len(word) > _LONGEST:
        return None
    matches = difflib.get_close_matches(word.lower(), sorted(known), n=1, cutoff=0.6)
    return matches[0] if matches else None
