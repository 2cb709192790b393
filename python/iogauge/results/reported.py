"""What an imported review has beside its steps: figures without samples, to compare, as text and in reports.

They have no intervals, since nothing is known that one could be made of; a quantile beyond what its number of I/Os
supports is marked like ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from iogauge.results.conclusions import TextTable
from iogauge.results.figure import IOPS, MEAN, RATE, Figure, quantile_metric
from iogauge.results.position import PositionKey
from iogauge.schema import SuitePlan
from iogauge.store.reported import Told, read_told
from iogauge.text import numbers
from iogauge.text.grid import aligned

SHOWN = (0.5, 0.99, 0.999)
TITLE = "Told without samples: figures as their tool printed them"
HEAD = ["run", "job", "direction", "IOPS", "MB/s", "mean", *(f"p{100 * q:g}" for q in SHOWN)]


def told_rows(told: Sequence[Told], *, drive: str, review: str) -> tuple[Figure, ...]:
    """Return told figures as rows of one side, under the places that an imported run with samples would have."""
    return tuple(row for each in told for row in _rows(each, _series(each, told), drive, review))


def told_record(each: Told) -> dict[str, Any]:
    """Return told figures under the names of ``figures_table``; a quantile that was not told is not there."""
    quantiles = {quantile_metric(q): value for q, value in each.quantiles_ns.items()}
    return {
        "plan": "imported",
        "target": each.target,
        "suite": "imported",
        "series": each.job,
        "label": each.label,
        "axis": "run",
        "unit": "",
        "direction": each.direction.value,
        "position": each.at,
        "repeat": 0,
        "duration_s": each.duration_s,
        "ios": each.ios,
        "iops": each.iops,
        "rate_Bps": each.rate_Bps,
        "mean_ns": each.mean_ns,
        "supported": max((q for q in each.quantiles_ns if each.supports(q)), default=None),
        **quantiles,
    }


def told_lines(told: Sequence[Told]) -> Iterator[str]:
    """Yield the figures as a table; nothing, where there are none."""
    if not told:
        return
    yield TITLE
    yield "-" * len(TITLE)
    yield from aligned([HEAD, *(_cells(each) for each in told)], left=3)


def told_table(path: Path, plans: Sequence[SuitePlan], plan: SuitePlan) -> TextTable | None:
    """Return what of the figures told in a review at ``path`` belongs to one of its plans; ``None``: nothing.

    That is what is told of its job on its targets; the first plan has that too which is no plan's, so that none is
    missing.

    Raises IogaugeError as ``read_told`` does.
    """
    known = {(other.measured_job, ", ".join(other.targets)) for other in plans}
    of_plan = (plan.measured_job, ", ".join(plan.targets))
    mine = [
        _cells(each)
        for each in read_told(path)
        if (each.job, each.target) == of_plan or (plan == plans[0] and (each.job, each.target) not in known)
    ]
    return TextTable(TITLE, tuple(HEAD), tuple(map(tuple, mine))) if mine else None


def _cells(each: Told) -> list[str]:
    return [
        each.label,
        each.job,
        each.direction.value,
        f"{each.iops:,.0f}",
        numbers.megabytes(each.rate_Bps),
        "-" if each.mean_ns is None else numbers.duration(each.mean_ns),
        *(_marked(each, q) for q in SHOWN),
    ]


def _marked(each: Told, q: float) -> str:
    value = each.quantiles_ns.get(q)
    if value is None:
        return "-"
    return ("" if each.supports(q) else "~ ") + numbers.duration(value)


def _series(each: Told, told: Sequence[Told]) -> str:
    ways = {other.direction for other in told if (other.label, other.job) == (each.label, each.job)}
    return each.job if len(ways) == 1 else f"{each.job}, {each.direction.value}"


def _rows(each: Told, series: str, drive: str, review: str) -> Iterator[Figure]:
    position = PositionKey(suite="imported", series=series, label=each.label, at=each.at, axis="run")
    figures = {IOPS: each.iops, RATE: each.rate_Bps, MEAN: each.mean_ns}
    figures |= {quantile_metric(q): value for q, value in each.quantiles_ns.items()}
    supported = {quantile_metric(q): each.supports(q) for q in each.quantiles_ns}
    for metric, value in figures.items():
        if value is not None:
            yield Figure(
                drive=drive,
                position=position,
                repeat=0,
                judged="I/O",
                metric=metric,
                value=value,
                supported=supported.get(metric, True),
                count=each.ios,
                source=review,
                loop=each.loop,
            )
