"""The progress of a fleet: events are lines that stay, and the summary is not repeated without news."""

from __future__ import annotations

import io
import sys

import pytest

from iogauge.cli.fleet.progress import FleetDisplay
from iogauge.fleet.progress import FleetProgress
from iogauge.schema import FleetEvent


class Clock:
    """A clock that is set by hand."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


def news(label: str = "mixed, 70 %", done: int = 1, event: FleetEvent | None = None) -> FleetProgress:
    return FleetProgress(
        hosts=3, running=2, lost=1, label=label, steps_done=done, steps=11, left_s=80.0, event=event
    )


LOST = FleetEvent(at="2026-11-29T02:03:20+00:00", host="r9", kind="lost", text="no answer for 5 s")


def test_a_file_gets_events_and_a_line_for_each_step_and_every_five_seconds() -> None:
    stream, clock = io.StringIO(), Clock()
    with FleetDisplay(stream=stream, clock=clock) as display:
        display(news())
        clock.now += 4.9
        display(news())
        display(news(event=LOST))
        clock.now += 0.2
        display(news())
        display(news("mixed, 80 %", 2))
    first = "[2/11] mixed, 70 %; 3 hosts: 2 running, 1 lost, 1 min 20 s left"
    assert stream.getvalue().splitlines() == [
        first,
        "r9 is lost: no answer for 5 s",
        first,
        first.replace("[2/11] mixed, 70", "[3/11] mixed, 80"),
    ]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_before_the_first_news_a_terminal_belongs_to_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with FleetDisplay() as display:
        print("continue? [y/N] ", end="", file=sys.stderr)
        assert stream.getvalue() == "continue? [y/N] "
        display(news())
    assert "3 hosts" in stream.getvalue()


def test_a_terminal_keeps_events_and_clears_the_summary() -> None:
    stream = Terminal()
    with FleetDisplay(stream=stream) as display:
        display(news())
        display(news(event=LOST))
    text = stream.getvalue()
    assert "r9 is lost: no answer for 5 s\n" in text
    assert "3 hosts: 2 running, 1 lost, 1 min 20 s left" in text
    assert text.endswith("\x1b[2K")
