"""Times on the command line of ``iogauge run``, as in fio's job files."""

from __future__ import annotations

from iogauge.cli.terminal import status


def time_ns(text: str, *, option: str) -> int:
    """Return a time of the command line in ns; a bare number is seconds, as in fio. Raises UsageError.

    >>> time_ns("500ms", option="--interval")
    500000000
    """
    from iogauge.workload.numbers import SECOND, duration_ns
    from iogauge.workload.problem import BadValue

    try:
        value_ns = duration_ns(text, default_unit_ns=SECOND)
    except BadValue as error:
        raise status.UsageError(f"{option} {text}: {error}", hint=error.hint) from None
    if not value_ns:
        raise status.UsageError(
            f"{option} {text}: must be longer than 0", hint="write for instance 90, 1m30s or 500ms"
        )
    return value_ns
