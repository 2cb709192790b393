"""Starts and ends the guardian of a tuning."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from iogauge.errors import IogaugeError
from iogauge.machine.tuning.door import Door
from iogauge.machine.tuning.guardian import READY
from iogauge.machine.tuning.journal import State
from iogauge.machine.tuning.owner import Owner

Guard = Callable[[State, Door], AbstractContextManager[None]]
"""Watches this process while the context lasts, and undoes what is left at its end."""


@contextlib.contextmanager
def guarded(state: State, door: Door) -> Iterator[None]:
    """Have a guardian watch this process; at the end of the context, wait until it has ended.

    Raises IogaugeError if it does not start: nothing is changed without it.
    """
    owner = Owner.of_this_process()
    arguments = [state.directory, door.sys, door.proc, owner.pid, owner.start]
    process = subprocess.Popen(
        [sys.executable, "-m", "iogauge.machine.tuning.guardian", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        start_new_session=True,
    )
    with process:  # closes the pipe, on which the guardian ends, and waits for it
        assert process.stdout is not None
        if process.stdout.read(1) != READY:
            raise IogaugeError(
                "the process that undoes the tuning did not start", hint="free memory, then try again"
            )
        yield
