"""The screen of ``iogauge watch`` as lines of text: the answer first, then the figures, the heat map and the messages.

Nothing here knows a terminal. A line is a list of pieces, each a text and its style in rich's words. Names and messages
come from a file, so characters that a terminal could obey are replaced.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from iogauge.cli.terminal.progress_lines import bar_line
from iogauge.cli.watch import heat
from iogauge.cli.watch.clean import clean, fit
from iogauge.cli.watch.heat import Line
from iogauge.cli.watch.table import directions_table, jobs_line, jobs_table
from iogauge.cli.watch.view import KEYS, View
from iogauge.live.state import Row, State
from iogauge.text import numbers
from iogauge.text.grid import last_words

_SILENT_S = 10.0
"""After how long without any news the screen says so."""
_TALL = 40
"""From so many lines on, the rates are drawn, too."""
_RATE_LINES = 6
_AROUND_STRIP = 2
"""The lines of the heat map's legend and of its axis."""
_LEAST_BELOW = 3
"""What lies below the heat map keeps so many lines, even if the map could use them."""
_JOBS = 12
_OUTCOMES = ("done", "interrupted", "failed")


def screen(
    state: State,
    view: View,
    *,
    columns: int,
    lines: int,
    now: float,
    is_running: bool = True,
    blocks: bool = False,
) -> list[Line]:
    """Return at most ``lines`` lines of at most about ``columns``, the last of which says what the keys do.

    ``now``: Unix seconds. ``is_running``: the process that measures is there. ``blocks``: the terminal has Unicode.
    """
    if view.help:
        return _help()[:lines]
    if view.paused is not None:
        now = view.paused_at
    shown = view.shown(state)
    top = head(shown, columns=columns, now=now, is_running=is_running)
    rows = shown.running_rows
    view.selected = min(view.selected, max(len(rows) - 1, 0))
    row = rows[view.selected] if rows else None
    below = _below(shown, row, columns=columns, room=max(lines - 14, 1))
    foot = [_key_line(state, view)]
    room = lines - len(top) - len(foot)
    middle = _figures(rows, view.selected, columns=columns, room=room)
    room -= len(middle)
    intervals = list(row.intervals)[-heat.room(columns) :] if row else []
    wanted = heat.bands_used(intervals)
    kept = below[: max(room - wanted - _AROUND_STRIP, _LEAST_BELOW)]
    expected_s = shown.step["expected_s"] if shown.step else None
    width = heat.width_of(intervals, columns=columns, expected_s=expected_s)
    chart = _strip(intervals, columns=columns, lines=room - len(kept), width=width, blocks=blocks)
    if chart and lines >= _TALL:
        bars = heat.rates(intervals, lines=_RATE_LINES, width=width, blocks=blocks)
        chart = [[("IOPS", "dim")], *bars, *chart]
        kept = kept[: max(room - len(chart), 0)]
    filled = [*top, *middle, *chart, *kept]
    blank: list[Line] = [[] for _ in range(lines - len(filled) - len(foot))]
    return [*filled, *blank, *foot][:lines]


def head(state: State, *, columns: int, now: float, is_running: bool = True) -> list[Line]:
    """Return what runs where, which step of how many, and what is left: two lines."""
    if state.begin is None:
        return [[("waiting for the measurement to begin", "bold")]]
    title = clean(state.begin["title"])
    if (ended := _ending(state, is_running=is_running)) is not None:
        last = state.steps[-1]["text"] if len(state.steps) == 1 else _totals(state)
        return [[(fit(f"{title}: {ended}", columns), "bold")], [(fit(clean(last), columns), "")]]
    if state.step is None:
        return [[(fit(f"{title}: preparing", columns), "bold")], []]
    label = clean(state.step["label"])
    step = f": {place}" if (place := place_of(state)) else ""
    first = f"{title}{step}"
    if label not in title:
        room = columns - len(first) - 2
        first = f"{first}, {last_words(label, room)}" if room >= 8 else first
    texts = {"passed": f"{numbers.clock_time(now - state.step['at'])} in"}
    if state.virtual and state.simulated_s:
        texts["simulated"] = f"{numbers.clock_time(state.simulated_s)} simulated"
    if (left := state.left_s(now)) is not None:
        texts["left"] = f"{numbers.clock_time(left)} left{' at least' if state.step['more'] else ''}"
    share = state.share(now)
    second = ", ".join(texts.values()) if share is None else bar_line(share, texts, columns=columns)
    if now - state.at > _SILENT_S:
        second += f"; no news for {numbers.clock_time(now - state.at)}"
    return [[(fit(first, columns), "bold")], [(second.strip(), "")]]


