"""What pages say of a running measurement: a sentence first, then a row of figures for each job."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iogauge.live.state import Row, State
from iogauge.text import numbers
from iogauge.web.following.stream import Source

DIRECTIONS = {"read": "Reads", "write": "Writes", "trim": "Trims", "sync": "Syncs"}
"""The directions as headings."""
OUTCOMES = {"done": "It is done", "interrupted": "It was interrupted", "failed": "It failed"}
QUANTILES = ("p50_ns", "p99_ns", "p999_ns")
MOST_FEEDS = 32
"""Feeds whose sums are kept; the one that nobody asked for longest goes first."""


@dataclass(frozen=True)
class Cells:
    """The figures of one direction of a row, as text; a dash where there is none."""

    name: str
    direction: str
    iops: str
    bandwidth: str
    quantiles: tuple[str, ...]
    """p50, p99 and p99.9."""
    share: str
    """The share of the rate that the job asks for; empty: it asks for none."""
    steady: str


class _Sum:
    """The sum of the events of one feed, which reads on where it was."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._reader = source.reader()
        self._lock = threading.Lock()
        self._state = State()
        self._seq = 0
        self._size: object = None

    def state(self) -> State:
        """Return the sum so far; later events do not change it."""
        with self._lock:
            if self._state.end is not None and self._source.size()[:2] != self._size:
                self._begin()  # the process measures something else now
            while events := self._reader.read(self._seq):
                for event in events:
                    self._state.add(event)
                self._seq = events[-1]["seq"]
            self._size = self._source.size()[:2]
            return self._state.copy()

    def close(self) -> None:
        with self._lock:
            self._reader.close()

    def _begin(self) -> None:
        self._reader.close()
        self._reader, self._state, self._seq = self._source.reader(), State(), 0


_sums: OrderedDict[Source, _Sum] = OrderedDict()
_sums_lock = threading.Lock()


def state_of(source: Source) -> State:
    """Return the sum of all events that a feed still has. What was read once is not read again."""
    with _sums_lock:
        kept = _sums.pop(source, None) or _Sum(source)
        _sums[source] = kept
        gone = [_sums.popitem(last=False)[1] for _ in range(len(_sums) - MOST_FEEDS)]
    for old in gone:
        old.close()
    return kept.state()


def sentence(state: State, now: float, *, running: bool) -> str:
    """Return what the measurement does, and how long it will take, in one or two sentences."""
    if state.end is not None:
        text = state.end["text"]
        return f"{OUTCOMES.get(state.end['outcome'], 'It has ended')}{f': {text}' if text else ''}."
    if not running:
        return "Its process has ended without reporting an outcome."
    if state.step is None:
        return "It is being prepared."
    step = state.step
    left = state.left_s(now)
    time_left = "" if left is None else f" About {numbers.clock_time(left)} left."
    return f"{_place(step)}: {step['label']}.{time_left}"


def _place(step: Mapping[str, Any]) -> str:
    if step["search"]:
        return "A search"
    if step["steps"] == 1 and not step["more"]:
        return "Running"
    return f"Step {step['number']} of {step['steps']}{' or more' if step['more'] else ''}"


def rates(state: State) -> str:
    """Return the latest rates of all rows together, by direction; empty: there are none."""
    parts = []
    for direction, heading in DIRECTIONS.items():
        rows = [row for row in state.running_rows if direction in row.rates("ios")]
        if rows:
            iops = sum(row.rates("ios")[direction] for row in rows)
            moved = sum(row.rates("bytes")[direction] for row in rows)
            megabytes = f", {numbers.bandwidth(moved)}" if moved else ""
            parts.append(f"{heading.lower()} {numbers.rate(iops)} IOPS{megabytes}")
    return "; ".join(parts)


def cells(state: State) -> list[Cells]:
    """Return the latest figures of the current rows."""
    return [
        _cells(row, direction, figures)
        for row in state.running_rows
        for direction, figures in (row.last["directions"] if row.last else {}).items()
    ]


def _cells(row: Row, direction: str, figures: Mapping[str, Any]) -> Cells:
    iops = row.rates("ios").get(direction, 0.0)
    limit = row.asked_iops.get(direction)
    return Cells(
        name=row.name,
        direction=DIRECTIONS.get(direction, direction),
        iops=numbers.rate(iops),
        bandwidth=numbers.megabytes(row.rates("bytes").get(direction, 0.0)),
        quantiles=tuple(
            "-" if figures.get(name) is None else numbers.duration(figures[name], 3) for name in QUANTILES
        ),
        share=f"{numbers.percent(iops / limit)} of {numbers.rate(limit)}" if limit else "",
        steady="" if row.steady is None else "steady" if row.steady["attained"] else "not steady yet",
    )


def id_below(directory: Path, review: Path | str | None) -> str:
    """Return the id of a review, its path below the served directory; empty: it is elsewhere."""
    if review is None:
        return ""
    try:
        return str(Path(review).resolve().relative_to(directory.resolve()))
    except (ValueError, OSError):
        return ""
