"""The figures of one step of a saved review, as its plan wants them judged.

A suite's verdict and a report's charts ask here for the same steps, with quantiles of their own. What a review was
asked for before is taken from there, where the review keeps it (``store.reading``): whoever wants the most quantiles
should ask first.

Does not know where a review lies: it is whatever has records and intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Protocol, TypeVar

from iogauge.schema import Direction, Interval, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figures import QUANTILES, StepFigures, step_figures

T = TypeVar("T")


class Saved(Protocol):
    """A saved review, as far as figures are made of it."""

    def intervals(self, step_id: str, /) -> Iterable[Interval]:
        """Return the intervals of a complete step."""

    def once(self, key: Hashable, make: Callable[[], T], enough: Callable[[T], bool], /) -> T:
        """Return what ``make`` makes, or what it made before for this key where that is ``enough``."""


def saved_figures(
    review: Saved,
    plan: SuitePlan,
    step: StepPlan,
    record: RunRecord,
    *,
    direction: Direction | None,
    quantiles: Sequence[float] = QUANTILES,
) -> StepFigures:
    """Return the figures of one of a plan's complete steps, with just these quantiles, fractions in (0, 1).

    ``record`` is the step's. ``direction``: of the reader's requests only these count; None: all.

    Raises IogaugeError as ``step_figures`` does, and as the review does whose file is damaged.
    """
    asked = set(quantiles)
    return review.once(
        (step.id, plan.reader, plan.pressure, plan.kind, direction),
        lambda: step_figures(
            record,
            review.intervals(step.id),
            reader=plan.reader,
            pressure=plan.pressure,
            kind=plan.kind,
            direction=direction,
            quantiles=quantiles,
        ),
        lambda found: asked <= found.quantiles.keys(),
    ).only(quantiles)