def place_of(state: State) -> str:
    """Return which step of how many it is; empty: it is the only one."""
    step = state.step
    if step is None or (step["steps"] <= 1 and not step["more"] and not step["search"]):
        return ""
    if step["search"]:
        return "search"
    return f"step {step['number']} of {step['steps']}{' or more' if step['more'] else ''}"


def _ending(state: State, *, is_running: bool) -> str | None:
    """Return how it ended; None: it has not."""
    if state.end is not None:
        outcome = state.end["outcome"] if state.end["outcome"] in _OUTCOMES else "ended"
        began = state.begin["at"] if state.begin else state.end["at"]
        after = "in" if state.end["outcome"] == "done" else "after"
        text = clean(state.end["text"])
        return f"{outcome} {after} {numbers.clock_time(state.end['at'] - began)}{text and f': {text}'}"
    return None if is_running else "its process has ended without reporting an outcome"


def _totals(state: State) -> str:
    complete = sum(step["complete"] for step in state.steps)
    return f"{numbers.counted(complete, 'step')} complete" if state.steps else ""


def _figures(rows: list[Row], selected: int, *, columns: int, room: int) -> list[Line]:
    """Return the jobs, and the figures of the chosen one."""
    if not rows:
        return []
    table = directions_table(rows[selected], columns=columns)
    if len(rows) == 1:
        return table
    if room >= 40:
        return [*jobs_table(rows, selected, columns=columns, most=_JOBS), [], *table]
    return [jobs_line(rows, selected, columns=columns), *table]


def _strip(
    intervals: Sequence[Mapping[str, Any]], *, columns: int, lines: int, width: int, blocks: bool
) -> list[Line]:
    """Return the heat map of a job with its legend and its axis; nothing: there is no room or no data."""
    cells = heat.strip(intervals, lines=lines - _AROUND_STRIP, width=width, blocks=blocks)
    if not cells:
        return []
    legend = [(fit(heat.legend(blocks=blocks), columns), "dim")]
    return [legend, *cells, [(heat.axis(intervals, width=width), "dim")]]


