"""The result of one suite of a saved review: positions with their figures, and the suite's conclusions.

Suites judge this object; reports, comparisons and tables show it. It reads everything on first use. Of an incomplete
review it has the complete steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.results.collection import Collection
from iogauge.results.conclusions import Conclusions
from iogauge.results.explained.steps import ExplainedStep, explained_steps
from iogauge.results.position import Position, counts_requests, name_of
from iogauge.results.run import Run
from iogauge.results.tabular import Tabular
from iogauge.schema import TABLE_ROWS, Manifest, StepPlan, SuitePlan, TargetFacts
from iogauge.stats.figures import Ratio, ratio
from iogauge.store import Review
from iogauge.text import html, numbers, too_short

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = (0.5, 0.99, 0.999)
"""Quantiles that a notebook shows."""


class SuiteResult(Tabular, Collection[Position]):
    """One suite of a review on its target. ``result["70 % reads"]`` is the position of that name.

    ``label`` names the target for people, ``slug`` names the result in links and files; both are unique among results
    that are shown together. ``conclude`` returns the suite's conclusions.
    """

    NOUN = "position"

    def __init__(
        self,
        review: Review,
        plan: SuitePlan,
        *,
        label: str = "",
        slug: str = "",
        conclude: Callable[[SuiteResult], Conclusions] = lambda _: Conclusions(),
    ) -> None:
        self.review = review
        self.plan = plan
        self.label = label
        self.slug = slug
        self._conclude = conclude

    @property
    def path(self) -> Path:
        """The review's directory."""
        return self.review.path

    @property
    def manifest(self) -> Manifest:
        """The review's manifest."""
        return self.review.manifest

    @property
    def target(self) -> TargetFacts:
        """The target; the first one if the suite runs on several at once."""
        return self.manifest.target(self.plan.targets[0])

    @cached_property
    def planned(self) -> tuple[Position, ...]:
        """All judged positions, measured or not, by series and along the axis, up or down as the suite begins."""
        series: dict[str, dict[tuple[str, float], list[StepPlan]]] = {}
        for step in self.plan.steps:
            if step.judged:
                positions = series.setdefault(step.series, {})
                positions.setdefault((step.label, step.at), []).append(step)
        return tuple(
            self._position(repeats)
            for positions in series.values()
            for repeats in _along_axis(list(positions.values()), shuffled=self.plan.shuffled)
        )

    def _position(self, planned: list[StepPlan]) -> Position:
        planned = sorted(planned, key=lambda step: step.repeat)
        runs = [Run(self.review, self.plan, step) for step in planned if self.review.has(step.id)]
        return Position(self.plan, planned, runs)

    @cached_property
    def positions(self) -> tuple[Position, ...]:
        """The positions with at least one complete repeat."""
        return tuple(position for position in self.planned if position.runs)

    def _parts(self) -> dict[str, Position]:
        return {position.name: position for position in self.positions}

    def to_arrow(self) -> pa.Table:
        """Return a row for each complete step and direction, as an Arrow table, with the columns of a review's."""
        from iogauge.results.tables import figures_of_plans

        return figures_of_plans(self.path, [self.plan.key])

    def __iter__(self) -> Iterator[Position]:
        return iter(self.positions)

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def runs(self) -> Iterator[Run]:
        """The complete steps, position by position."""
        return (run for position in self.positions for run in position.runs)

    @cached_property
    def missing(self) -> tuple[StepPlan, ...]:
        """The planned steps that are not complete."""
        return tuple(step for step in self.plan.steps if not self.review.has(step.id))

    @property
    def complete(self) -> int:
        """The number of complete steps, judged or not; a search is none."""
        return len(self.plan.steps) - len(self.missing)

    @cached_property
    def conclusions(self) -> Conclusions:
        """The suite's conclusions from all positions."""
        return self._conclude(self)

    @cached_property
    def explained(self) -> tuple[ExplainedStep, ...]:
        """Where the time of requests went, for the steps whose runs say so; none for real drives."""
        return explained_steps(self.positions, measured_job=self.plan.measured_job)

    def by_series(self) -> dict[str, tuple[Position, ...]]:
        """Return the measured positions of each series."""
        return {
            series: tuple(position for position in self.positions if position.series == series)
            for series in dict.fromkeys(position.series for position in self.positions)
        }

    @property
    def growth(self) -> Ratio | None:
        """The measured job's mean latency under the highest load rate, as a multiple of that under the lowest.

        None if the measured job completed requests in fewer than two positions, or if there are several series.
        """
        means = [
            (position.achieved_Bps, mean)
            for position in self.positions
            if (mean := position.figures.mean) is not None
        ]
        if len(means) < 2 or len(self.by_series()) > 1:
            return None
        (_, lowest), (_, highest) = (choose(means, key=lambda pair: pair[0]) for choose in (min, max))
        return ratio(highest, lowest)

    def anchor(self, step: StepPlan) -> str:
        """Return the anchor of a step's row in a page."""
        return f"{self.slug}-{step.id}"

    def name_of(self, step: StepPlan, *, unit: bool = True) -> str:
        """Return a step's name without its series."""
        return name_of(step, self.plan.axis, series=False, unit=unit)

    @property
    def along_pressure(self) -> bool:
        """Whether the steps differ only in the rate of the load jobs."""
        return bool(self.plan.load_jobs) and len({position.series for position in self.planned}) <= 1

    @property
    def leading(self) -> Position | None:
        """The position that stands for the suite in one row: where reads are measured under writes, that with the most
        writes; else that of the highest rate. None: nothing completed.

        Rates of small requests and of large ones do not compare: those of the first position's kind are looked at.
        """
        measured = [position for position in self.positions if position.figures.mean is not None]
        if not measured:
            return None
        if self.along_pressure:
            return max(measured, key=lambda position: position.achieved_Bps)
        in_requests = counts_requests([measured[0].figures])
        alike = [position for position in measured if counts_requests([position.figures]) == in_requests]
        return max(
            alike, key=lambda position: position.figures.iops if in_requests else position.figures.rate_Bps
        )

    @property
    def is_table(self) -> bool:
        """Whether the steps are rows of a table: a published one, or your own named steps that share a place."""
        # A row stands under its name: positions without one lie along the axis, whatever places they share.
        places = {position.at for position in self.planned}
        shared = len(places) < len(self.planned) and len(self.by_series()) <= 1
        return (self.plan.axis == TABLE_ROWS or shared) and all(
            position.plan.label for position in self.planned
        )

    @property
    def repeated(self) -> bool:
        """Whether any position has several repeats."""
        return any(len(position.planned) > 1 for position in self.planned)

    @property
    def taken_as_independent(self) -> bool:
        """Whether any step was too short to show how latencies cluster, so that its intervals are too narrow."""
        # The interval of several runs follows from their differences, not from clusters within a run.
        return any(
            figures.mean and not figures.mean.dependence
            for figures in (position.figures for position in self.positions)
            if not figures.reported
        )

    @property
    def may_miss(self) -> str:
        """A sentence about the stalls that the shortest step can miss; empty if no step is short."""
        return too_short.may_miss(run.figures.duration_s for run in self.runs)

    @property
    def reported(self) -> bool:
        """Whether another tool reported latencies without samples; these have no intervals."""
        return any(position.figures.reported for position in self.positions)

    @property
    def device_timed(self) -> bool:
        """Whether the kernel measured the device's time, which it does not for drive models."""
        return any(run.figures.device_mean_ns is not None for run in self.runs)

    def __repr__(self) -> str:
        return f"<SuiteResult {self.plan.suite} of {', '.join(self.plan.targets)} in {self.path}>"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: findings, then a row for each position."""
        rate = ("achieved", "IOPS") if self.plan.load_jobs else ("IOPS", "MB/s")
        head = (self.plan.axis.name or "step", *rate, "mean", *(f"p{100 * q:.12g}" for q in _SHOWN))
        title = html.heading(f"{self.plan.title}: {', '.join(self.plan.targets)}")
        return title + html.items(self.conclusions.findings) + html.table(head, map(self._cells, self))

    def _cells(self, position: Position) -> list[str]:
        figures = position.figures
        iops = numbers.rate(figures.iops)
        pressed = numbers.bandwidth(position.achieved_Bps) if position.achieved_Bps else "-"
        return [
            position.name,
            *([pressed, iops] if self.plan.load_jobs else [iops, numbers.megabytes(figures.rate_Bps)]),
            "-" if figures.mean is None else numbers.duration(figures.mean.value),
            *(numbers.marked(figures.quantile(q)) for q in _SHOWN),
        ]


def _along_axis(positions: list[list[StepPlan]], *, shuffled: bool) -> list[list[StepPlan]]:
    """Sort the positions of a series: a search plans its steps in another order, and some suites shuffle theirs."""
    places = [steps[0].at for steps in positions]
    falling = not shuffled and len(places) > 1 and places[0] > places[1]
    return sorted(positions, key=lambda steps: steps[0].at, reverse=falling)
