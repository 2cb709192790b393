"""One position on a suite's axis: its repeats, their figures together, and what it is called.

``name_of`` is the one function that names a position in words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from iogauge.results.run import Run
from iogauge.schema import Axis, Notice, StepPlan, SuitePlan
from iogauge.stats.figures import StepFigures
from iogauge.stats.pooled import pooled
from iogauge.text import numbers


def name_of(step: StepPlan, axis: Axis, *, series: bool = True, repeat: bool = False) -> str:
    """Return what a step is called: its series, its own label or its position with its unit, and its repeat.

    >>> step = StepPlan(id="r", series="writes", at=1250, job_file="", seed=0, state_group="r", repeat=1)
    >>> name_of(step, Axis(name="", unit="MB/s")), name_of(step, Axis(name="", unit=""), series=False, repeat=True)
    ('writes, 1,250 MB/s', '1,250 (repeat 2)')
    """
    at = step.label or numbers.placed(step.at, axis.unit)
    again = f" (repeat {step.repeat + 1})" if repeat and step.repeat else ""
    return (f"{step.series}, {at}" if series and step.series else at) + again


@dataclass(frozen=True, kw_only=True)
class PositionKey:
    """Where a step stands: what has the same key in two reviews was the same procedure at the same load."""

    suite: str
    series: str
    label: str
    """What it is called; empty: its position on the axis says it."""
    at: float
    axis: str = ""
    """What the suite varies."""
    unit: str = ""
    """Of the axis."""

    @property
    def text(self) -> str:
        """The position in words, without its suite."""
        at = self.label or numbers.placed(self.at, self.unit)
        return f"{self.series}, {at}" if self.series else at


class Position:
    """The repeats of one step, those that are complete together. ``runs`` are in the order of the repeats."""

    def __init__(self, suite: SuitePlan, planned: Iterable[StepPlan], runs: Iterable[Run]) -> None:
        self.suite = suite
        self.planned = tuple(planned)
        self.runs = tuple(runs)

    @property
    def plan(self) -> StepPlan:
        """The first complete step, or the first that was planned."""
        return self.runs[0].plan if self.runs else self.planned[0]

    @property
    def series(self) -> str:
        """Which of the suite's series it belongs to; empty: there is one."""
        return self.plan.series

    @property
    def at(self) -> float:
        """Where it is on the suite's axis."""
        return self.plan.at

    @property
    def name(self) -> str:
        """What it is called in words."""
        return name_of(self.plan, self.suite.axis)

    @property
    def key(self) -> PositionKey:
        """What it has in common with the same position of another review."""
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
        """Each repeat as it was planned, and its run where that is complete."""
        runs = {run.plan.id: run for run in self.runs}
        return tuple((step, runs.get(step.id)) for step in self.planned)

    @property
    def incomplete(self) -> int:
        """How many of its repeats are not complete."""
        return len(self.planned) - len(self.runs)

    @cached_property
    def figures(self) -> StepFigures:
        """The figures of all complete runs together. Raises ValueError where there is none."""
        if not self.runs:
            raise ValueError(f"{self.name}: not measured yet")
        return pooled([run.figures for run in self.runs])

    @property
    def requested_Bps(self) -> int:
        """The rate that the jobs which press were limited to; 0: none press, or without a limit."""
        return self.runs[0].requested_Bps if self.runs else 0

    @property
    def achieved_Bps(self) -> float:
        """What the jobs that press moved."""
        return self.figures.pressure_Bps

    @cached_property
    def warnings(self) -> tuple[Notice, ...]:
        """What makes its figures mean less than they seem to, in any repeat."""
        return tuple(dict.fromkeys(warning for run in self.runs for warning in run.warnings))

    @property
    def stopped_by(self) -> tuple[str, ...]:
        """What ended runs before their time, each once."""
        reasons = (run.stopped_by for run in self.runs)
        return tuple(dict.fromkeys(why for why in reasons if why))
