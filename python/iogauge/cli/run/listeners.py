"""Everything that follows ``iogauge run`` while it goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iogauge.cli.run.status_reports import StatusReports
    from iogauge.cli.terminal.progress import Progress
    from iogauge.report.run.diskspd_rates import DiskspdRates
    from iogauge.report.run.interval_stats import IntervalStats
    from iogauge.schema import Interval, RunPlan, TargetFacts


@dataclass
class Listeners:
    """Everything that follows a run while it goes on."""

    progress: Progress
    stats: IntervalStats
    rates: DiskspdRates
    make_reports: Callable[[RunPlan, tuple[TargetFacts, ...]], StatusReports] | None = None
    reports: StatusReports | None = None
    targets: tuple[TargetFacts, ...] = field(default=())

    def started(self, plan: RunPlan, targets: tuple[TargetFacts, ...]) -> None:
        """The plan is made and the targets are open; nothing has been issued yet."""
        from iogauge.library.progress import expected_s

        self.targets = targets
        self.reports = self.make_reports(plan, targets) if self.make_reports else None
        where = ", ".join(dict.fromkeys(facts.path for facts in targets)) or "null"
        self.progress.step(where, expected_s=expected_s(plan))
        self.progress.started(plan)

    def interval(self, interval: Interval) -> None:
        """One interval of one row is over."""
        self.stats.add(interval)
        self.rates.add(interval)
        self.progress.interval(interval)
        if self.reports:
            self.reports.interval(interval)
