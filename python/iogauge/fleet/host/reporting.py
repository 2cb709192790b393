"""Reports the progress of a host's review: as events to its controller, and in the feed of its own computer."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from iogauge.fleet.host.messages import EventKind, HostEvent, PlannedStep
from iogauge.library.progress import Progress, Reporter
from iogauge.live.wording import moved
from iogauge.results.position import name_of
from iogauge.reviews.ahead import expected_s
from iogauge.reviews.ordering import in_order
from iogauge.schema import Interval, Manifest, RunPlan, RunRecord, StepPlan, SuitePlan

if TYPE_CHECKING:
    from iogauge.live.feed import Feed
    from iogauge.store import Review

_EVERY_S = 1.0
"""How often progress is sent: virtual time brings thousands of intervals a second."""


class Reporting(Reporter):
    """Sends what happens in a review, and publishes it; a watcher of ``reviews.runner``.

    ``send`` is called by any thread.
    """

    def __init__(self, send: Callable[[HostEvent], None]) -> None:
        super().__init__(self._progress)
        self._send = send
        self._review: Review | None = None
        self._feed: Feed | None = None
        self._planned: tuple[str, ...] = ()
        self._step_id = ""
        """Id of the step that has begun and not ended; empty: none has."""
        self._shown_at = 0.0

    def event(self, kind: EventKind, **fields: Any) -> None:
        """Send an event."""
        at_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self._send(HostEvent(kind=kind, at_ns=at_ns, **fields))

    def reviewed(self, review: Review) -> None:
        """Send the plan of the review, and watch it from now on."""
        self._review = review
        self._plan(review.manifest)

    def publish(self, feed: Feed) -> None:
        """Publish the review in an open feed from now on."""
        self._feed = feed

    def begins(self, step: StepPlan) -> None:
        """Note that a step is prepared. Call it for every step, in its turn."""
        self._step_id = step.id
        if self._review is not None and step.id not in self._planned:
            self._plan(self._review.manifest)

    def step(
        self,
        label: str,
        *,
        expected_s: float | None,
        ahead: int,
        ahead_s: float,
        search: bool = False,
        more: bool = False,
    ) -> None:
        """Report that a step begins; the arguments are those of ``reviews.runner.Watcher``."""
        self.step_ended()
        if self._feed is not None:
            self._feed.step(
                label, expected_s=expected_s, ahead=ahead, ahead_s=ahead_s, search=search, more=more
            )
        super().step(label, expected_s=expected_s, ahead=ahead, ahead_s=ahead_s, search=search, more=more)

    def started(self, plan: RunPlan) -> None:
        """Publish the rows of a step."""
        if self._feed is not None:
            self._feed.started(plan)

    def interval(self, interval: Interval) -> None:
        """Report the latest interval of a row."""
        if self._feed is not None:
            self._feed.interval(interval)
        super().interval(interval)

    def message(self, text: str) -> None:
        """Report a message. Threads may, too, before the review is published."""
        if self._feed is not None:
            self._feed.message(text)
        super().message(text)

    def ended(self, plan: SuitePlan, record: RunRecord) -> None:
        """Send when a step started and what it measured; it is saved."""
        if self._feed is not None:
            self._feed.ended(plan, record)
        super().ended(plan, record)
        result = record.result
        # Drive models issue no request in real time.
        achieved_ns = result.started_ns if result.first_issued_ns is None else result.first_issued_ns
        self.event("started", step=self._step_id, achieved_ns=achieved_ns)
        rows = [row for row in result.rows if row.name == plan.measured_job]
        text = "; ".join(moved(row.tallies, row.end_ns - row.start_ns, plan.kind) for row in rows)
        self.event("step_end", step=self._step_id, complete=True, text=text)
        self._step_id = ""

    def step_ended(self) -> None:
        """Send that the step that began last did not complete, unless it did."""
        if self._step_id:
            self.event("step_end", step=self._step_id, complete=False)
        self._step_id = ""

    def _plan(self, manifest: Manifest) -> None:
        complete = set(self._review.completed()) if self._review is not None else set()
        steps = tuple(
            PlannedStep(
                id=step.id,
                label=f"{plan.title}, {name_of(step, plan.axis, repeat=True)}",
                expected_s=expected_s(step),
                complete=step.id in complete,
            )
            for plan, steps in in_order(manifest)
            for step in steps
        )
        self._planned = tuple(step.id for step in steps)
        self.event("planned", steps=steps)

    def _progress(self, progress: Progress) -> None:
        if progress.event == "message":
            text, _, hint = progress.message.partition("\nhint: ")
            self.event("notice", text=text, hint=hint)
        elif progress.event == "begin" or (
            progress.event == "interval" and time.monotonic() - self._shown_at >= _EVERY_S
        ):
            self._shown_at = time.monotonic()
            self.event("progress", step=self._step_id, text=str(progress))
