"""Limits of latency that a search keeps: ``read.p99 < 1ms``.

    [DIRECTION.] FIGURE < VALUE

DIRECTION is ``read`` or ``write``; without it, the limit is on all requests together. FIGURE is ``mean`` or ``pQ``.
The words are those of the conditions of ``--fail-if``, which docs/conditions.md describes.
"""

from __future__ import annotations

from collections.abc import Sequence

from iogauge.errors import UsageError
from iogauge.report.run import fail_if
from iogauge.schema import Direction, LatencyLimit
from iogauge.text.option import option

_EXAMPLE = "write for example 'read.p99 < 1ms' or 'mean < 200us'"


def limits_of(texts: Sequence[str], *, reads: bool, writes: bool) -> tuple[LatencyLimit, ...]:
    """Return the limits that texts state, for a load that ``reads`` and ``writes``.

    Raises UsageError, with a hint: there is none, one states no limit, or the load issues no such requests.

    >>> (limit,) = limits_of(["read.p99.9 < 500us"], reads=True, writes=False)
    >>> limit.direction.value, limit.quantile, limit.at_most_ns
    ('read', 0.999, 500000.0)
    """
    if not texts:
        raise UsageError(
            "a search needs a limit that it keeps", hint=f"for example {option('limit', 'p99 < 1ms')}"
        )
    return tuple(_limit(text, reads=reads, writes=writes) for text in texts)


def _limit(text: str, *, reads: bool, writes: bool) -> LatencyLimit:
    try:
        condition = fail_if.parse(text)
    except UsageError as error:
        # A condition names its own option.
        message = str(error).replace(option("fail_if"), option("limit"), 1)
        # The examples of a condition are not all limits.
        hint = _EXAMPLE if (error.hint or "").startswith("write for example") else error.hint
        raise UsageError(message, hint=hint) from None
    said = f"{option('limit')} '{condition.text}'"
    if condition.op not in ("<", "<="):
        raise UsageError(f"{said}: a limit is what a latency stays below", hint=_EXAMPLE)
    if condition.job is not None or condition.measure != "duration" or condition.kind != "lat":
        raise UsageError(f"{said}: a limit is on the latency of reads, of writes, or of both", hint=_EXAMPLE)
    if condition.q is None and condition.figure != "mean":
        raise UsageError(f"{said}: {condition.figure} depends on a single request", hint=_EXAMPLE)
    issued = {Direction.READ: reads, Direction.WRITE: writes, None: True}
    if not issued.get(condition.direction, False):
        raise UsageError(
            f"{said}: the load issues no {condition.direction}",
            hint=f"name the load, for example {option('rw', 'randrw')}, or leave the direction out",
        )
    return LatencyLimit(
        text=condition.text,
        direction=condition.direction,
        quantile=condition.q,
        at_most_ns=condition.threshold,
    )
