"""Times and sizes as a user writes them: numbers, or text in fio's notation."""

from __future__ import annotations

from iogauge.errors import UsageError
from iogauge.text.option import option


def time_ns(value: float | str, *, name: str) -> int:
    """Return a time in ns. A number, or text without a unit, is in seconds, as in fio.

    ``name`` is that of the argument. Raises UsageError unless it is a time above 0.

    >>> time_ns("500ms", name="interval"), time_ns(1.5, name="interval")
    (500000000, 1500000000)
    """
    from iogauge.workload.numbers import SECOND, duration_ns
    from iogauge.workload.problem import BadValue

    text = value if isinstance(value, str) else f"{value:.6f}"
    try:
        duration = duration_ns(text, default_unit_ns=SECOND)
    except BadValue as error:
        raise UsageError(f"{option(name)} {value}: {error}", hint=error.hint) from None
    if not duration:
        raise UsageError(
            f"{option(name)} {value}: must be longer than 0", hint="write a time such as 90, 1m30s or 500ms"
        )
    return duration


def size_bytes(value: int | str, *, name: str) -> int:
    """Return a size in bytes. Text may have fio's suffixes, which are powers of 1024.

    ``name`` is that of the argument. Raises UsageError unless it is a size of at least 1.

    >>> size_bytes("4g", name="size") == size_bytes(4 * 2**30, name="size")
    True
    """
    from iogauge.workload.numbers import integer
    from iogauge.workload.problem import BadValue

    try:
        return integer(str(value), minimum=1)
    except BadValue as error:
        raise UsageError(f"{option(name)} {value}: {error}", hint=error.hint) from None
