"""Pairs of explained runs of the same jobs, on a model and on a changed one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iogauge.library.progress import OnProgress, Progress
from iogauge.results.explained.loads import ExplainedLoad, explained_loads
from iogauge.schema import JobFile

if TYPE_CHECKING:
    from iogauge.catalog import ModelFile


@dataclass(frozen=True)
class Replication:
    """One run of the jobs."""

    loads: tuple[ExplainedLoad, ...]


def replications(
    jobs: JobFile,
    models: Sequence[tuple[ModelFile, ModelFile]],
    *,
    seed: int,
    count: int,
    on_progress: OnProgress,
) -> list[tuple[Replication, Replication]]:
    """Run the jobs ``count`` times on each model, a drive and its machine, with the same seeds; return the runs of the
    first and the last model in pairs. Raises IogaugeError if the jobs cannot be planned.
    """
    from iogauge.execution.interrupts import Interrupts
    from iogauge.execution.modelled import explain, part_meanings
    from iogauge.workload.regions import seed_for

    order = {meaning.name: place for place, meaning in enumerate(part_meanings())}
    (path,) = {name for job in jobs.jobs for name in job.filenames}
    label, runs = "runs of the jobs", count * len(models)
    on_progress(Progress(event="begin", step=label))
    pairs = []
    with Interrupts() as interrupts:
        for number in range(count):
            own_seed = seed if number == 0 else seed_for(seed, "replication", number)
            run = []
            for place, (drive, machine) in enumerate(models):
                drives = {path: drive.parameters}
                result, rows = explain(jobs, drives, machine.parameters, seed=own_seed, interrupts=interrupts)
                run.append(Replication(tuple(explained_loads(result, rows, order))))
                done = number * len(models) + place + 1
                on_progress(Progress(event="part", step=label, number=done, steps=runs))
            pairs.append((run[0], run[-1]))
    return pairs
