"""The progress of a run or a review, on stderr: a live display on a terminal, plain lines otherwise.

A thread draws the display once a second, not when data arrives, so that its cost does not depend on the speed of the
drive. Every finished step leaves a line with its judged rows; on a terminal it stands above the display and fits its
width. Plain lines also come at most every five seconds during a step. A single step has a line at its beginning
instead, because its result follows. Only the last interval of each row is kept.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, TextIO

from iogauge.cli.terminal.progress_lines import Figures, bar_line, fitted
from iogauge.live.wording import described, moved
from iogauge.text import numbers
from iogauge.text.grid import last_words

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

    from iogauge.schema import Interval, RunPlan, RunRecord, SuitePlan

EVERY_S = 5.0
"""The shortest time between plain lines."""
ROWS = 8
"""The most rows shown; the others are counted."""


class Progress(AbstractContextManager["Progress"]):
    """Shows the progress of ``steps`` steps of ``title``, and the drive's temperature if ``temperature_C`` returns one.

    ``plain``: lines even on a terminal; None: a display on a terminal. ``quiet``: messages only. ``every_s``: the time
    between drawings of the display, or the shortest between lines; None: one second, and five. If it is infinite, there
    are no lines about a step before its end.

    ``virtual``: the steps run on drive models. Then the virtual time that has passed is shown, and the rest of a step
    is estimated from it.

    Not thread-safe, except for the drawing thread, which only reads.
    """

    def __init__(
        self,
        *,
        title: str,
        steps: int = 1,
        virtual: bool = False,
        temperature_C: Callable[[], float | None] = lambda: None,
        plain: bool | None = None,
        quiet: bool = False,
        every_s: float | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._title = title
        self._steps = steps
        self._virtual = virtual
        self._temperature_C = temperature_C
        self._stream = sys.stderr if stream is None else stream
        self._plain = quiet or (not self._stream.isatty() if plain is None else plain)
        self._quiet = quiet
        self._drawn_every_s, self._said_every_s = every_s or 1.0, every_s or EVERY_S
        self._clock = clock
        self._step_began = self._said = clock()
        self._done = 0
        self._search = self._more = False
        self._label: str | None = None
        self._expected_s: float | None = None
        self._ahead_s: float | None = None
        self._spent_s = self._spent_expected_s = 0.0
        self._names: dict[tuple[int, int], str] = {}
        self._latest: dict[tuple[int, int], Interval] = {}
        self._passed_ns: dict[int, int] = {}
        self._noted: str | None = None
        self._measured: Figures | None = None
        self._live: Live | None = None

    def __enter__(self) -> Progress:
        if not self._plain:
            from rich.live import Live

            self._live = Live(
                get_renderable=self._drawn,
                console=self._console(),
                refresh_per_second=1 / self._drawn_every_s,
                transient=True,
                # Results on stdout belong to the display only if stdout is the terminal too.
                redirect_stdout=sys.stdout.isatty(),
            )
            self._live.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._finish_step(complete=kind is None)
        if self._live:
            self._live.stop()

    def step(
        self,
        label: str,
        *,
        expected_s: float | None,
        ahead: int | None = None,
        ahead_s: float | None = None,
        search: bool = False,
        more: bool = False,
    ) -> None:
        """End the current step and begin the next.

        ``expected_s``: how long it should take, in virtual time if the steps are virtual; None if unknown. ``ahead``:
        the number of steps that follow, if it has changed. ``ahead_s``: how long these should take. ``search``: it is
        a search, which is not counted. ``more``: further steps can follow from results.
        """
        self._finish_step(complete=True)
        self._label, self._expected_s, self._search, self._more = label, expected_s, search, more
        if ahead is not None:
            self._steps = self._done + ahead + (not search)
        self._ahead_s = ahead_s
        self._step_began = self._said = self._clock()
        self._latest, self._names, self._passed_ns, self._noted, self._measured = {}, {}, {}, None, None
        if self._plain and self._alone and math.isfinite(self._said_every_s):
            shown_s = expected_s if not self._virtual else None
            self._line(f"{label}, about {numbers.clock_time(shown_s)}" if shown_s else label)
        self._redraw()

    def started(self, plan: RunPlan) -> None:
        """Take the names of the rows from the plan of a run."""
        for number, stage in enumerate(plan.stages):
            for worker in stage.workers:
                self._names.setdefault((number, worker.row), worker.name)

    def interval(self, interval: Interval) -> None:
        """Take the latest interval of a row."""
        self._passed_ns[interval.stage] = max(self._passed_ns.get(interval.stage, 0), interval.end_ns)
        if self._latest and next(iter(self._latest))[0] < interval.stage:
            self._latest = {}  # Rows of earlier stages have ended.
        self._latest[interval.stage, interval.row] = interval
        if self._plain and self._clock() - self._said >= self._said_every_s:
            self._said = self._clock()
            state, rows = ", ".join(self._state().values()), "; ".join(self._rows())
            self._line(f"{self._place()}{self._label}: {state}; {rows}")

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:
        """Take the record of a step's run; the line at its end shows its judged rows."""
        judged = [row for row in record.result.rows if row.name == plan.measured_job]

        def figures(without: Collection[str]) -> list[str]:
            return [
                moved(row.tallies, row.end_ns - row.start_ns, plan.kind, without=without) for row in judged
            ]

        self._measured = figures if judged else None

    def trial(self, done: int, rms: float) -> None:
        """Take the progress of a fit: trials done, and the least RMS of the errors in units of their limits."""
        self._note(f"{numbers.counted(done, 'trial')}, errors {rms:.2f} of their limits")

    def counted(self, done: int, of: int) -> None:
        """Take the number of parts of a step that are done."""
        self._note(f"{done:,} of {of:,}")

    def share(self, done: float) -> None:
        """Take the share of a step that is done, from 0 to 1."""
        self._note(f"{done:.0%}")

    def _note(self, text: str) -> None:
        self._noted = text
        if self._plain and self._clock() - self._said >= self._said_every_s:
            self._said = self._clock()
            self._line(f"{self._place()}{self._label}: {', '.join(self._state().values())}; {text}")

    def message(self, text: str) -> None:
        """Print a line that stays above the display."""
        if self._live:
            self._live.console.print(text, markup=False, highlight=False, soft_wrap=True)
        else:
            self._write(text)

    def _finish_step(self, *, complete: bool) -> None:
        if self._label is None:
            return
        took_s = self._clock() - self._step_began
        place, label, alone = self._place(), self._label, self._alone
        self._label = None
        self._redraw()  # Else the line would stand above the display of the step that has ended.
        if complete and not self._search:
            self._done += 1
            self._spent_s += took_s
            self._spent_expected_s += self._expected_s or 0.0
        if not (complete and alone):
            # Steps on drive models run at once, and one may have run before the display comes to it.
            took = "" if self._virtual else numbers.clock_time(took_s)
            self._line(self._ending(place, label, took, complete=complete))

    def _redraw(self) -> None:
        if self._live:
            self._live.refresh()

    def _ending(self, place: str, label: str, took: str, *, complete: bool) -> str:
        """Return the line that a step leaves; on a terminal it fits in one line."""
        if complete and self._measured:
            return fitted(place, label, self._measured, took=took and f"took {took}", columns=self._columns())
        ended = f": {'done' if complete else 'stopped'}"
        if took:
            ended += f" {'in' if complete else 'after'} {took}"
        return f"{place}{last_words(label, self._columns() - len(place) - len(ended))}{ended}"

    def _columns(self) -> int:
        """Return the width of the terminal now; plain lines have no limit."""
        return self._live.console.width if self._live else sys.maxsize

    def _line(self, line: str) -> None:
        if self._live:
            self._live.console.print(line, markup=False, highlight=False, soft_wrap=True)
        elif not self._quiet:
            self._write(line)

    def _write(self, line: str) -> None:
        with contextlib.suppress(OSError):  # A line of progress is not worth an error.
            print(line, file=self._stream, flush=True)

    @property
    def _alone(self) -> bool:
        return self._steps == 1 and not self._more

    def _place(self) -> str:
        """Return the number of the step, and of all steps as far as they are known; a search has none."""
        if self._search or self._alone:
            return ""
        number, more = self._done + 1, "+" if self._more else ""
        return f"[{number}/{self._steps}{more}] " if self._steps > number or not more else f"[{number}] "

    def _left_s(self) -> float | None:
        """Return the estimated seconds to the end; None if unknown.

        The current step takes as long as expected. Later steps exceed their expected time as much as the finished ones
        did; if their expected time is unknown, they take as long as the finished ones on average.
        """
        expected = self._expected_here_s()
        average = self._spent_s / self._done if self._done else expected
        here = average if expected is None else expected
        if self._label is None or average is None or here is None:
            return None
        here_left = max(here - (self._clock() - self._step_began), 0.0)
        if self._ahead_s is not None and (self._spent_expected_s or not self._virtual):
            slower = self._spent_s / self._spent_expected_s if self._spent_expected_s else 1.0
            return here_left + self._ahead_s * slower
        return here_left + max(self._steps - self._done - 1, 0) * average

    def _expected_here_s(self) -> float | None:
        """Return the real time that the current step takes; None if unknown."""
        if not self._virtual or not self._expected_s:
            return self._expected_s
        share = self._simulated_s() / self._expected_s
        return (self._clock() - self._step_began) / share if share else None

    def _simulated_s(self) -> float:
        """Return the virtual time that has passed in this step, at most what it should take."""
        passed_s = sum(self._passed_ns.values()) / 1e9
        return min(passed_s, self._expected_s) if self._expected_s else passed_s

    def _state(self) -> dict[str, str]:
        """Return how far the step is: texts, by the keys that ``bar_line`` takes."""
        parts = {"passed": f"{numbers.clock_time(self._clock() - self._step_began)} in"}
        if self._virtual and self._passed_ns:
            of = f" of {numbers.clock_time(self._expected_s)}" if self._expected_s else ""
            parts["simulated"] = f"{numbers.clock_time(self._simulated_s())}{of} simulated"
        if (left := self._left_s()) is not None:
            parts["left"] = f"{numbers.clock_time(left)} left"
        if (warm := self._temperature_C()) is not None:
            parts["warm"] = f"{warm:.0f} °C"
        return parts

    def _rows(self, columns: int = sys.maxsize) -> list[str]:
        """Return a line of at most ``columns`` for each row."""
        latest = sorted(self._latest.items())
        lines = [self._noted] if self._noted else []
        for place, last in latest[:ROWS]:
            lines.append(_row(self._names.get(place, f"row {place[1]}"), last, columns))
        if len(latest) > ROWS:
            lines.append(f"and {numbers.counted(len(latest) - ROWS, 'row')} more")
        return lines

    def _share(self) -> float:
        """Return the share of the work that is done, from 0 to 1."""
        here = 0.0
        if self._label is not None and self._expected_s:
            passed = self._simulated_s() if self._virtual else self._clock() - self._step_began
            here = min(passed / self._expected_s, 1.0)
        return min((self._done + here) / max(self._steps, 1), 1.0)

    def _drawn(self) -> RenderableType:
        from rich.text import Text

        if self._label is None:
            return Text("")
        columns = self._columns()
        place = self._place()
        step = f"{place}{last_words(self._label, columns - len(place))}"
        title = f"{self._title} {step}"
        lines = [
            title if len(title) <= columns else step,
            bar_line(self._share(), self._state(), columns=columns),
            *(f"  {row}" for row in self._rows(columns - 2)),
        ]
        return Text("\n".join(lines), no_wrap=True, overflow="ellipsis")

    def _console(self) -> Console:
        from rich.console import Console

        return Console(file=self._stream)


def _row(name: str, last: Interval, columns: int) -> str:
    return fitted("", name, lambda without: [described(last, without=without)], columns=columns)
