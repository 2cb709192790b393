"""Whether a figure meets a limit: yes, no, or not shown. Pure: a figure and a limit in, a ruling out.

The interval decides, never the value alone. The limit is met if the whole interval lies on its good side, missed if the
whole interval lies on its bad side, and otherwise not shown. A value equal to the limit meets it.

A quantile that its sample does not support, or a run that is too short for an interval, shows nothing by itself. But a
higher quantile is never below a lower one: if a supported lower quantile surely exceeds an upper limit, so does the
higher one. That needs no sample of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from iogauge.stats.figure import Figure

LOWER = (0.5, 0.9)
"""Lower quantiles that may decide where the limit's own is not supported."""


class Outcome(StrEnum):
    """What the figures say about a criterion."""

    MET = "met"
    MISSED = "missed"
    NOT_SHOWN = "not shown"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True)
class Ruling:
    """An outcome with its reason."""

    outcome: Outcome
    reason: str = ""
    """Why it is not shown, as the end of a sentence; empty if the interval says it all."""
    longer: float | None = None
    """How many times as long a run should decide it; None: it is decided, or the figures do not say."""
    by: Figure | None = None
    """The lower quantile that decides instead of the figure itself."""

    @property
    def why(self) -> str:
        """What the interval does not say, as the end of a sentence: the reason, or what decides; mostly empty."""
        if self.by is not None:
            return f"even a lower quantile is above {self.by.shown(self.by.low or 0)}"
        return self.reason


def lower_quantiles(q: float | None, quantile: Callable[[float], Figure | None]) -> list[Figure]:
    """Return the quantiles that may decide instead of ``q``; none if ``q`` is None: the limit is on no quantile.

    ``quantile`` returns that of a fraction, of the same latencies.
    """
    lower = [below for below in LOWER if q is not None and below < q]
    return [figure for below in lower if (figure := quantile(below)) is not None]


def rule(
    figure: Figure, limit: float, *, upper: bool, lower: Sequence[Figure] = (), equal: bool = True
) -> Ruling:
    """Return whether ``figure`` meets ``limit``, an upper or a lower one in the figure's unit.

    ``lower`` are lower quantiles of the same latencies, as ``lower_quantiles`` returns them. ``equal``: a value that
    equals the limit meets it.

    >>> rule(Figure(8, 7, 9), 10, upper=True).outcome.value, rule(Figure(8, 7, 11), 10, upper=True).outcome.value
    ('met', 'not shown')
    >>> rule(Figure(8, 7, 9), 10, upper=False).outcome.value
    'missed'
    """
    ruling = _alone(figure, limit, upper=upper, equal=equal)
    if upper and ruling.outcome is Outcome.NOT_SHOWN:
        for quantile in lower:
            if _alone(quantile, limit, upper=True, equal=equal).outcome is Outcome.MISSED:
                return Ruling(Outcome.MISSED, by=quantile)
    return ruling


def _alone(figure: Figure, limit: float, *, upper: bool, equal: bool) -> Ruling:
    """Return what a figure says by itself."""
    if not figure.supported:
        return Ruling(
            Outcome.NOT_SHOWN,
            f"it needs {figure.needed:,} samples and has {figure.count:,}",
            longer=figure.needed / figure.count if figure.count else None,
        )
    if not figure.long_enough:
        return Ruling(Outcome.NOT_SHOWN, "the run is too short, as neighbouring seconds correlate")
    good, bad = (figure.low, figure.high) if upper else (figure.high, figure.low)
    if good is None and bad is None:
        return Ruling(Outcome.NOT_SHOWN, "it has no interval")
    if bad is not None and not _beyond(bad, limit, upper=upper, equal=equal):
        return Ruling(Outcome.MET)
    if good is not None and _beyond(good, limit, upper=upper, equal=equal):
        return Ruling(Outcome.MISSED)
    if good is None or bad is None:
        return Ruling(Outcome.NOT_SHOWN, "its interval is open")
    return Ruling(Outcome.NOT_SHOWN, "the limit lies within its interval", longer=_longer(figure, limit))


def _beyond(value: float, limit: float, *, upper: bool, equal: bool) -> bool:
    if value == limit:
        return not equal
    return (value > limit) is upper


def _longer(figure: Figure, limit: float) -> float | None:
    """Return how many times as long a run should end the interval before the limit, if the value stays.

    An interval narrows with the square root of the number of samples.
    """
    bound = figure.low if figure.value > limit else figure.high
    if bound is None or figure.value == limit:
        return None
    return max(((bound - figure.value) / (limit - figure.value)) ** 2, 1.0)
