"""``--status-interval``: the results so far, printed while a run lasts, each time for all of it up to then.

A report is due when a stage has lasted a multiple of the time. It comes once every row has handed out its intervals
up to that instant, or a later one has arrived, since a row that ended early hands out no more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iogauge.report.so_far import SoFar
    from iogauge.schema import Interval, RunPlan, RunRecord


class StatusReports:
    """Calls ``show`` with the run so far, ``every_ns`` of each stage."""

    def __init__(
        self, plan: RunPlan, so_far: SoFar, *, every_ns: int, show: Callable[[RunRecord], None]
    ) -> None:
        self._rows = [{worker.row for worker in stage.workers} for stage in plan.stages]
        self._so_far = so_far
        self._every_ns = every_ns
        self._show = show
        self._stage = 0
        self._due_ns = every_ns
        self._reached_ns: dict[int, int] = {}

    def interval(self, interval: Interval) -> None:
        """Take one interval of one row, and show what is due before or with it."""
        if interval.stage != self._stage:
            self._stage, self._due_ns, self._reached_ns = interval.stage, self._every_ns, {}
        if interval.start_ns >= self._due_ns:
            self._report(interval.start_ns)
        self._so_far.add(interval)
        self._reached_ns[interval.row] = interval.end_ns
        slowest_ns = min(self._reached_ns.get(row, 0) for row in self._rows[interval.stage])
        if slowest_ns >= self._due_ns:
            self._report(slowest_ns)

    def _report(self, now_ns: int) -> None:
        self._due_ns = (now_ns // self._every_ns + 1) * self._every_ns
        self._show(self._so_far.record())
