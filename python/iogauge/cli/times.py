"""Times on the command line of ``iogauge run``."""

from __future__ import annotations

from iogauge.cli import status

_UNITS_NS = {
    "us": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "min": 60 * 10**9,
    "h": 3600 * 10**9,
    "": 10**9,
}


def time_ns(text: str, *, option: str) -> int:
    """Return a time of the command line in ns; a bare number is seconds, as in fio. Raises UsageError.

    >>> time_ns("500ms", option="--interval")
    500000000
    """
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz")
    unit = text.strip()[len(number) :]
    try:
        value_ns = round(float(number) * _UNITS_NS[unit])
    except (ValueError, KeyError, OverflowError):
        value_ns = 0
    if value_ns <= 0:
        raise status.UsageError(
            f"{option}: {text!r} is not a time", hint="write for instance 500ms, 1s or 2m"
        )
    return value_ns
