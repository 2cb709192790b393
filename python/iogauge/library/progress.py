"""The progress of a run, a review, a report or a fit, for a callback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from iogauge.text import numbers

if TYPE_CHECKING:
    from iogauge.schema import Interval, RunPlan, RunRecord, SuitePlan, TargetFacts


@dataclass(frozen=True, kw_only=True)
class Progress:
    """One piece of news of a run, a review, a report or a fit; ``str()`` is its line of text.

    Examples:
        >>> print(Progress(event="begin", step="writes, 400 MB/s", number=3, steps=18, expected_s=12.0))
        [3/18] writes, 400 MB/s, about 12 s
    """

    event: Literal["begin", "interval", "end", "part", "trial", "message"]
    """A step begins, measured for another interval, or ended; a part of a report is done; a fit tried its model again;
    or there is a message.
    """
    step: str = ""
    """What the step is called; a run is one step."""
    number: int = 1
    """Which step it is, from 1; how many parts of a report, or trials of a fit, are done."""
    steps: int = 1
    """How many steps or parts there are, as far as is known; some steps follow from others. 1 of a search."""
    expected_s: float | None = None
    """How long the step takes, virtual time on a drive model; None if it has no time limit."""
    elapsed_s: float = 0.0
    """How much of that time has passed."""
    interval: Interval | None = None
    """The latest interval of one row."""
    rms: float = 0.0
    """The least error of a fit so far: root mean square, in units of the limits."""
    message: str = ""

    def __str__(self) -> str:
        if self.event == "message":
            return self.message
        if self.event == "trial":
            return f"{numbers.counted(self.number, 'trial')}, errors {self.rms:.2f} of their limits"
        if self.event == "part":
            return f"{self.step}: {self.number} of {self.steps}"
        place = f"[{self.number}/{self.steps}] " if self.steps > 1 else ""
        about = f", about {numbers.clock_time(self.expected_s)}" if self.expected_s else ""
        if self.event == "begin":
            return f"{place}{self.step}{about}"
        if self.interval is None:
            return f"{place}{self.step}: done"
        from iogauge.live.wording import described

        return f"{place}{self.step}: {numbers.clock_time(self.elapsed_s)} in, {described(self.interval)}"


OnProgress = Callable[[Progress], None]
"""Is called with each piece of news; ``print`` is one. An exception that it raises ends the run."""


class Reporter:
    """Reports a review to a callback; a watcher of ``reviews.runner``."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress
        self._step = Progress(event="begin")
        self._number = 0

    def step(
        self,
        label: str,
        *,
        expected_s: float | None,
        ahead: int,
        ahead_s: float,  # noqa: ARG002
        search: bool = False,
        more: bool = False,  # noqa: ARG002
    ) -> None:
        """Report that the next step begins; ``ahead`` others follow it. A search is not counted."""
        self._number += not search
        number = 1 if search else self._number
        steps = 1 if search else number + ahead
        self._step = Progress(event="begin", step=label, number=number, steps=steps, expected_s=expected_s)
        self._on_progress(self._step)

    def started(self, plan: RunPlan) -> None:
        """Do nothing: ``step`` has reported the beginning."""

    def interval(self, interval: Interval) -> None:
        """Report the latest interval of a row."""
        self._on_progress(_later(self._step, "interval", interval))

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:  # noqa: ARG002
        """Report that a step has ended and is saved."""
        self._on_progress(_later(self._step, "end"))

    def message(self, text: str) -> None:
        """Report a message."""
        self._on_progress(Progress(event="message", message=text))


class RunReporter:
    """Reports one run to a callback."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress
        self._step = Progress(event="begin")

    def started(self, plan: RunPlan, targets: tuple[TargetFacts, ...]) -> None:
        """Report the beginning: the targets are open, and nothing has been issued yet."""
        where = ", ".join(dict.fromkeys(facts.path for facts in targets)) or "null"
        self._step = Progress(event="begin", step=where, expected_s=expected_s(plan))
        self._on_progress(self._step)

    def interval(self, interval: Interval) -> None:
        """Report the latest interval of a row."""
        self._on_progress(_later(self._step, "interval", interval))

    def ended(self) -> None:
        """Report the end of the run."""
        self._on_progress(_later(self._step, "end"))

    def message(self, text: str) -> None:
        """Report a message."""
        self._on_progress(Progress(event="message", message=text))


def _later(step: Progress, event: Literal["interval", "end"], interval: Interval | None = None) -> Progress:
    return Progress(
        event=event,
        step=step.step,
        number=step.number,
        steps=step.steps,
        expected_s=step.expected_s,
        elapsed_s=interval.end_ns / 1e9 if interval else step.expected_s or 0.0,
        interval=interval,
    )


def expected_s(plan: RunPlan) -> float | None:
    """Return how long a run takes; None if a stage has no time limit."""
    total_ns = 0
    for stage in plan.stages:
        if not all(worker.runtime_ns for worker in stage.workers):
            return None
        ends_ns: list[int] = []
        for worker in stage.workers:
            begins_ns = max([worker.start_delay_ns, *(ends_ns[other] for other in worker.waits_for)])
            ends_ns.append(begins_ns + worker.ramp_ns + worker.runtime_ns)
        total_ns += max(ends_ns)
    return total_ns / 1e9
