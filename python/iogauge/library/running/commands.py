"""Runs the commands of jobs, before and after a run: fio's exec_prerun and exec_postrun.

A command is what a user's shell makes of it, so a job file with one is a program. It is run only if ``allow_exec`` says
so (``execution.refusals``). What it prints goes into ``JOB.prerun.txt`` or ``JOB.postrun.txt``. As in fio, each
clone runs it once, and a command before the run that fails ends the run before it begins.

Source: fio 3.33's backend.c (exec_string, thread_main).
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile
from iogauge.store.outputs import Claims, Existing, Output

_NAMES = ("prerun", "postrun")


class JobCommands:
    """The commands of a job file, and where their output goes."""

    def __init__(self, jobs: JobFile, claims: Claims, *, say: Callable[[str], None]) -> None:
        """Claim the outputs. Raises IogaugeError if one must not be written."""
        self._say = say
        self._commands: dict[str, list[tuple[str, str, Output]]] = {name: [] for name in _NAMES}
        for job in jobs.jobs:
            for name, commands in self._commands.items():
                command = getattr(job, f"exec_{name}")
                if command:
                    output = claims.file(Path(f"{job.name}.{name}.txt"), existing=Existing.REPLACE)
                    commands.extend([(job.name, command, output)] * job.numjobs)

    def before(self) -> None:
        """Run the commands before the run. Raises IogaugeError if one fails."""
        for job, status in self._run("prerun"):
            if status:
                raise IogaugeError(
                    f"{job}: exec_prerun ended with status {status}", hint=f"{job}.prerun.txt has its output"
                )

    def after(self) -> None:
        """Run the commands after the run. A command that fails is only reported, as in fio."""
        for job, status in self._run("postrun"):
            if status:
                self._say(f"{job}: exec_postrun ended with status {status}")

    def _run(self, name: str) -> list[tuple[str, int]]:
        ended = []
        for job, command, output in self._commands[name]:
            self._say(f"{job}: running exec_{name}, whose output goes to {job}.{name}.txt")
            done = subprocess.run(
                ["/bin/sh", "-c", command],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
            output.write(done.stdout)
            ended.append((job, done.returncode))
            if done.returncode and name == "prerun":
                break
        return ended
