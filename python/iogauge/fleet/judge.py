"""From a saved fleet to a judgement of its drives: their batches are read host by host, and judged together."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from iogauge.fleet.merge.batched import batches_of
from iogauge.fleet.merge.merged import SLOT
from iogauge.fleet.merge.steps import HostStep, host_step
from iogauge.results.position import name_of
from iogauge.schema import FleetHost, StepPlan, SuitePlan, TargetFacts
from iogauge.stats.fleet.batches import BATCHES, Batch
from iogauge.stats.fleet.findings import SlowDrives
from iogauge.stats.fleet.observations import DriveObservations
from iogauge.stats.fleet.slow import RATE, slow
from iogauge.store import Review
from iogauge.store.fleet import FleetStore
from iogauge.store.names import MANIFEST


def judge(store: FleetStore, *, rate: float = RATE) -> SlowDrives:
    """Return which drives, hosts, slots, firmwares and models of a saved fleet are slow.

    ``rate`` is the false discovery rate of all findings. Complete steps count, also those of a host that was lost. A
    step that drives several targets at once says nothing of one of them, and is left out.

    Raises IogaugeError if a file is damaged, ValueError for a ``rate`` that is not between 0 and 1.
    """
    return slow(observations(store), rate=rate)


def observations(store: FleetStore) -> DriveObservations:
    """Return what a saved fleet has of its drives. Raises IogaugeError if a file is damaged."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        of_hosts = pool.map(lambda host: list(_rows(store, host)), store.manifest.hosts)
        rows = [row for of_host in of_hosts for row in of_host]
    # A drive that several hosts use, or files on it, is to each of them a drive of its own.
    users = Counter(name for name, _ in {(row.drive.name, row.drive.host) for row in rows})
    return DriveObservations(
        drive=[
            row.drive.name if users[row.drive.name] == 1 else f"{row.drive.host}:{row.drive.name}"
            for row in rows
        ],
        host=[row.drive.host for row in rows],
        model=[row.drive.model for row in rows],
        firmware=[row.drive.firmware for row in rows],
        slot=[row.drive.slot for row in rows],
        position=[row.position for row in rows],
        batch=np.array([row.number for row in rows], dtype=np.int64),
        iops=np.array([row.batch.iops for row in rows], dtype=np.float64),
        mean_ns=np.array([row.batch.mean_ns for row in rows], dtype=np.float64),
        tail_ns=np.array([row.batch.tail_ns for row in rows], dtype=np.float64),
    )


@dataclass(frozen=True)
class _Drive:
    """One drive of the fleet; unknown words are empty."""

    name: str
    host: str
    model: str
    firmware: str
    slot: str


@dataclass(frozen=True)
class _Row:
    drive: _Drive
    position: str
    number: int
    """Of the batch, counted over the repeats of its position."""
    batch: Batch


def _rows(store: FleetStore, host: FleetHost) -> Iterator[_Row]:
    """Yield the batches of one host; none if nothing of it was saved."""
    directory = store.host_directory(host.name)
    if not (directory / MANIFEST).is_file():
        return
    review = Review.open(directory)
    facts = {target.path: target for target in review.manifest.targets}
    for plan in review.manifest.plans:
        if len(plan.targets) == 1 and plan.targets[0] in facts:
            target = facts[plan.targets[0]]
            drive = _drive(host, target)
            for step in plan.steps:
                if step.judged and review.has(step.id):
                    measured = host_step(host, review, plan, step, target)
                    yield from _of_step(review, plan, measured, step, drive)


def _of_step(
    review: Review, plan: SuitePlan, step: HostStep, planned: StepPlan, drive: _Drive
) -> Iterator[_Row]:
    position = f"{plan.suite}: {name_of(planned, plan.axis)}"
    for direction, of_direction in batches_of(review, step).items():
        for batch in of_direction:
            number = planned.repeat * BATCHES + batch.number
            yield _Row(drive, f"{position}, {direction}", number, batch)


def _drive(host: FleetHost, target: TargetFacts) -> _Drive:
    """Return a drive. Its name is its serial number, or its host and path where it says none."""
    model = target.modelled.drive if target.modelled else target.model
    of_host = host.labels.get(SLOT, "") if len(host.targets) == 1 else ""
    return _Drive(
        target.serial or f"{host.name}:{target.path}",
        host.name,
        model or "",
        target.firmware or "",
        host.slots.get(target.path, of_host),
    )
