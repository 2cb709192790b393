"""The figures of reviews as one flat table, for SQL and for export to other programs.

Each complete step has a row for each direction that its suite judges. ``direction`` names the direction; a mix has a
row ``all`` for all its requests, and one for each direction. Latencies are in nanoseconds; rates and latencies have the
95 % interval of a single run. ``supported`` is the highest quantile that the sample supports; higher quantiles are
there, but mean little.

The columns from ``pattern`` to ``depth`` state the load, if a step has one that publications can state. They join a
review with the built-in review ``published``, which has a row for each published drive and load.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from iogauge.results.figures import IOPS, MEAN, RATE, metrics_of, quantile_metric
from iogauge.results.published import (
    PUBLISHED,
    Load,
    figure_of_point,
    load_of,
    load_of_point,
    load_text,
    named_drives,
    published_drives,
)
from iogauge.results.reported import summary_record
from iogauge.results.run import Run
from iogauge.schema import Direction, StepPlan, SuitePlan
from iogauge.stats.figures import StepFigures
from iogauge.store import Review
from iogauge.store.reported import read_summary

QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
ALL = "all"

_TEXT = ("review", "plan", "step", "target", "suite", "series", "label", "axis", "unit", "direction")
METRICS = (IOPS, RATE, MEAN, *map(quantile_metric, QUANTILES))
"""The columns with figures; the two after each hold its bounds."""


def bounds_of(metric: str) -> tuple[str, str]:
    """Return the columns with the bounds of a metric's 95 % interval.

    >>> bounds_of("p99_ns"), bounds_of("iops")
    (('p99_low_ns', 'p99_high_ns'), ('iops_low', 'iops_high'))
    """
    name, _, unit = metric.partition("_")
    return (f"{name}_low_{unit}", f"{name}_high_{unit}") if unit else (f"{name}_low", f"{name}_high")


_FIGURES: list[pa.Field[Any]] = [
    *(pa.field(name, pa.string(), nullable=name != "plan") for name in _TEXT),
    pa.field("pattern", pa.string()),
    *(pa.field(name, pa.int64()) for name in ("block_bytes", "read_percent", "threads", "depth")),
    pa.field("position", pa.float64()),
    pa.field("repeat", pa.int64()),
    pa.field("duration_s", pa.float64()),
    pa.field("ios", pa.int64()),
    *(pa.field(name, pa.float64()) for metric in METRICS for name in (metric, *bounds_of(metric))),
    pa.field("pressure_Bps", pa.float64()),
    pa.field("supported", pa.float64()),
    pa.field("errors", pa.int64()),
]
FIGURES = pa.schema(_FIGURES)
"""Names end with their units; the unit of ``position`` is in the column ``unit``.

