"""What one suite of a saved review showed on its target: positions with their figures, and what follows from them.

A suite judges this object, and reports, comparisons and tables show the same one. Everything is read when it is asked
for, in any order. An incomplete review is shown as far as it got.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path

from iogauge.results.conclusions import Conclusions
from iogauge.results.position import Position, name_of
from iogauge.results.run import Run
from iogauge.schema import Manifest, StepPlan, SuitePlan, TargetFacts
from iogauge.stats.figures import Ratio, ratio
from iogauge.store import Review
from iogauge.text import html, numbers

_SHOWN = (0.5, 0.99, 0.999)
"""Quantiles that a notebook shows."""


class SuiteResult:
    """One suite of a review on what it tested.

    ``label`` names what it tested, ``slug`` is a name for links and files: both differ from those of everything else
    that is shown with it. ``conclude`` says what follows from its positions.
    """

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
        """What was planned, on which targets."""
        return self.review.manifest

    @property
    def target(self) -> TargetFacts:
        """What it tested; the first, where the suite takes several together."""
        return self.manifest.target(self.plan.targets[0])

    @cached_property
    def planned(self) -> tuple[Position, ...]:
        """All positions that are to be judged, measured or not, series by series in the order of the axis."""
        steps = self.plan.steps
        series = list(dict.fromkeys(step.series for step in steps))
        axis = list(dict.fromkeys(step.at for step in steps))
        repeats: dict[tuple[str, str, float], list[StepPlan]] = {}
        for step in sorted(steps, key=lambda s: (series.index(s.series), axis.index(s.at), s.repeat)):
            if step.judged:
                repeats.setdefault((step.series, step.label, step.at), []).append(step)
        return tuple(
            Position(
                self.plan,
                planned,
                [Run(self.review, self.plan, step) for step in planned if self.review.has(step.id)],
            )
            for planned in repeats.values()
        )

    @cached_property
    def positions(self) -> tuple[Position, ...]:
        """The positions that were measured, in one repeat at least."""
        return tuple(position for position in self.planned if position.runs)

    def __iter__(self) -> Iterator[Position]:
        return iter(self.positions)

    @property
    def runs(self) -> Iterator[Run]:
        """The complete steps, position by position."""
        return (run for position in self.positions for run in position.runs)

    @cached_property
    def missing(self) -> tuple[StepPlan, ...]:
        """The steps that were planned and are not complete."""
        return tuple(step for step in self.plan.steps if not self.review.has(step.id))

    @cached_property
    def conclusions(self) -> Conclusions:
        """What the suite concludes from all positions together."""
        return self._conclude(self)

    def by_series(self) -> dict[str, tuple[Position, ...]]:
        """Return the measured positions of each series."""
        return {
            series: tuple(position for position in self.positions if position.series == series)
            for series in dict.fromkeys(position.series for position in self.positions)
        }

    @property
    def growth(self) -> Ratio | None:
        """How many times the reader's mean latency grew from the least pressed position to the most pressed one.

        None where there are not two in which the reader completed something, or more than one series.
        """
        means = [
            (position.achieved_Bps, mean)
            for position in self.positions
            if (mean := position.figures.mean) is not None
        ]
        if len(means) < 2 or len(self.by_series()) > 1:
            return None
        (_, least), (_, most) = (choose(means, key=lambda pair: pair[0]) for choose in (min, max))
        return ratio(most, least)

    def anchor(self, step: StepPlan) -> str:
        """Return the name of a step's row, for links to it."""
        return f"{self.slug}-{step.id}"

    def name_of(self, step: StepPlan) -> str:
        """Return what a step is called in words, without its series."""
        return name_of(step, self.plan.axis, series=False)

    @property
    def along_pressure(self) -> bool:
        """Whether what presses grows along the axis, and nothing else changes."""
        return bool(self.plan.load_jobs) and len({position.series for position in self.planned}) <= 1

    @property
    def repeated(self) -> bool:
        """Whether any position was to be measured more than once."""
        return any(len(position.planned) > 1 for position in self.planned)

    @property
    def taken_as_independent(self) -> bool:
        """Whether any step was too short to see how its latencies cluster: its intervals are then too narrow."""
        # Of several runs the interval is that of the runs, whatever clusters within them.
        return any(
            figures.mean and not figures.mean.dependence
            for figures in (position.figures for position in self.positions)
            if not figures.reported
        )

    @property
    def may_miss(self) -> str:
        """How rare a stall the shortest step can miss; empty where none is short."""
        return numbers.may_miss(run.figures.duration_s for run in self.runs)

    @property
    def reported(self) -> bool:
        """Whether another program reported latencies without their samples: these have no intervals."""
        return any(position.figures.reported for position in self.positions)

    @property
    def device_timed(self) -> bool:
        """Whether the kernel counted how long the device took: of a drive model it counts nothing."""
        return any(run.figures.device_mean_ns is not None for run in self.runs)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: findings, then a row for each position."""
        rate = ("achieved", "IOPS") if self.plan.load_jobs else ("IOPS", "MB/s")
        head = (self.plan.axis.name or "step", *rate, "mean", *(f"p{100 * q:.12g}" for q in _SHOWN))
        title = html.heading(f"{self.plan.title}: {', '.join(self.plan.targets)}")
        return title + html.items(self.conclusions.findings) + html.table(head, map(self._cells, self))

    def _cells(self, position: Position) -> list[str]:
        figures = position.figures
        iops = f"{figures.iops:,.0f}"
        pressed = numbers.bandwidth(position.achieved_Bps) if position.achieved_Bps else "-"
        return [
            position.name,
            *([pressed, iops] if self.plan.load_jobs else [iops, numbers.megabytes(figures.rate_Bps)]),
            "-" if figures.mean is None else numbers.duration(figures.mean.value),
            *(numbers.marked(figures.quantile(q)) for q in _SHOWN),
        ]
