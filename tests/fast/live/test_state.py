"""The state that events add up to: what a screen needs, in bounded memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.live.state import HISTORY, MOST_INTERVALS, NOTICES, State
from tests.fast.live import feeds


def test_rows_and_their_rates() -> None:
    state = feeds.folded(feeds.measurement(names=("a", "b"), seconds=3))
    first, second = state.running_rows
    assert [row.name for row in (first, second)] == ["a", "b"]
    assert first.rates("ios") == {"read": 1000.0}
    assert first.rates("bytes") == {"read": 4_096_000.0}
    assert second.asked_iops == {"read": 2000.0}
    assert len(first.intervals) == 3
    assert first.spread() == 0.0


def test_a_copy_stays_as_it_is() -> None:
    events = feeds.measurement(names=("a", "b"), seconds=3)
    state = feeds.folded(events)
    copy = state.copy()
    assert copy == state
    for event in (
        feeds.interval(3),
        {"event": "notice", "text": "a word", "hint": ""},
        {"event": "step_end", "label": "a", "complete": True, "text": ""},
        {"event": "drive", "path": "/dev/a", "temperature_C": 40.0, "throttled": True},
    ):
        state.add({**event, "seq": 50, "at": 110.0})
    assert copy == feeds.folded(events)


def test_only_rows_of_the_running_stage_are_shown() -> None:
    state = feeds.folded(feeds.measurement(names=("a",)))
    rows = [{"stage": stage, "row": 0, "name": f"of {stage}", "asked_iops": {}} for stage in range(2)]
    state.add({"event": "rows", "seq": 50, "at": 105.0, "rows": rows})
    state.add({**feeds.interval(0), "seq": 51, "at": 106.0})
    assert [row.name for row in state.running_rows] == ["of 0"]
    state.add({**feeds.interval(0), "stage": 1, "seq": 52, "at": 107.0})
    assert [row.name for row in state.running_rows] == ["of 1"]


def test_what_is_left_over_at_the_end_of_a_row_is_not_its_latest_interval() -> None:
    state = feeds.folded(feeds.measurement(seconds=3))
    short = {**feeds.interval(3), "end_s": 3.001, "directions": {"read": feeds.figures(1)}}
    state.add({**short, "seq": 20, "at": 104.0})
    (row,) = state.running_rows
    assert row.last is not None
    assert row.last["end_s"] == 3.0
    assert row.spread() == 0.0


@pytest.mark.parametrize(("now", "left_s"), [(100.0, 30.0), (104.0, 26.0), (200.0, 20.0)])
def test_what_is_left_of_a_real_run(now: float, left_s: float) -> None:
    assert feeds.folded(feeds.measurement(steps=3)).left_s(now) == left_s


def test_later_steps_take_as_much_longer_as_the_finished_ones() -> None:
    state = feeds.folded(feeds.measurement(steps=3))
    state.add({"event": "step_end", "seq": 30, "at": 120.0, "label": "70 %", "complete": True, "text": ""})
    second = feeds.measurement(steps=3)[1]
    state.add({**second, "seq": 31, "at": 120.0, "number": 2, "ahead_s": 10.0})
    assert state.left_s(124.0) == 6.0 + 20.0


def test_what_is_left_of_virtual_time_follows_its_speed() -> None:
    state = feeds.folded(feeds.measurement(virtual=True, seconds=4))
    assert state.simulated_s == 4.0
    assert state.left_s(102.0) == pytest.approx(3.0)
    assert state.share(102.0) == 0.4


def test_without_a_time_limit_nothing_is_said_of_what_is_left() -> None:
    state = State()
    assert state.left_s(1.0) is None
    state.add({**feeds.measurement()[1], "expected_s": None})
    assert (state.left_s(1.0), state.share(1.0)) == (None, None)


def test_drives_steadiness_notices_and_the_end() -> None:
    state = feeds.folded(feeds.measurement())
    for throttled in (False, True, True):
        state.add({"event": "drive", "path": "/dev/a", "temperature_C": 70.0, "throttled": throttled})
    steady = {"event": "steady", "row": 0, "name": "x", "attained": False, "criterion": 3.0, "limit": 2.0}
    state.add(steady)
    state.add({"event": "gap", "from": 8, "to": 10})
    state.add({"event": "of a later version", "seq": 90})
    state.add({"event": "end", "seq": 91, "at": 110.0, "outcome": "done", "text": ""})
    assert state.throttled == {"/dev/a": 2}
    assert state.running_rows[0].steady == steady
    assert (state.lost, state.seq, state.left_s(111.0)) == (3, 91, None)
    assert state.end is not None


@given(st.integers(1, 300), st.integers(1, 20))
def test_memory_is_bounded(rows: int, rounds: int) -> None:
    state = feeds.folded(feeds.measurement(names=tuple(map(str, range(rows))), seconds=0))
    for index in range(rounds):
        for row in range(rows):
            state.add(feeds.interval(index, row=row))
        for _ in range(40):
            state.add({"event": "notice", "text": "a", "hint": ""})
            state.add({"event": "step_end", "at": 0.0, "label": "a", "complete": True, "text": ""})
            state.add(
                {"event": "drive", "path": f"/dev/{index}-{_}", "temperature_C": 1.0, "throttled": None}
            )
    kept = sum(len(row.intervals) for row in state.rows.values())
    assert kept <= max(MOST_INTERVALS, 8 * rows)
    assert all(len(row.intervals) <= HISTORY for row in state.rows.values())
    assert max(len(state.notices), len(state.steps), len(state.drives)) <= NOTICES