def _below(state: State, row: Row | None, *, columns: int, room: int) -> list[Line]:
    """Return steadiness, drives, lost events, notices and finished steps, the most urgent first."""
    lines: list[Line] = []
    if row is not None and (text := steadiness(row)):
        lines.append([(fit(text, columns), "")])
    lines += [[(fit(text, columns), style)] for text, style in map(_drive, *_drives(state))]
    if state.lost:
        lines += [[(text, "yellow")] for text in _wrapped(_lost(state.lost), columns)]
    notices = list(state.notices)[::-1]
    with_hints = room > 12
    for notice in notices:
        label = "" if _labelled(notice["text"]) else "note: "
        lines += [[(text, "yellow")] for text in _wrapped(label + clean(notice["text"]), columns)]
        if with_hints and notice["hint"]:
            lines += [[(text, "dim")] for text in _wrapped(f"  hint: {clean(notice['hint'])}", columns)]
    steps = list(state.steps)[::-1]
    if len(steps) > 1 or (steps and not state.step_ended):
        lines.insert(min(len(lines), max(room // 2, 2)), [("finished steps, newest first:", "dim")])
        at = min(len(lines), max(room // 2, 2) + 1)
        lines[at:at] = [[(fit(_step_line(step), columns), "")] for step in steps[: max(room // 2 - 1, 1)]]
    return lines


def _lost(events: int) -> str:
    """Return how many events were removed from the feed before they were read.

    >>> _lost(1)
    '1 earlier event is missing: the feed had dropped it before it was read'
    """
    missing, dropped, read = ("is", "it", "it was") if events == 1 else ("are", "them", "they were")
    return (
        f"{numbers.counted(events, 'earlier event')} {missing} missing: "
        f"the feed had dropped {dropped} before {read} read"
    )


def _drives(state: State) -> tuple[list[Mapping[str, Any]], list[int]]:
    return list(state.drives.values()), [state.throttled.get(path, 0) for path in state.drives]


def _drive(event: Mapping[str, Any], times: int) -> tuple[str, str]:
    """Return what a drive reports, and the style of the line."""
    temperature_C = event["temperature_C"]
    parts = [] if temperature_C is None else [f"{temperature_C:.0f} °C"]
    if event.get("hot"):
        parts.append("hot")
    if event["throttled"] is not None:
        throttled = "throttled" if event["throttled"] else "not throttled now"
        parts.append(throttled + (f" (in {numbers.counted(times, 'reading')} so far)" if times else ""))
    urgent = event["throttled"] or event.get("hot")
    return f"{clean(event['path'])}: {', '.join(parts) or 'reports no temperature'}", (
        "bold red" if urgent else ""
    )


def steadiness(row: Row) -> str:
    """Return whether a row is steady, or how far its rate varied lately; empty: unknown.

    >>> from collections import deque
    >>> event = {"attained": False, "criterion": 4.13, "limit": 2.0, "unit": "%"}
    >>> steadiness(Row(0, 0, "x", {}, deque(), steady=event))
    'not steady yet: 4.13 %, limit 2 %'
    """
    if (event := row.steady) is not None:
        unit = event.get("unit", "")
        if event["attained"]:
            return f"steady: {abs(event['criterion']):.3g} {unit} is below the limit of {event['limit']:g} {unit}"
        return f"not steady yet: {abs(event['criterion']):.3g} {unit}, limit {event['limit']:g} {unit}"
    spread = row.spread()
    return (
        ""
        if spread is None
        else f"IOPS of the last intervals: within {numbers.percent(max(spread, 0.001), 2)} of their mean"
    )


def _step_line(step: Mapping[str, Any]) -> str:
    number = f"{step['number']}. " if step["number"] else ""
    text = clean(step["text"])
    ended = "" if step["complete"] else ": interrupted"
    return f"{number}{clean(step['label'])}{ended}{f': {text}' if text else ''}"


def _key_line(state: State, view: View) -> Line:
    if view.confirming:
        return [("end this measurement? y: end it; any other key: let it run", "bold reverse")]
    if view.message:
        return [(clean(view.message), "bold")]
    if not view.has_keys:
        return [("the measurement goes on if this display is closed", "dim")]
    texts = ["space: pause", "tab: next job", "e: end it", "q: leave it running", "?: help"]
    if view.paused:
        texts = ["space: continue the display", *texts[1:2], "q: leave it running", "?: help"]
    if len(view.shown(state).running_rows) < 2:
        texts.remove("tab: next job")
    paused = [("paused", "bold reverse"), ("  ", "")] if view.paused else []
    return [*paused, ("  ".join(texts), "dim")]


def _help() -> list[Line]:
    keys: list[Line] = [[(f"{key:>10}  ", "bold"), (meaning, "")] for key, meaning in KEYS]
    return [
        [("iogauge watch", "bold")],
        [],
        *keys,
        [],
        [("Each column of the heat map is an interval, each line a band of latencies (lat),", "")],
        [("each character the share of the interval's requests in that band. 5 marks the", "")],
        [("band of the median, 9 that of p99, & both. r below it marks the ramp, which is", "")],
        [("not measured. A drive is hot from the temperature at which it warns.", "")],
        [],
        [("Any key goes back.", "dim")],
    ]


def _wrapped(text: str, columns: int) -> list[str]:
    return textwrap.wrap(text, columns, subsequent_indent="  ", drop_whitespace=True) or [""]


def _labelled(text: str) -> bool:
    return text.startswith(("warning: ", "error: ", "note: ", "hint: ", "failed: "))
