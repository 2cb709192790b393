"""What was measured in one line: rates, mean and p99 of every direction."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from iogauge.schema import Direction, Interval, Kind, Tally
from iogauge.stats.selection import latencies
from iogauge.text import numbers


def described(interval: Interval, *, without: Collection[str] = ()) -> str:
    """Return one line on an interval: rates, mean and p99 lat of every direction, or that nothing completed.

    ``without`` is that of ``moved``.
    """
    length_ns = interval.end_ns - interval.start_ns
    return ("ramp, " if interval.ramp else "") + moved(interval.tallies, length_ns, without=without)


def moved(
    tallies: Mapping[Direction, Tally],
    length_ns: int,
    kind: Kind | None = None,
    *,
    without: Collection[str] = (),
) -> str:
    """Return one line on the requests completed within ``length_ns``: rates, mean and p99 of every direction.

    The latency is that of ``kind``; None: lat. ``without`` leaves out ``MB/s``, ``mean`` or ``p99``.
    """
    parts = [
        _described(direction, tally, length_ns / 1e9, kind, without)
        for direction, tally in tallies.items()
        if tally.ios or tally.errors
    ]
    return ", ".join(parts) or "nothing completed"


def _described(
    direction: Direction, tally: Tally, seconds: float, kind: Kind | None, without: Collection[str]
) -> str:
    text = f"{direction.value} {numbers.rate(tally.ios / seconds if seconds else 0)} IOPS"
    if tally.bytes and seconds and "MB/s" not in without:
        text += f" {numbers.bandwidth(tally.bytes / seconds)}"
    latency = latencies([tally], kind or Kind.LAT)
    if latency.count:
        text += "" if "mean" in without else f" mean {numbers.duration(latency.mean)}"
        text += "" if "p99" in without else f" p99 {numbers.duration(latency.quantile(0.99))}"
    if tally.errors:
        text += f" {numbers.counted(sum(tally.errors.values()), 'error')}"
    return text
