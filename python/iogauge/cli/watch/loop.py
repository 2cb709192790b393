"""Follows a feed and shows it: on a screen, or as lines where there is none."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from iogauge.cli.watch.plain import Lines
from iogauge.cli.watch.screen import screen
from iogauge.cli.watch.terminal import Screen, Terminal
from iogauge.cli.watch.view import View
from iogauge.live.finding import FeedInfo
from iogauge.live.reader import Reader
from iogauge.live.state import State

LOOK_S = 0.2
"""How often the feed is looked at."""
_DRAW_S = 1.0
"""The longest time between two drawings: the clock goes on though nothing happens."""


class Follower:
    """A feed, and the state that its events add up to."""

    def __init__(self, info: FeedInfo) -> None:
        self.info = info
        self.state = State()
        self.is_over = False
        self._reader: Reader = info.reader()

    def look(self) -> bool:
        """Take all events that have come; return whether there was any. Sets ``is_over`` after the last one."""
        is_running = self._reader.is_running  # Before the events are read: after that, no more can come.
        any_news = False
        while events := self._reader.read(self.state.seq):
            any_news = True
            for event in events:
                self.state.add(event)
        self.is_over = self.state.end is not None or not is_running
        return any_news


def show_screen(
    info: FeedInfo,
    stream: TextIO,
    keys: Terminal | None,
    *,
    wait_for_step: bool = False,
    clock: Callable[[], float] = time.time,
) -> None:
    """Show a measurement on the alternate screen until it ends or the user leaves, then print the last screen.

    ``wait_for_step``: do not take the screen before a step begins, since errors are printed until then.
    """
    follower = Follower(info)
    while wait_for_step and follower.state.step is None:
        follower.look()
        if follower.is_over:
            return
        time.sleep(LOOK_S)
    view = View(info.interrupt)
    with Screen(stream, keys) as terminal:
        drawn_s = 0.0
        view.has_keys = terminal.keys.are_there
        size = terminal.size
        pressed: list[str] = []
        while not view.leaving:
            news = follower.look()
            if follower.is_over:
                view.paused, view.help, view.confirming = None, False, False
            now = clock()
            for key in pressed:
                view.press(key, follower.state, now)
            if news or pressed or follower.is_over or terminal.size != size or now - drawn_s >= _DRAW_S:
                size, drawn_s = terminal.size, now
                lines = _lines(follower, view, size, now, blocks=terminal.blocks)
                terminal.draw(lines)
            if follower.is_over:
                break
            pressed = terminal.keys.read(LOOK_S)
        lines = _lines(follower, view, size, clock(), blocks=terminal.blocks)
    left = [] if follower.is_over else [f"the measurement goes on: 'iogauge watch {info.pid}' shows it again"]
    texts = ["".join(text for text, _ in line).rstrip() for line in lines[:-1]]
    while texts and not texts[-1]:
        texts.pop()
    stream.write("\n".join([*texts, *left]) + "\n")
    stream.flush()


def show_lines(info: FeedInfo, say: Callable[[str], None]) -> None:
    """Show a measurement as lines until it ends. ``say`` prints one."""
    follower, lines = Follower(info), Lines(say)
    while True:
        follower.look()
        lines.update(follower.state, is_running=not follower.is_over or follower.state.end is not None)
        if follower.is_over:
            return
        time.sleep(LOOK_S)


def _lines(
    follower: Follower, view: View, size: tuple[int, int], now: float, *, blocks: bool
) -> list[list[tuple[str, str]]]:
    return screen(
        follower.state,
        view,
        columns=size[0],
        lines=size[1],
        now=now,
        is_running=not follower.is_over,
        blocks=blocks,
    )
