"""Undoes, before a command of root begins, what a killed process left of its tuning and its tracing."""

from __future__ import annotations

import os
from pathlib import Path

from iogauge.cli.terminal import streams
from iogauge.errors import IogaugeError
from iogauge.machine.tuning import STATE_DIRECTORY

TRACING = Path("/sys/kernel/tracing")
"""Where tracefs is mounted; to look at its older place would mount it."""


def undo() -> None:
    """Look whether anything was left, which takes no time; only then import what undoes it.

    What cannot be undone is said and does not keep a command from running: only those that tune refuse.
    """
    if os.geteuid() != 0:
        return
    try:
        _undo()
    except IogaugeError as error:
        streams.say(error.render(kind="warning"))


def _undo() -> None:
    if any(TRACING.glob("instances/iogauge-*")):
        from iogauge.machine.trace.tracefs import remove_left

        remove_left(TRACING)
    if (STATE_DIRECTORY / "journal.jsonl").exists():
        from iogauge.machine.tuning.session import recover
        from iogauge.target.users.sysfs import HOST

        recover(HOST, streams.say, state_dir=STATE_DIRECTORY)
