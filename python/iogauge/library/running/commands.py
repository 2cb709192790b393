"""Runs the commands of jobs, before and after their stage: fio's exec_prerun and exec_postrun.

A command is what a user's shell makes of it, so a job file with one is a program. It is run only if ``allow_exec`` says
so (``execution.refusals``). What it prints goes into ``JOB.prerun.txt`` or ``JOB.postrun.txt``. As in fio, each
clone runs it once. If an exec_prerun fails, the run ends; in fio its job alone does not begin.

Source: fio 3.33's backend.c (exec_string, thread_main).
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.execution.interrupts import Interrupts
from iogauge.schema import JobFile
from iogauge.store.outputs import Claims, Existing, Output
from iogauge.workload.stages import stages

_NAMES = ("prerun", "postrun")


@dataclass(frozen=True)
class _Command:
    job: str
    name: str
    stage: int
    text: str
    output: Output


class JobCommands:
    """The commands of a job file, and where their output goes."""

    def __init__(self, jobs: JobFile, claims: Claims, *, say: Callable[[str], None]) -> None:
        """Claim the outputs. Raises IogaugeError if one must not be written."""
        self._say = say
        self._begun = 0
        self._commands: list[_Command] = []
        for job, stage in zip(jobs.jobs, stages(jobs.jobs), strict=True):
            for name in _NAMES:
                if command := getattr(job, f"exec_{name}"):
                    output = claims.file(Path(f"{job.name}.{name}.txt"), existing=Existing.REPLACE)
                    self._commands.extend([_Command(job.name, name, stage, command, output)] * job.numjobs)

    def before(self, stage: int, interrupted: Callable[[], bool] = lambda: False) -> None:
        """Run the exec_postrun commands of stages that ended, then the exec_prerun commands of this stage.

        After an interrupt no further command begins. A failed exec_postrun is only reported, as in fio. Raises
        IogaugeError if an exec_prerun fails.
        """
        ended, self._begun = range(self._begun, stage), stage
        self._after(ended, interrupted)
        for command in self._of("prerun", [stage]):
            if interrupted():
                return
            if status := self._status(command):
                raise IogaugeError(
                    f"{command.job}: exec_prerun ended with status {status}",
                    hint=f"{command.job}.prerun.txt has its output",
                )

    def after(self, stage: int) -> None:
        """Run the exec_postrun commands up to this stage, the last that began."""
        with Interrupts() as interrupts:
            self._after(range(self._begun, stage + 1), lambda: interrupts.count > 0)

    def _after(self, ended: Iterable[int], interrupted: Callable[[], bool]) -> None:
        for command in self._of("postrun", ended):
            if interrupted():
                return
            try:
                if status := self._status(command):
                    self._say(f"{command.job}: exec_postrun ended with status {status}")
            except IogaugeError as error:
                # What was measured must not be lost for it.
                self._say(error.render())

    def _of(self, name: str, of_stages: Iterable[int]) -> list[_Command]:
        wanted = set(of_stages)
        return [command for command in self._commands if command.name == name and command.stage in wanted]

    def _status(self, command: _Command) -> int:
        job, name = command.job, command.name
        self._say(f"{job}: running exec_{name}, whose output goes to {job}.{name}.txt")
        done = subprocess.run(
            ["/bin/sh", "-c", command.text],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        command.output.write(done.stdout)
        return done.returncode
