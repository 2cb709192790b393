"""``--status-interval``: print the results so far, from the beginning of the run.

A report is due when a stage has lasted a multiple of the time. It is printed when every row has an interval that ends
then or later, or when a later interval arrives: a row that has ended has no more intervals.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iogauge.report.run.so_far import SoFar
    from iogauge.schema import Interval, RunPlan, RunRecord


class StatusReports:
    """Calls ``show`` with the results so far, every ``every_ns`` of each stage."""

    def __init__(
        self, plan: RunPlan, so_far: SoFar, *, every_ns: int, show: Callable[[RunRecord], None]
    ) -> None:
        self._rows = [{worker.row for worker in stage.workers} for stage in plan.stages]
        self._so_far = so_far
        self._every_ns = every_ns
        self._show = show
        self._begin(stage=0)

    def interval(self, interval: Interval) -> None:
        """Take one interval of one row, and print the report that is due before or with it."""
        if interval.stage != self._stage:
            self._begin(interval.stage)
        if interval.start_ns >= self._due_ns:
            self._report(interval.start_ns)
        self._so_far.add(interval)
        self._reached_ns[interval.row] = interval.end_ns
        if interval.end_ns >= self._due_ns:
            self._behind.discard(interval.row)
            if not self._behind:
                self._report(min(self._reached_ns.values()))

    def _begin(self, stage: int) -> None:
        self._stage = stage
        self._due_ns = self._every_ns
        self._reached_ns = dict.fromkeys(self._rows[stage], 0)
        # The rows whose intervals have not reached the due time.
        self._behind = set(self._reached_ns)

    def _report(self, now_ns: int) -> None:
        self._due_ns = (now_ns // self._every_ns + 1) * self._every_ns
        self._behind = {row for row, reached_ns in self._reached_ns.items() if reached_ns < self._due_ns}
        self._show(self._so_far.record())
