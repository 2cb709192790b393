"""A run on drive models instead of drives: what takes the kernel's place, in virtual time.

All targets of such a run are models, with one machine in front of them: nothing real can keep up with virtual time.
Nothing is probed or watched, for there is nobody else, and a machine model has as many CPUs as a job may name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from iogauge import _core
from iogauge.errors import IogaugeError
from iogauge.machine.judge import judge_row
from iogauge.run.core import drive
from iogauge.run.figures import row_figures
from iogauge.run.interrupts import Interrupts
from iogauge.run.planning import Opened, make_plan, seed_for
from iogauge.schema import (
    EngineKind,
    JobFile,
    RunPlan,
    RunRecord,
    RunResult,
    TargetFacts,
)
from iogauge.target import ModelTarget, Target

CPUS = range(4096)

_INTERVAL_NS = 60 * 10**9
"""The longest that a plan takes: nobody listens."""


class Virtual:
    """Drive models, and the machine in front of them. ``targets``: every path that the jobs name."""

    def __init__(self, targets: Mapping[str, ModelTarget]) -> None:
        self._drives = tuple(targets.values())
        self.opened = {
            path: Opened(fd=index, size_bytes=target.size_bytes, writable=True, is_block_device=True)
            for index, (path, target) in enumerate(targets.items())
        }
        """A file's ``fd`` is the place of its drive."""

    @classmethod
    def of(cls, targets: Mapping[str, Target], jobs: JobFile) -> Virtual | None:
        """Return what the targets are where they are models; None where they are real.

        Raises IogaugeError: some are models and some are not, or different machines are in front of them.
        """
        models = {path: target for path, target in targets.items() if isinstance(target, ModelTarget)}
        if not models:
            return None
        for path in targets:
            if path not in models:
                raise IogaugeError(
                    f"{path}: is real, and {next(iter(models))} is a model: they do not share a clock",
                    hint="run the jobs of the one and of the other by themselves, or put a stonewall into two files",
                )
        if null := [job.name for job in jobs.jobs if job.ioengine is EngineKind.NULL]:
            raise IogaugeError(
                f"{null[0]}: ioengine=null has no drive, and the others have models",
                hint="model:ram is the drive that costs nothing",
            )
        machines = {target.machine_name: path for path, target in models.items()}
        if len(machines) > 1:
            (one, path), (other, beside), *_ = machines.items()
            raise IogaugeError(
                f"{path} stands behind {one}, and {beside} behind {other}: a run has one machine",
                hint=f"write {path.partition('@')[0]}@{other}",
            )
        return cls(models)

    def start(self, plan: RunPlan) -> _core.ModelHandle:
        """Begin a run. Raises CoreError: a parameter of a model is out of its range."""
        drives = [
            (target.drive, seed_for(plan.seed, "drive", index)) for index, target in enumerate(self._drives)
        ]
        return _core.ModelHandle(plan.model_dump_json(), drives, self._drives[0].machine)

    @staticmethod
    def judged(record: RunRecord) -> RunRecord:
        """Return the record with the warnings that its figures deserve: of the machine it ran on there are none."""
        found = [one for row in row_figures(record) for one in judge_row(row, ceiling=None)]
        return record.model_copy(update={"warnings": tuple(dict.fromkeys(found))})


def simulate(
    jobs: JobFile,
    drives: Mapping[str, Mapping[str, Any]],
    machine: Mapping[str, Any],
    *,
    seed: int,
    interrupts: Interrupts,
) -> RunResult:
    """Run jobs on drives that are in no file: what a fit tries out. No progress, no record, no warnings.

    ``drives``: parameters by the names that the jobs' files have. ``interrupts`` has been entered. Raises
    IogaugeError: a parameter is out of its range.
    """
    machine_text = json.dumps(machine)
    targets = {
        path: ModelTarget(
            TargetFacts(path=path, kind="model", size_bytes=parameters["capacity_bytes"]),
            drive=json.dumps(parameters),
            machine=machine_text,
            machine_name="",
        )
        for path, parameters in drives.items()
    }
    virtual = Virtual(targets)
    plan = make_plan(
        jobs,
        virtual.opened,
        seed=seed,
        interval_ns=_INTERVAL_NS,
        give_up_ns=_INTERVAL_NS,
        request_log=False,
        cpus=CPUS,
    )
    return drive(plan, start=virtual.start, interrupts=interrupts)
