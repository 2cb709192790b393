"""What the user of the screen has chosen, and what the keys do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from iogauge.errors import IogaugeError
from iogauge.live.state import State

KEYS = (
    ("space", "pause the display; the measurement goes on"),
    ("tab, 1-9", "show the next job, or the job with this number"),
    ("e", "end the measurement gracefully, as Ctrl-C does; asks first"),
    ("q", "leave; the measurement goes on"),
    ("?", "show or hide this help"),
)


@dataclass
class View:
    """The choices of one user. ``interrupt`` ends the measurement, and raises IogaugeError if it cannot."""

    interrupt: Callable[[], None]
    has_keys: bool = True
    selected: int = 0
    """The job that is shown, among those of the running stage."""
    paused: State | None = None
    """The state that is shown while the display is paused."""
    paused_at: float = 0.0
    confirming: bool = False
    help: bool = False
    leaving: bool = False
    message: str = field(default="")

    def press(self, key: str, state: State, now: float) -> None:
        """Do what a key means. Unknown keys do nothing."""
        self.message = ""
        if self.confirming:
            self.confirming = False
            if key in ("y", "Y"):
                self._end()
            return
        if self.help and key != "q":
            self.help = False
            return
        rows = len(self.shown(state).running_rows)
        if key == " ":
            self.paused, self.paused_at = (None if self.paused else state.copy()), now
        elif key == "\t":
            self.selected = (self.selected + 1) % max(rows, 1)
        elif key in "123456789" and int(key) <= rows:
            self.selected = int(key) - 1
        elif key in ("e", "E") and state.end is None:
            self.confirming = True
        elif key in ("q", "Q"):
            self.leaving = True
        elif key == "?":
            self.help = True

    def shown(self, state: State) -> State:
        """Return the state to draw: the present one, or that of the pause."""
        return state if self.paused is None else self.paused

    def _end(self) -> None:
        try:
            self.interrupt()
            self.message = "ending: waiting for the requests in flight"
        except IogaugeError as error:
            self.message = str(error)
