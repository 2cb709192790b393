"""Says which versions of DiskSpd measure with the same method.

DiskSpd 2.2 changed how a thread keeps several requests in flight, so above depth 1 its results and those of older
versions cannot be compared. At depth 1 all versions wait for each call.

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
    """Name the asynchronous loop that measured a result; empty at depth 1 and for an unknown version.

    >>> loop_of("2.2.0", 4), loop_of("2.0.21a", 4), loop_of("2.2.0", 1), loop_of("", 4)
    ('2.2', 'before 2.2', '', '')
    """
    match = re.match(r"(\d+)\.(\d+)", version)
    if match is None or depth <= 1:
        return ""
    return "2.2" if (int(match[1]), int(match[2])) >= CHANGED else "before 2.2"
