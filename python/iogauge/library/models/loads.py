"""Pairs of explained runs of the same jobs, on a model and on a changed one."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
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
    label, runs = "running the jobs", count * len(models)
    on_progress(Progress(event="begin", step=label))
    with Interrupts() as interrupts:

        def replicated(number: int, drive: ModelFile, machine: ModelFile) -> Replication:
            own_seed = seed if number == 0 else seed_for(seed, "replication", number)
            drives = {path: drive.parameters}
            result, rows = explain(jobs, drives, machine.parameters, seed=own_seed, interrupts=interrupts)
            return Replication(tuple(explained_loads(result, rows, order)))

        # A run depends on its seed alone, and the core releases the GIL.
        done = []
        with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as threads:
            begun = [
                threads.submit(replicated, number, *model) for number in range(count) for model in models
            ]
            try:
                for number, run in enumerate(begun, start=1):
                    done.append(run.result())
                    on_progress(Progress(event="part", step=label, number=number, steps=runs))
            finally:
                threads.shutdown(cancel_futures=True)
    apart = len(models)
    return [(done[place], done[place + apart - 1]) for place in range(0, runs, apart)]
