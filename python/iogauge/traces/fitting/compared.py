"""How a fitted job differs from its trace, property by property."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from iogauge.schema import Direction
from iogauge.traces.summary import Summary

Unit = Literal["1/s", "B/s", "B", "share", "times", "ns"]


@dataclass(frozen=True)
class Property:
    """One property of the trace and of the requests that the fitted job makes."""

    name: str
    unit: Unit
    trace: float
    fitted: float

    @property
    def difference(self) -> float | None:
        """The fitted value beside the trace's: points of a share, else a share of the trace's; None: that is 0."""
        if self.unit == "share":
            return self.fitted - self.trace
        return self.fitted / self.trace - 1 if self.trace else None


def properties(trace: Summary, fitted: Summary) -> list[Property]:
    """Return what both have: rates, sizes, order, places, reuse, and how arrivals vary."""
    return [
        Property(name, unit, one, other)
        for (name, unit, one), (_, _, other) in zip(
            _values(trace, trace), _values(fitted, trace), strict=True
        )
    ]


def _values(summary: Summary, like: Summary) -> Iterator[tuple[str, Unit, float]]:
    """Yield the values of a summary, of the directions of another one."""
    yield "requests a second", "1/s", summary.requests / summary.span_s
    yield "data a second", "B/s", summary.bytes / summary.span_s
    for direction in (Direction.READ, Direction.WRITE, Direction.TRIM):
        if direction not in like.directions:
            continue
        part = summary.directions.get(direction)
        count, moved, follows = (part.requests, part.bytes, part.sequential) if part else (0, 0, 0)
        yield f"{direction.value}s", "share", count / summary.requests
        if direction is Direction.TRIM:
            continue
        yield f"{direction.value} size", "B", moved / max(count, 1)
        yield f"sequential {direction.value}s", "share", follows / max(count, 1)
    yield "footprint", "B", summary.footprint_bytes
    yield "blocks used again", "share", summary.reused
    yield "variation of gaps", "times", summary.gap_variation
    yield "busiest time", "times", summary.busiest_iops * summary.span_s / summary.requests
