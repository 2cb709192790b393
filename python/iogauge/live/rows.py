"""The rows of a run, as its plan has them: their names, and the rates that their jobs ask for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from iogauge.schema import RunPlan, SteadyPlan, WorkerPlan

Place = tuple[int, int]
"""A row by its stage and its number."""

_DIRECTIONS = ("read", "write", "trim")


@dataclass
class PlannedRow:
    """One row of a plan."""

    name: str
    iops: dict[str, float] = field(default_factory=dict)
    """The rate that its workers are to keep together, by direction; only where it is known."""
    steady: SteadyPlan | None = None


def planned_rows(plan: RunPlan) -> dict[Place, PlannedRow]:
    """Return the rows of a plan, in its order."""
    rows: dict[Place, PlannedRow] = {}
    for stage, stage_plan in enumerate(plan.stages):
        for worker in stage_plan.workers:
            row = rows.setdefault((stage, worker.row), PlannedRow(worker.name, steady=worker.steady))
            for direction in _DIRECTIONS:
                if iops := _iops(worker, direction):
                    row.iops[direction] = row.iops.get(direction, 0.0) + iops
    return rows


def listed(rows: dict[Place, PlannedRow]) -> list[dict[str, Any]]:
    """Return the rows as the event ``rows`` lists them."""
    return [
        {"stage": stage, "row": number, "name": row.name, "asked_iops": row.iops}
        for (stage, number), row in rows.items()
    ]


def _iops(worker: WorkerPlan, direction: str) -> float:
    """Return the requests a second that a worker is to issue; 0: it has no rate, or its blocks have several sizes."""
    if direction not in worker.pattern.rw.directions:
        return 0.0
    schedule = getattr(worker.schedule, direction)
    sizes = getattr(worker.pattern.sizes, direction)
    if schedule.rate_iops:
        return float(schedule.rate_iops)
    if schedule.rate_Bps and sizes.minimum_bytes == sizes.maximum_bytes:
        return float(schedule.rate_Bps / sizes.minimum_bytes)
    return 0.0
