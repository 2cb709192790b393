"""A measurement as lines, for a terminal that cannot move its cursor, a pipe or a file."""

from __future__ import annotations

from collections.abc import Callable

from iogauge.cli.watch.clean import clean
from iogauge.cli.watch.screen import head, steadiness
from iogauge.live.state import Row, State
from iogauge.text import numbers

EVERY_S = 5.0
"""The shortest time between two lines about the same step, by the clock of the measurement."""


class Lines:
    """Says what is new in a state each time that it is updated."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._step = 0
        self._notices = self._steps = 0
        self._said_at = 0.0

    def update(self, state: State, *, is_running: bool = True) -> None:
        """Say which step began or ended, what was noticed, what is measured, and how it ended."""
        for notice in list(state.notices):
            if notice["seq"] > self._notices:
                self._notices = notice["seq"]
                self._say(clean(notice["text"]))
                if notice["hint"]:
                    self._say(f"hint: {clean(notice['hint'])}")
        for step in list(state.steps):
            if step["seq"] > self._steps:
                self._steps = step["seq"]
                ended = clean(step["text"]) or ("done" if step["complete"] else "interrupted")
                self._say(f"{clean(step['label'])}: {ended}")
        if state.step and state.step["seq"] > self._step and state.end is None:
            self._step, self._said_at = state.step["seq"], state.at
            self._say(_text(state))
        if state.end is not None or not is_running:
            self._say(_text(state, is_running=is_running))
        elif state.at - self._said_at >= EVERY_S and (rows := state.running_rows):
            self._said_at = state.at
            self._say("; ".join([_text(state), *map(_row, rows[:3])]))


def _text(state: State, *, is_running: bool = True) -> str:
    lines = head(state, columns=10_000, now=state.at, is_running=is_running)
    texts = ("".join(text for text, _ in line).strip() for line in lines)
    return ", ".join(text.partition("] ")[2] or text for text in texts if text)


def _row(row: Row) -> str:
    ios, last = row.rates("ios"), row.last
    parts = [
        f"{direction} {numbers.rate(ios[direction])} IOPS"
        + ("" if figures["p99_ns"] is None else f" p99 {numbers.duration(figures['p99_ns'], 3)}")
        for direction, figures in (last["directions"] if last else {}).items()
    ]
    steady = steadiness(row) if row.steady else ""
    return f"{clean(row.name)}: {', '.join(filter(None, [*parts, steady])) or 'nothing completed'}"
