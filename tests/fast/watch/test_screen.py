"""The screen: the answer first, everything that the feed says, at any size, and no character that a terminal obeys."""

from __future__ import annotations

from typing import Any

import pytest

from iogauge.cli.watch.plain import Lines
from iogauge.cli.watch.screen import screen
from iogauge.cli.watch.view import View
from iogauge.errors import IogaugeError
from iogauge.live.state import State
from tests.fast.live import feeds


def view(**fields: Any) -> View:
    return View(**{"interrupt": lambda: None, **fields})


def drawn(
    state: State, chosen: View | None = None, *, columns: int = 80, lines: int = 24, **options: Any
) -> list[str]:
    options = {"now": 104.0, **options}
    made = screen(state, chosen or view(), columns=columns, lines=lines, **options)
    return ["".join(piece for piece, _ in line) for line in made]


def test_a_run_on_80_by_24() -> None:
    state = feeds.folded(feeds.measurement(seconds=3))
    assert drawn(state) == [
        "run of /dev/drive",
        "[##########..............] 4 s in, 6 s left",
        "       IOPS   MB/s     mean      p50      p99    p99.9   p99.99      max",
        "read  1,000  4.096  40.0 us  35.0 us  1.10 ms  1.50 ms  1.70 ms  2.00 ms",
        "lat, by share: . <0.1%  : <1%  + <10%  * <50%  # more;  5 median  9 p99  & both",
        " 1.0 ms ++++++++++++++++++",
        "        ++++++++++++++++++",
        " 560 us                   ",
        "                          ",
        " 320 us                   ",
        "                          ",
        " 180 us                   ",
        "                          ",
        " 100 us                   ",
        "                          ",
        "  56 us                   ",
        "                          ",
        "  32 us ##&#####&#####&###",
        "        ##################",
        "        0 s            3 s",
        "IOPS of the last intervals: within 0.1 % of their mean",
        "",
        "",
        "space: pause  e: end it  q: leave it running  ?: help",
    ]


@pytest.mark.parametrize(("columns", "lines"), [(80, 24), (200, 60), (80, 10), (100, 3), (120, 40)])
def test_every_size_is_kept(columns: int, lines: int) -> None:
    state = feeds.folded(feeds.measurement(names=tuple(f"job {n}" for n in range(30)), seconds=300, steps=4))
    for number in range(40):
        state.add(
            {"event": "notice", "text": f"note {number} " * 20, "hint": "a remedy", "seq": 900 + number}
        )
    for chosen in (view(), view(selected=29), view(help=True), view(confirming=True)):
        text = drawn(state, chosen, columns=columns, lines=lines)
        assert len(text) <= lines
        assert all(len(line) <= columns for line in text), max(text, key=len)


def test_the_first_line_says_what_runs_where_and_what_is_left() -> None:
    state = feeds.folded(feeds.measurement(steps=3))
    assert drawn(state)[:2] == [
        "run of /dev/drive: step 1 of 3, 70 %",
        "[##########..............] 4 s in, 26 s left",
    ]
    assert drawn(State())[0] == "waiting for the measurement to begin"
    assert drawn(feeds.folded(feeds.measurement()[:1]))[0] == "run of /dev/drive: preparing"


def test_what_is_asked_for_is_beside_what_is_done() -> None:
    state = feeds.folded(feeds.measurement(names=("a", "b")))
    text = drawn(state, view(selected=1))
    assert (
        text[2:5]
        == [
            "jobs: 1 a  [2 b]  ",
            "       IOPS   rate set   MB/s     mean      p50      p99    p99.9   p99.99      max",
            "read  1,000  2,000 50%  4.096  40.0 us  35.0 us  1.10 ms  1.50 ms  1.70 ms  2.00 ms",
        ][:1]
        + text[3:5]
    )
    assert "2,000 50%" in text[4]
    assert ">2 b" in drawn(state, view(selected=1), columns=200, lines=60)[4]


def test_steadiness_drives_and_notices() -> None:
    state = feeds.folded(feeds.measurement())
    state.add(
        {
            "event": "steady",
            "row": 0,
            "name": "x",
            "attained": False,
            "criterion": 3.0,
            "limit": 2.0,
            "unit": "%",
        }
    )
    state.add(
        {"event": "drive", "path": "/dev/nvme0n1", "temperature_C": 71.6, "throttled": True, "hot": True}
    )
    state.add({"event": "notice", "seq": 30, "text": "a word", "hint": "a remedy"})
    text = drawn(state, lines=40)
    assert "not steady yet: 3 %, limit 2 %" in text
    assert "/dev/nvme0n1: 72 °C, hot, throttled (in 1 reading so far)" in text
    assert {"note: a word", "  hint: a remedy"} <= set(text)


def test_a_silent_feed_and_lost_events_are_said() -> None:
    state = feeds.folded(feeds.measurement())
    state.add({"event": "gap", "from": 9, "to": 10})
    text = drawn(state, now=130.0)
    assert text[1].endswith("no news for 27 s")
    assert "2 earlier events are missing: the feed had dropped them before they were read" in text


