"""One position on a suite's axis: its repeats, their pooled figures, and its name.

Every name of a position that people read comes from ``name_of``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from iogauge.errors import IogaugeError
from iogauge.results.run import Run
from iogauge.schema import Axis, Notice, StepPlan, SuitePlan
from iogauge.stats.figures import StepFigures
from iogauge.stats.pooled import pooled
from iogauge.text import numbers

SMALL_BYTES = 16 << 10
"""Requests up to this size are counted, as random ones are by custom; of larger ones the bytes count."""


def name_of(
    step: StepPlan, axis: Axis, *, series: bool = True, unit: bool = True, repeat: bool = False
) -> str:
    """Return a step's name: its series, its label or else its position with unit, and its repeat.

    A column of a table whose head has the unit goes without it.

    >>> step = StepPlan(id="r", series="writes", at=1250, job_file="", seed=0, state_group="r", repeat=1)
    >>> name_of(step, Axis(name="", unit="MB/s")), name_of(step, Axis(name="", unit=""), series=False, repeat=True)
    ('writes, 1,250 MB/s', '1,250 (repeat 2)')
    """
    place = _place(step.label, step.at, axis.unit if unit else "")
    again = f" (repeat {step.repeat + 1})" if repeat and step.repeat else ""
    return (f"{step.series}, {place}" if series and step.series else place) + again


def counts_requests(steps: Iterable[StepFigures]) -> bool:
    """Return whether the rate of these steps is told in requests a second, since their requests are all small."""
    return all(figures.rate_Bps <= SMALL_BYTES * figures.iops for figures in steps)


def _place(label: str, at: float, unit: str) -> str:
    """Return a position's name without its series."""
    return label or numbers.placed(at, unit)


@dataclass(frozen=True, kw_only=True)
class PositionKey:
    """Identifies a position across reviews: steps with equal keys are the same procedure at the same load."""

    suite: str
    series: str
    label: str
    """The step's own name; empty: its position on the axis names it."""
    at: float
    axis: str = ""
    """Name of the suite's axis."""
    unit: str = ""
    """Unit of the axis."""

    @property
    def place(self) -> str:
        """Its name in words, without its series: the same as ``name_of`` gives."""
        return _place(self.label, self.at, self.unit)


class Position:
    """All repeats of one step; ``runs`` are the complete ones, in the order of the repeats."""

    def __init__(self, suite: SuitePlan, planned: Iterable[StepPlan], runs: Iterable[Run]) -> None:
        self.suite = suite
        self.planned = tuple(planned)
        self.runs = tuple(runs)

    @property
    def plan(self) -> StepPlan:
        """The plan of the first complete repeat, or of the first repeat if none is complete."""
        return self.runs[0].plan if self.runs else self.planned[0]

    @property
    def series(self) -> str:
        """Its series; empty if the suite has only one."""
        return self.plan.series

    @property
    def at(self) -> float:
        """Its position on the suite's axis."""
        return self.plan.at

    @property
    def name(self) -> str:
        """Its name in words."""
        return name_of(self.plan, self.suite.axis)

    @property
    def key(self) -> PositionKey:
        """The key that it shares with the same position of other reviews."""
        return PositionKey(
            suite=self.suite.suite,
            series=self.plan.series,
            label=self.plan.label,
            at=self.plan.at,
            axis=self.suite.axis.name,
            unit=self.suite.axis.unit,
        )

    @property
    def by_repeat(self) -> tuple[tuple[StepPlan, Run | None], ...]:
        """The plan of each repeat, and its run if it is complete."""
        runs = {run.plan.id: run for run in self.runs}
        return tuple((step, runs.get(step.id)) for step in self.planned)

    @property
    def incomplete(self) -> int:
        """Number of repeats that are not complete."""
        return len(self.planned) - len(self.runs)

    @cached_property
    def figures(self) -> StepFigures:
        """The pooled figures of all complete runs. Raises IogaugeError if there are none."""
        if not self.runs:
            raise IogaugeError(f"{self.name}: not measured yet", hint="resume the review")
        return pooled([run.figures for run in self.runs])

    @property
    def requested_Bps(self) -> int:
        """The requested rate of the load jobs; 0: there are none, or they have no limit."""
        return self.runs[0].requested_Bps if self.runs else 0

    @property
    def achieved_Bps(self) -> float:
        """The achieved rate of the load jobs."""
        return self.figures.pressure_Bps

    @cached_property
    def warnings(self) -> tuple[Notice, ...]:
        """Warnings about its figures, from all repeats."""
        return tuple(dict.fromkeys(warning for run in self.runs for warning in run.warnings))

    @property
    def stopped_by(self) -> tuple[str, ...]:
        """Reasons for which runs ended early, each once."""
        reasons = (run.stopped_by for run in self.runs)
        return tuple(dict.fromkeys(why for why in reasons if why))

    def __repr__(self) -> str:
        figures = self.figures if self.runs else None
        mean = figures and figures.mean
        measured = (
            f"{numbers.rate(figures.iops)} IOPS" + (f", mean {mean}" if mean else "")
            if figures
            else "not measured"
        )
        return f"<Position {self.name}: {measured}>"
