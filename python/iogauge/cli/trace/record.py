"""``iogauge trace record``: record the requests of a disk.

Record the requests of a disk as a trace, with the kernel's events of the block layer (tracefs): while the COMMAND
after -- runs, for --runtime, or until Ctrl-C. It changes nothing on the disk, and records what every program does
there. Needs root.

A request is what a program or file system sent, before it was merged or split. If events come faster than they can be
taken, the kernel loses some. They are counted, and the trace is marked lossy.

Exit status: that of COMMAND; without one, 0.

    iogauge trace record /dev/nvme0n1 --output t.trace -- fio job.fio

    iogauge trace record /dev/nvme0n1 --output t.trace --runtime 60s
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from iogauge.cli.terminal import child, process, streams
from iogauge.errors import UsageError

CONTEXT: dict[str, Any] = {"allow_extra_args": True}


def record(
    context: typer.Context,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The disk.", show_default=False)],
    output: Annotated[
        Path, typer.Option("--output", metavar="TRACE", help="The trace to write.", show_default=False)
    ],
    runtime: Annotated[
        str | None, typer.Option("--runtime", metavar="TIME", help="How long to record, such as 60s.")
    ] = None,
) -> None:
    """Record, and print the trace's name."""
    from iogauge.library.quantities import time_ns
    from iogauge.library.traces.recorded import record_trace
    from iogauge.text import numbers

    command = context.args
    if command and runtime is not None:
        raise UsageError("--runtime and a command both say how long to record", hint="leave out one of them")
    if command:
        child.require_program(command[0])
    lasts_s = time_ns(runtime, name="runtime") / 1e9 if runtime is not None else None
    process.begin()
    exit_status = 0
    with record_trace(target, output, on_message=lambda text: streams.say(f"warning: {text}")) as recording:
        if command:
            exit_status = child.run(command)
        else:
            _wait(lasts_s)
    assert recording.facts is not None
    streams.show(f"{output}\n")
    streams.say(
        f"{numbers.counted(recording.facts.requests, 'request')}; next: iogauge trace show "
        f"{numbers.argument(output)}"
    )
    if exit_status:
        raise typer.Exit(exit_status)


def _wait(lasts_s: float | None) -> None:
    """Wait so long, or until Ctrl-C."""
    if lasts_s is None:
        streams.say("recording until Ctrl-C")
    end_s = None if lasts_s is None else time.monotonic() + lasts_s
    try:
        while end_s is None or time.monotonic() < end_s:
            time.sleep(1.0 if end_s is None else max(min(end_s - time.monotonic(), 1.0), 0.0))
    except KeyboardInterrupt:
        return
