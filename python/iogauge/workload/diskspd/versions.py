"""Which versions of DiskSpd measure alike.

DiskSpd 2.2 changed how a thread keeps several requests in flight: its results above depth 1 and those of older versions
are not of one method. At depth 1 it waits for each call, as it always did.

Source: DiskSpd 2.2 (IORequestGenerator.cpp).
"""

from __future__ import annotations

import re

CHANGED = (2, 2)
NOT_COMPARABLE = (
    "above depth 1, results of DiskSpd 2.2 and of older versions are not comparable with each other: its "
    "asynchronous loop changed"
)


def loop_of(version: str, depth: int) -> str:
    """Name the asynchronous loop that a result was measured by; empty at depth 1, or where the version is not known.

    >>> loop_of("2.2.0", 4), loop_of("2.0.21a", 4), loop_of("2.2.0", 1), loop_of("", 4)
    ('2.2', 'before 2.2', '', '')
    """
    match = re.match(r"(\d+)\.(\d+)", version)
    if match is None or depth <= 1:
        return ""
    return "2.2" if (int(match[1]), int(match[2])) >= CHANGED else "before 2.2"
