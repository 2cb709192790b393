"""A run on drive models instead of drives: what takes the kernel's place, in virtual time.

All targets of such a run are models, with one machine in front of them: nothing real can keep up with virtual time.
Nothing is probed or watched, for there is nobody else, and a machine model has as many CPUs as a job may name.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Any

from iogauge import _core, catalog
from iogauge.errors import IogaugeError
from iogauge.execution.core import drive
from iogauge.execution.figures import row_figures
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.planning import Opened, make_plan, seed_for
from iogauge.machine.judge import judge_row
from iogauge.schema import (
    EngineKind,
    JobFile,
    RunPlan,
    RunRecord,
    RunResult,
)
from iogauge.target import ModelTarget, Target, is_model

CPUS = range(4096)

Parameters = Mapping[str, Any]
"""Of a model, as the core takes them."""

_INTERVAL_NS = 60 * 10**9
"""The longest that a plan takes: nobody listens."""


def check_model(drive: catalog.ModelFile, machine: catalog.ModelFile) -> None:
    """Raise IogaugeError where a parameter is missing, not known or out of its range, which the core alone knows.

    >>> from iogauge import catalog
    >>> check_model(catalog.drive("ram"), catalog.machine("ideal"))
    """
    try:
        _core.check_model(json.dumps(drive.parameters), json.dumps(machine.parameters))
    except _core.CoreError as error:
        what, _, cause = str(error.args[0]).partition(": ")
        file = drive if what == "drive" else machine
        raise IogaugeError(
            f"{file.path}: parameters: {cause}", hint=f"iogauge model show has what another {what} says there"
        ) from None


def refuse_mixture(job_file: JobFile, paths: Collection[str]) -> None:
    """Raise IogaugeError where some jobs are on models and some are not, before anything of theirs is touched.

    ``paths``: every path that the jobs name.
    """
    modelled = [path for path in paths if is_model(path)]
    if not modelled:
        return
    if real := [path for path in paths if not is_model(path)]:
        raise IogaugeError(
            f"{real[0]}: is real, and {modelled[0]} is a model: they do not share a clock",
            hint="run the jobs on the one and those on the other by themselves",
        )
    if null := [job.name for job in job_file.jobs if job.ioengine is EngineKind.NULL]:
        raise IogaugeError(
            f"{null[0]}: ioengine=null has no drive, and the others have models",
            hint=f"{catalog.PREFIX}ram is the drive that costs nothing",
        )


class Virtual:
    """Drive models, by every path that the jobs name, and the machine in front of them."""

    def __init__(self, drives: Mapping[str, Parameters], machine: Parameters) -> None:
        self._drives = [json.dumps(parameters) for parameters in drives.values()]
        self._machine = json.dumps(machine)
        self.opened = {
            path: Opened(
                fd=index, size_bytes=parameters["capacity_bytes"], writable=True, is_block_device=True
            )
            for index, (path, parameters) in enumerate(drives.items())
        }
        """A file's ``fd`` is the place of its drive."""

    @classmethod
    def of(cls, targets: Mapping[str, Target]) -> Virtual | None:
        """Return what the targets are where they are models; None where they are real.

        Raises IogaugeError: different machines are in front of them, or a parameter is not what the core takes.
        """
        modelled = {path: target for path, target in targets.items() if isinstance(target, ModelTarget)}
        if not modelled:
            return None
        (path, first), *others = modelled.items()
        machine = catalog.split(path)[1] or first.machine.name
        for beside, other in others:
            if other.machine.path != first.machine.path:
                raise IogaugeError(
                    f"{path} stands behind {first.machine.name}, and {beside} behind {other.machine.name}: "
                    "a run has one machine",
                    hint=f"write {catalog.PREFIX}{catalog.split(beside)[0]}@{machine}",
                )
        for target in modelled.values():
            check_model(target.drive, target.machine)
        drives = {path: target.drive.parameters for path, target in modelled.items()}
        return cls(drives, first.machine.parameters)

    def start(self, plan: RunPlan, spill: int | None = None) -> _core.ModelHandle:
        """Begin a run; requests go to the descriptor ``spill``. Raises CoreError where it cannot be."""
        drives = [(each, seed_for(plan.seed, "drive", index)) for index, each in enumerate(self._drives)]
        return _core.ModelHandle(plan.model_dump_json(), drives, self._machine, spill)

    @staticmethod
    def judged(record: RunRecord) -> RunRecord:
        """Return the record with the warnings that its figures deserve: of the machine it ran on there are none."""
        found = [one for row in row_figures(record) for one in judge_row(row, ceiling=None)]
        return record.model_copy(update={"warnings": tuple(dict.fromkeys(found))})


def simulate(
    jobs: JobFile,
    drives: Mapping[str, Parameters],
    machine: Parameters,
    *,
    seed: int,
    interrupts: Interrupts,
) -> RunResult:
    """Run jobs on drives that are in no file: what a fit tries out. No progress, no record, no warnings.

    ``drives``: parameters by the names that the jobs' files have. ``interrupts`` has been entered. Raises
    IogaugeError: a parameter is out of its range; KeyboardInterrupt: it was interrupted, and is not whole.
    """
    virtual = Virtual(drives, machine)
    plan = make_plan(
        jobs,
        virtual.opened,
        seed=seed,
        interval_ns=_INTERVAL_NS,
        give_up_ns=_INTERVAL_NS,
        request_log=False,
        cpus=CPUS,
        spins=False,
    )
    result = drive(plan, start=virtual.start, interrupts=interrupts)
    if interrupts.count:
        raise KeyboardInterrupt
    return result