@pytest.mark.parametrize(
    ("end", "is_running", "first"),
    [
        ({"outcome": "done", "text": ""}, True, "run of /dev/drive: done in 5 s"),
        ({"outcome": "failed", "text": "EIO"}, True, "run of /dev/drive: failed after 5 s: EIO"),
        ({"outcome": "interrupted", "text": ""}, False, "run of /dev/drive: interrupted after 5 s"),
        (None, False, "run of /dev/drive: its process has ended without reporting an outcome"),
    ],
)
def test_how_it_ended(end: dict[str, str] | None, is_running: bool, first: str) -> None:
    state = feeds.folded(feeds.measurement())
    step_end = {
        "event": "step_end",
        "seq": 40,
        "at": 105.0,
        "label": "a",
        "complete": True,
        "text": "read 900 IOPS",
    }
    state.add(step_end)
    if end:
        state.add({"event": "end", "seq": 41, "at": 105.0, **end})
    assert drawn(state, is_running=is_running)[:2] == [first, "read 900 IOPS"]


def test_names_of_others_cannot_steer_the_terminal() -> None:
    hostile = "\x1b[2Jx\x9b1m\n\u202eevil"
    state = feeds.folded(feeds.measurement(names=(hostile, hostile), steps=3))
    for event in (
        {**feeds.measurement()[0], "title": hostile},
        {**feeds.measurement(steps=2)[1], "label": hostile},
        {"event": "notice", "seq": 80, "text": hostile, "hint": hostile},
        {"event": "drive", "path": hostile, "temperature_C": 1.0, "throttled": None, "hot": False},
        {"event": "step_end", "seq": 81, "at": 104.0, "label": hostile, "complete": True, "text": hostile},
        {"event": "end", "seq": 82, "at": 105.0, "outcome": "failed", "text": hostile},
    ):
        state.add(event)
        for size in ((80, 24), (200, 60)):
            assert all(line.isprintable() for line in drawn(state, columns=size[0], lines=size[1]))


def test_space_pauses_the_display_and_not_the_state() -> None:
    state, chosen = feeds.folded(feeds.measurement()), view()
    chosen.press(" ", state, 104.0)
    before = drawn(state, chosen)
    state.add({**feeds.interval(3, read=feeds.figures(9)), "seq": 50, "at": 150.0})
    assert drawn(state, chosen, now=150.0) == before
    assert before[-1].startswith("paused  space: continue the display")
    chosen.press(" ", state, 151.0)
    assert drawn(state, chosen, now=151.0) != before


def test_tab_and_digits_choose_the_job() -> None:
    state, chosen = feeds.folded(feeds.measurement(names=("a", "b", "c"))), view()
    choices = []
    for key in ("\t", "\t", "\t", "3", "9", "x"):
        chosen.press(key, state, 104.0)
        choices.append(chosen.selected)
    assert choices == [1, 2, 0, 2, 2, 2]


def test_the_end_is_asked_for_first() -> None:
    calls: list[str] = []
    state, chosen = feeds.folded(feeds.measurement()), view(interrupt=lambda: calls.append("end"))
    chosen.press("e", state, 104.0)
    assert drawn(state, chosen)[-1] == "end this measurement? y: end it; any other key: let it run"
    chosen.press("n", state, 104.0)
    assert calls == []
    for key in "ey":
        chosen.press(key, state, 104.0)
    assert calls == ["end"]
    assert drawn(state, chosen)[-1] == "ending: waiting for the requests in flight"


def test_a_measurement_that_cannot_be_ended_says_why() -> None:
    def refuse() -> None:
        raise IogaugeError("process 7: Operation not permitted")

    state, chosen = feeds.folded(feeds.measurement()), view(interrupt=refuse)
    for key in "ey":
        chosen.press(key, state, 104.0)
    assert drawn(state, chosen)[-1] == "process 7: Operation not permitted"


def test_help_explains_keys_and_heat_map() -> None:
    state, chosen = feeds.folded(feeds.measurement()), view()
    chosen.press("?", state, 104.0)
    text = "\n".join(drawn(state, chosen))
    assert "pause the display" in text
    assert "median" in text
    chosen.press("x", state, 104.0)
    assert not chosen.help


def test_plain_lines() -> None:
    said: list[str] = []
    lines, state = Lines(said.append), State()
    for event in feeds.measurement(names=("a", "b"), seconds=12):
        state.add(event)
        lines.update(state)
    state.add({"event": "notice", "seq": 70, "at": 112.0, "text": "a word", "hint": "a remedy"})
    state.add({"event": "step_end", "seq": 71, "at": 112.0, "label": "a", "complete": True, "text": "9 IOPS"})
    state.add({"event": "end", "seq": 72, "at": 112.0, "outcome": "done", "text": ""})
    lines.update(state)
    first, five, ten, *rest = said
    assert first == "run of /dev/drive, 0 s in, 10 s left"
    assert five == (
        "run of /dev/drive, 5 s in, 5 s left; a: read 1,000 IOPS p99 1.10 ms; b: read 1,000 IOPS p99 1.10 ms"
    )
    assert ten.startswith("run of /dev/drive, 10 s in")
    assert rest == ["a word", "hint: a remedy", "a: 9 IOPS", "run of /dev/drive: done in 12 s, 9 IOPS"]
