"""The parts of ``iogauge run`` that take its intervals while it lasts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iogauge.cli.run.status_reports import StatusReports
    from iogauge.cli.watch.measuring import Measuring
    from iogauge.report.run.diskspd_rates import DiskspdRates
    from iogauge.report.run.interval_stats import IntervalStats
    from iogauge.schema import Interval, RunPlan, TargetFacts


@dataclass
class Listeners:
    """Passes the intervals of a run to progress, statistics and status reports."""

    measuring: Measuring
    stats: IntervalStats
    rates: DiskspdRates
    make_reports: Callable[[RunPlan, tuple[TargetFacts, ...]], StatusReports] | None = None
    reports: StatusReports | None = None
    targets: tuple[TargetFacts, ...] = field(default=())

    def started(self, plan: RunPlan, targets: tuple[TargetFacts, ...]) -> None:
        """Begin: the plan is made and the targets are open; nothing is issued yet."""
        from iogauge.library.progress import expected_s

        self.targets = targets
        self.reports = self.make_reports(plan, targets) if self.make_reports else None
        where = ", ".join(dict.fromkeys(facts.path for facts in targets)) or "null"
        self.measuring.step(where, expected_s=expected_s(plan))
        self.measuring.started(plan)

    def interval(self, interval: Interval) -> None:
        """Take one interval of one row."""
        self.stats.add(interval)
        self.rates.add(interval)
        self.measuring.interval(interval)
        if self.reports:
            self.reports.interval(interval)