``plan`` is the key of a suite's plan in its review. Exports name a file by it, so it is never null: rows without a plan
have the name of their source.
"""

_MOMENTS: list[pa.Field[Any]] = [
    *(pa.field(name, pa.string()) for name in ("review", "step", "target", "suite")),
    pa.field("start_s", pa.float64()),
    pa.field("end_s", pa.float64()),
    pa.field("ios", pa.int64()),
    pa.field("iops", pa.float64()),
    pa.field("p50_ns", pa.float64()),
    pa.field("p99_ns", pa.float64()),
    pa.field("max_ns", pa.float64()),
    pa.field("pressure_Bps", pa.float64()),
]
MOMENTS = pa.schema(_MOMENTS)
"""Each step over time, without its ramp; latencies are null if nothing completed."""


def figures_table(paths: Iterable[Path], *, published: Iterable[str] = ()) -> pa.Table:
    """Return the figures of saved reviews, and of the published reviews named by ``published``.

    Raises IogaugeError as ``Review.open`` and its readers do, and as ``named_drives`` does.
    """
    rows: list[dict[str, Any]] = []
    for path in paths:
        review = Review.open(path)
        rows += rows_of(review)
        review.keep_computed()
    rows += _published(named_drives(published))
    return pa.Table.from_pylist(rows, schema=FIGURES)


def rows_of(review: Review) -> list[dict[str, Any]]:
    """Return the rows of a saved review, with the columns of ``FIGURES``. Raises as ``figures_table``."""
    return [*_rows(review), *_summary_rows(review.path)]


def figures_of_plans(directory: Path, keys: Collection[str]) -> pa.Table:
    """Return the rows of the plans with these keys, of the review in ``directory``."""
    import pyarrow.compute as pc

    table = figures_table([directory])
    return table.filter(pc.is_in(table["plan"], value_set=pa.array(list(keys))))


def moments_table(paths: Iterable[Path]) -> pa.Table:
    """Return the measured job of each step over time, a row for each interval. Raises as ``figures_table``."""
    names = [name for name in MOMENTS.names if name not in ("review", "step", "target", "suite")]
    rows = [
        {
            "review": str(path),
            "step": run.plan.id,
            "target": ", ".join(plan.targets),
            "suite": plan.suite,
            **{name: getattr(moment, name) for name in names},
        }
        for path in paths
        for plan, run in _runs(Review.open(path))
        for moment in run.figures.moments
    ]
    return pa.Table.from_pylist(rows, schema=MOMENTS)


def _runs(review: Review) -> Iterator[tuple[SuitePlan, Run]]:
    for plan in review.manifest.plans:
        for step in plan.steps:
            if step.judged and review.has(step.id):
                yield plan, Run(review, plan, step)


def _rows(review: Review) -> Iterator[dict[str, Any]]:
    for plan, run in _runs(review):
        direction = run.plan.direction
        if direction is None and len(run.directions) == 1:
            (direction,) = run.directions
        yield _row(review, plan, run.plan, run.figures_of(direction), direction)
        if direction is None:
            for part in sorted(run.directions):
                figures = run.figures_of(part)
                if figures.ios:
                    yield _row(review, plan, run.plan, figures, part)


def _summary_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each summary figure of an imported review, without quantiles that have no column."""
    for figure in read_summary(path):
        yield {
            "review": str(path),
            **{name: v for name, v in summary_record(figure).items() if name in FIGURES.names},
        }


def _published(drives: Collection[str]) -> Iterator[dict[str, Any]]:
    """Yield a row for each load of each published drive; columns that the source does not state are null."""
    for drive, points in published_drives().items():
        if drive not in drives:
            continue
        loads: dict[Load, dict[str, Any]] = {}
        for point in points:
            load = load_of_point(point)
            assert load is not None, point
            metric, value = figure_of_point(point)
            head = {"review": PUBLISHED, "plan": PUBLISHED, "suite": PUBLISHED, "target": drive}
            row = loads.setdefault(load, {**head, "label": load_text(load), "repeat": 0, **_load(load)})
            if metric in FIGURES.names:
                row.setdefault(metric, value)
        yield from loads.values()


def _load(load: Load | None) -> dict[str, Any]:
    if load is None:
        return {}
    return {
        "pattern": "random" if load.random else "sequential",
        "block_bytes": load.block_bytes,
        "read_percent": load.read_percent,
        "threads": load.threads,
        "depth": load.depth,
    }


def _row(
    review: Review, plan: SuitePlan, step: StepPlan, figures: StepFigures, direction: Direction | None
) -> dict[str, Any]:
    supported = [q for q in QUANTILES if (estimate := figures.quantile(q)) and estimate.supported]
    row: dict[str, Any] = {
        "review": str(review.path),
        "plan": plan.key,
        "step": step.id,
        "target": ", ".join(plan.targets),
        "suite": plan.suite,
        "series": step.series,
        "label": step.label,
        "axis": plan.axis.name,
        "unit": plan.axis.unit,
        "direction": direction.value if direction else ALL,
        **_load(load_of(step, plan)),
        "position": step.at,
        "repeat": step.repeat,
        "duration_s": figures.duration_s,
        "ios": figures.ios,
        "pressure_Bps": figures.pressure_Bps,
        "supported": max(supported, default=None),
        "errors": figures.errors,
    }
    for metric, estimate in metrics_of(figures, QUANTILES):
        low, high = bounds_of(metric)
        row |= {metric: estimate.value, low: estimate.low, high: estimate.high}
    return row
