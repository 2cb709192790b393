"""The figures of a step's repeats as one: what is shown of a place that was measured several times.

Histograms are merged and asked for quantiles; rates are geometric means; an interval is that of the repeats
(``repeats.py``), since what differs from run to run cannot be seen within one. Counts of what went wrong add up.

Does not know a suite, an axis or a drive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from iogauge.stats.figures import StepFigures
from iogauge.stats.histogram import Histogram, needed
from iogauge.stats.quantiles import Estimate
from iogauge.stats.repeats import Variation, repeated, variation


def merged(runs: Sequence[StepFigures]) -> StepFigures:
    """Return the figures of one step's complete repeats, at least one, as one step's.

    Of a single run they are its own. Moments are those of all runs, one run after the other.
    """
    first, *others = runs
    if not others:
        return first
    whole = Histogram.merge([run.whole for run in runs])
    devices = [run.device_mean_ns for run in runs if run.device_mean_ns is not None]
    return replace(
        first,
        duration_s=sum(run.duration_s for run in runs),
        ios=sum(run.ios for run in runs),
        iops=_rate([run.iops for run in runs]),
        rate_Bps=_rate([run.rate_Bps for run in runs]),
        whole=whole,
        mean=_estimate([run.mean for run in runs], whole),
        quantiles={q: _estimate([run.quantiles[q] for run in runs], whole, q) for q in first.quantiles},
        pressure_Bps=_rate([run.pressure_Bps for run in runs]),
        errors=sum(run.errors for run in runs),
        flagged=sum(run.flagged for run in runs),
        late=sum(run.late for run in runs),
        in_flight=sum(run.in_flight for run in runs),
        loop_gap_max_ns=max(run.loop_gap_max_ns for run in runs),
        device_mean_ns=sum(devices) / len(devices) if len(devices) == len(runs) else None,
        moments=tuple(moment for run in runs for moment in run.moments),
    )


def varied(estimates: Sequence[Estimate | None]) -> Variation | None:
    """Return how a figure varies between runs; ``None`` where fewer than two have it, or one of them is not positive.

    >>> def figure(value, error):
    ...     return Estimate(value, None, None, supported=True, needed=0, count=9, dependence=True, log_error=error)
    >>> found = varied([figure(100.0, 0.01), figure(110.0, 0.01), None])
    >>> found.runs, round(found.coefficient, 3)
    (2, 0.067)
    """
    known = [each for each in estimates if each is not None]
    if any(each.value <= 0 for each in known) or len(known) < 2:
        return None
    return variation([each.value for each in known], [each.log_error for each in known])


def _rate(values: Sequence[float]) -> float:
    """Return the geometric mean of rates, or, where a run had none, the arithmetic one."""
    return repeated(values).value if all(value > 0 for value in values) else sum(values) / len(values)


def _estimate(runs: Sequence[Estimate | None], whole: Histogram, q: float | None = None) -> Estimate | None:
    """Return the mean, or the ``q``-quantile, of all runs, with the interval of those that have one."""
    known = [run for run in runs if run is not None]
    if not known:
        return None
    values = [run.value for run in known]
    value = float(whole.mean if q is None else whole.quantile(q))
    found = repeated(values, merged=value) if value > 0 and all(each > 0 for each in values) else None
    return Estimate(
        value=value,
        low=found.low if found else None,
        high=found.high if found else None,
        supported=whole.supports(q) if q is not None else all(run.supported for run in known),
        needed=needed(q) if q is not None else 0,
        count=whole.count,
        dependence=True,
    )
