"""A run on drive models instead of drives: what takes the kernel's place, in virtual time.

All targets of such a run are models, with one machine in front of them: nothing real can keep up with virtual time.
Nothing is probed or watched, for there is nobody else, and a machine model has as many CPUs as a job may name.
"""

from __future__ import annotations

from collections.abc import Mapping

from iogauge import _core
from iogauge.errors import IogaugeError
from iogauge.machine.judge import judge_row
from iogauge.run.figures import row_figures
from iogauge.run.planning import Opened, seed_for
from iogauge.schema import (
    EngineKind,
    JobFile,
    RunPlan,
    RunRecord,
)
from iogauge.target import ModelTarget, Target

CPUS = range(4096)


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
