"""Runs jobs on drive models in virtual time.

All targets of such a run are models behind one machine model, since a real drive cannot follow virtual time. Nothing is
probed or watched: nothing else uses a model. A machine model has every CPU that a job may name.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from iogauge import _core, catalog
from iogauge.errors import IogaugeError
from iogauge.execution.core import run_plan
from iogauge.execution.figures import row_figures
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.plans.planning import Opened, make_plan
from iogauge.machine.judge import judge_row, unfinished
from iogauge.schema import (
    EngineKind,
    ExplainedRun,
    JobFile,
    PartMeaning,
    RowParts,
    RunPlan,
    RunRecord,
    RunResult,
)
from iogauge.target import ModelTarget, Target, is_model
from iogauge.text.option import call
from iogauge.workload.regions import seed_for

CPUS = range(4096)

Parameters = Mapping[str, Any]
"""Parameters of a model, in the core's form."""

_INTERVAL_NS = 60 * 10**9
"""The longest interval that a plan may have, since the intervals are not used."""


def check_model(drive: catalog.ModelFile, machine: catalog.ModelFile) -> None:
    """Raise IogaugeError if a parameter is missing, unknown or out of its range, as the core checks it.

    >>> from iogauge import catalog
    >>> check_model(catalog.drive("ram"), catalog.machine("ideal"))
    """
    try:
        _core.check_model(json.dumps(drive.parameters), json.dumps(machine.parameters))
    except _core.CoreError as error:
        what, _, cause = str(error.args[0]).partition(": ")
        file = drive if what == "drive" else machine
        raise IogaugeError(
            f"{file.path}: parameters: {cause}", hint=f"compare with another {what}: {call('model', 'NAME')}"
        ) from None


def refuse_mixture(job_file: JobFile, paths: Collection[str]) -> None:
    """Raise IogaugeError if only some of the targets are models. Open no target.

    ``paths``: every path that the jobs name.
    """
    modelled = [path for path in paths if is_model(path)]
    if not modelled:
        return
    if real := [path for path in paths if not is_model(path)]:
        raise IogaugeError(
            f"{real[0]} is real, and {modelled[0]} is a model: they do not share a clock",
            hint="run the jobs on real targets and the jobs on models separately",
        )
    if null := [job.name for job in job_file.jobs if job.ioengine is EngineKind.NULL]:
        raise IogaugeError(
            f"{null[0]}: ioengine=null has no drive, and other jobs use drive models",
            hint=f"use {catalog.PREFIX}ram, a drive model that takes no time",
        )


class Virtual:
    """The drive models of a run, by the paths that its jobs name, and the machine in front of them."""

    def __init__(self, drives: Mapping[str, Parameters], machine: Parameters) -> None:
        self._drives = [json.dumps(parameters) for parameters in drives.values()]
        self._machine = json.dumps(machine)
        self.opened = {
            path: Opened(
                fd=index, size_bytes=parameters["capacity_bytes"], writable=True, is_block_device=True
            )
            for index, (path, parameters) in enumerate(drives.items())
        }
        """The ``fd`` of a file is the index of its drive."""

    @classmethod
    def of(cls, targets: Mapping[str, Target]) -> Virtual | None:
        """Return the models of the targets; None: the targets are real.

        Raises IogaugeError if the models have different machines, or the core refuses a parameter.
        """
        modelled = {path: target for path, target in targets.items() if isinstance(target, ModelTarget)}
        if not modelled:
            return None
        (path, first), *others = modelled.items()
        machine = catalog.split(path)[1] or first.machine.name
        for other_path, other in others:
            if other.machine.path != first.machine.path:
                raise IogaugeError(
                    f"{path} is behind the machine {first.machine.name}, and {other_path} behind {other.machine.name}: "
                    "a run has one machine",
                    hint=f"write {catalog.PREFIX}{catalog.split(other_path)[0]}@{machine}",
                )
        for target in modelled.values():
            check_model(target.drive, target.machine)
        drives = {path: target.drive.parameters for path, target in modelled.items()}
        return cls(drives, first.machine.parameters)

    def start(self, plan: RunPlan, spill: int | None = None, *, explain: bool = False) -> _core.ModelHandle:
        """Begin a run, whose requests are logged to the descriptor ``spill``. Raises CoreError if it cannot begin.

        ``explain``: the core says where the time of the requests went.
        """
        drives = [(text, seed_for(plan.seed, "drive", index)) for index, text in enumerate(self._drives)]
        return _core.ModelHandle(plan.model_dump_json(), drives, self._machine, spill, explain)

    @staticmethod
    def judged(record: RunRecord) -> RunRecord:
        """Return the record with warnings about its figures. There are none about the machine, which is a model."""
        warnings = [
            *unfinished(record.result),
            *(warning for row in row_figures(record) for warning in judge_row(row, ceiling=None)),
        ]
        return record.model_copy(update={"warnings": tuple(dict.fromkeys(warnings))})


def simulate(
    jobs: JobFile,
    drives: Mapping[str, Parameters],
    machine: Parameters,
    *,
    seed: int,
    interrupts: Interrupts,
) -> RunResult:
    """Run jobs on drives without model files, as a fit does, and return the result alone.

    ``drives`` are parameters by the file names of the jobs. ``interrupts`` must be entered. Raises IogaugeError if a
    parameter is out of its range, and KeyboardInterrupt if the run was interrupted.
    """
    virtual = Virtual(drives, machine)
    result = run_plan(_plan(jobs, virtual, seed), start=virtual.start, interrupts=interrupts)
    if interrupts.count:
        raise KeyboardInterrupt
    return result


def explain(
    jobs: JobFile,
    drives: Mapping[str, Parameters],
    machine: Parameters,
    *,
    seed: int,
    interrupts: Interrupts,
) -> tuple[RunResult, list[RowParts]]:
    """Run jobs as ``simulate`` does, and return also where the time of each row's requests went."""
    virtual = Virtual(drives, machine)
    rows: list[RowParts] = []
    result = run_plan(
        _plan(jobs, virtual, seed),
        start=lambda plan, _: virtual.start(plan, explain=True),
        interrupts=interrupts,
        on_explained=rows.append,
    )
    if interrupts.count:
        raise KeyboardInterrupt
    return result, rows


def part_meanings() -> tuple[PartMeaning, ...]:
    """Return the parts of a modelled request's latency, in the order in which a request comes to them.

    >>> [part.name for part in part_meanings() if part.host]
    ['submission', 'noise', 'idle exit', 'wake-up', 'busy thread']
    """
    return tuple(PartMeaning.model_validate(part) for part in json.loads(_core.model_parts()))


def explained_run(rows: Sequence[RowParts]) -> ExplainedRun:
    """Return where the time of a run went, with what its parts mean."""
    used = {
        part
        for row in rows
        for parts in row.directions.values()
        for of in (parts, *parts.bands)
        for part in of.parts_ns
    }
    return ExplainedRun(parts=tuple(part for part in part_meanings() if part.name in used), rows=tuple(rows))


def _plan(jobs: JobFile, virtual: Virtual, seed: int) -> RunPlan:
    return make_plan(
        jobs,
        virtual.opened,
        seed=seed,
        interval_ns=_INTERVAL_NS,
        give_up_ns=_INTERVAL_NS,
        request_log=False,
        cpus=CPUS,
        spins=False,
    )
