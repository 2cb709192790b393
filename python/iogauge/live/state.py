"""What a screen shows of a measurement: its events folded into a state of bounded size.

The same events give the same state, whatever the pace at which they come. Times are Unix seconds of the writer's clock;
a method that needs the present takes it as ``now``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from iogauge.live.places import AGAIN

Event = Mapping[str, Any]

HISTORY = 512
"""The most intervals that are kept of a row."""
MOST_INTERVALS = 1 << 14
"""The most that are kept of all rows together, but for the last ones of each."""
_LEAST_HISTORY = 8
MOST_ROWS = 4096
NOTICES = 100
STEPS = 100
DRIVES = 64


@dataclass
class Row:
    """One row of the current step."""

    stage: int
    number: int
    name: str
    asked_iops: Mapping[str, float]
    intervals: deque[Event]
    """The last ``interval`` events, oldest first."""
    steady: Event | None = None

    @property
    def last(self) -> Event | None:
        """The latest interval; None: there is none yet.

        If it is much shorter than the one before, it is what was left at the end of a row, and the one before speaks.
        """
        if len(self.intervals) < 2:
            return self.intervals[-1] if self.intervals else None
        before, last = self.intervals[-2], self.intervals[-1]
        return before if 2 * _length_s(last) < _length_s(before) and before["ramp"] == last["ramp"] else last

    def rates(self, name: str) -> dict[str, float]:
        """Return ``ios``, ``bytes`` or ``errors`` a second of the latest interval, by direction."""
        last = self.last
        seconds = _length_s(last) if last else 0.0
        if last is None or seconds <= 0:
            return {}
        return {direction: figures[name] / seconds for direction, figures in last["directions"].items()}

    def spread(self, most: int = 10) -> float | None:
        """Return how far the IOPS of the last measured intervals lie from their mean at most, as a share of it.

        None: there are fewer than three, or nothing completed.
        """
        longest_s = max(map(_length_s, self.intervals), default=0.0)
        rates = [
            sum(figures["ios"] for figures in interval["directions"].values()) / _length_s(interval)
            for interval in list(self.intervals)[-most:]
            if not interval["ramp"] and 2 * _length_s(interval) > longest_s
        ]
        mean = sum(rates) / len(rates) if len(rates) >= 3 else 0.0
        return max(abs(rate - mean) for rate in rates) / mean if mean else None


@dataclass
class State:
    """The sum of the events so far."""

    seq: int = 0
    """The number of the last event."""
    at: float = 0.0
    """When it was written."""
    begin: Event | None = None
    step: Event | None = None
    """The current step, or the last one."""
    step_ended: bool = False
    rows: dict[tuple[int, int], Row] = field(default_factory=dict)
    """The rows of the current step, by stage and number."""
    drives: dict[str, Event] = field(default_factory=dict)
    throttled: dict[str, int] = field(default_factory=dict)
    """How many of its readings say that a drive throttled, by its path."""
    notices: deque[Event] = field(default_factory=lambda: deque(maxlen=NOTICES))
    steps: deque[Event] = field(default_factory=lambda: deque(maxlen=STEPS))
    """The last steps that ended: ``step_end``, with the number of the step."""
    lost: int = 0
    """How many events never came."""
    end: Event | None = None
    _spent_s: float = 0.0
    _spent_expected_s: float = 0.0
    _simulated_s: dict[int, float] = field(default_factory=dict)

    def add(self, event: Event) -> None:
        """Take the next event. An event of an unknown kind changes nothing."""
        if AGAIN not in event:
            self.seq, self.at = event.get("seq", self.seq), event.get("at", self.at)
        take: Callable[[Event], None] | None = {
            "begin": self._began,
            "step": self._step,
            "rows": self._planned,
            "interval": self._interval,
            "drive": self._drive,
            "steady": self._steady,
            "notice": self.notices.append,
            "step_end": self._step_ended,
            "end": self._ended,
            "gap": self._gap,
        }.get(event["event"])
        if take:
            take(event)

    def copy(self) -> State:
        """Return a state that later events do not change. Events themselves never change, so both have the same."""
        return replace(
            self,
            rows={place: replace(row, intervals=row.intervals.copy()) for place, row in self.rows.items()},
            drives=dict(self.drives),
            throttled=dict(self.throttled),
            notices=self.notices.copy(),
            steps=self.steps.copy(),
            _simulated_s=dict(self._simulated_s),
        )

    @property
    def running_rows(self) -> list[Row]:
        """The rows of the latest stage that has begun, in the order of the plan."""
        stages = [stage for (stage, _), row in self.rows.items() if row.intervals]
        latest = max(stages, default=0)
        return [row for (stage, _), row in self.rows.items() if stage == latest]

    @property
    def virtual(self) -> bool:
        """Whether time is that of drive models."""
        return bool(self.begin and self.begin["virtual"])

    @property
    def simulated_s(self) -> float:
        """The time that has passed in the step by the clock of its intervals; virtual time on drive models."""
        return sum(self._simulated_s.values())

    def left_s(self, now: float) -> float | None:
        """Return the estimated seconds to the end; None if unknown.

        The current step takes as long as expected. Later steps exceed their expected time as much as the finished ones
        did.
        """
        if self.step is None or self.end is not None or self.step["expected_s"] is None:
            return None
        here = self.step["expected_s"]
        passed = max(now - self.step["at"], 0.0)
        if self.virtual:
            share = min(self.simulated_s / here, 1.0) if here else 0.0
            if not share:
                return None
            here = passed / share
        left = 0.0 if self.step_ended else max(here - passed, 0.0)
        ahead = self.step["ahead_s"] or 0.0
        if not ahead:
            return left
        if self._spent_expected_s:
            return left + ahead * self._spent_s / self._spent_expected_s
        # Before the first step has ended, virtual time says nothing of ours but by this step.
        return left + ahead * (here / self.step["expected_s"] if self.virtual else 1.0)

    def share(self, now: float) -> float | None:
        """Return how much of the current step is done, from 0 to 1; None if unknown."""
        if self.step is None or not self.step["expected_s"]:
            return None
        passed = self.simulated_s if self.virtual else now - self.step["at"]
        return 1.0 if self.step_ended else min(max(passed / self.step["expected_s"], 0.0), 1.0)

    def _began(self, event: Event) -> None:
        self.begin = event

    def _step(self, event: Event) -> None:
        self.step, self.step_ended = event, False
        self.rows, self._simulated_s = {}, {}

    def _planned(self, event: Event) -> None:
        rows = event["rows"][:MOST_ROWS]
        length = max(_LEAST_HISTORY, min(HISTORY, MOST_INTERVALS // max(len(rows), 1)))
        self.rows = {
            (row["stage"], row["row"]): Row(
                row["stage"], row["row"], row["name"], row["asked_iops"], deque(maxlen=length)
            )
            for row in rows
        }

    def _interval(self, event: Event) -> None:
        stage = event["stage"]
        self._simulated_s[stage] = max(self._simulated_s.get(stage, 0.0), event["end_s"])
        if row := self.rows.get((stage, event["row"])):
            row.intervals.append(event)

    def _drive(self, event: Event) -> None:
        path = event["path"]
        if path in self.drives or len(self.drives) < DRIVES:
            self.drives[path] = event
            self.throttled[path] = self.throttled.get(path, 0) + bool(event["throttled"])

    def _steady(self, event: Event) -> None:
        for row in self.rows.values():
            if (row.number, row.name) == (event["row"], event["name"]):
                row.steady = event

    def _step_ended(self, event: Event) -> None:
        self.step_ended = True
        if self.step is not None and event["complete"]:
            self._spent_s += max(event["at"] - self.step["at"], 0.0)
            self._spent_expected_s += self.step["expected_s"] or 0.0
        self.steps.append({**event, "number": self.step["number"] if self.step else 0})

    def _ended(self, event: Event) -> None:
        self.end = event

    def _gap(self, event: Event) -> None:
        self.lost += event["to"] - event["from"] + 1


def _length_s(interval: Event) -> float:
    return float(interval["end_s"] - interval["start_s"])
