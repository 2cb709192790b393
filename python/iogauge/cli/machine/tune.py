"""``iogauge tune``: tune a machine for low latency while a command runs, and put everything back.

Run COMMAND, which follows --, on a machine that is tuned for low latency, and put every setting back afterwards. A
profile says which settings of processors and kernel are changed and, with TARGET, which of the drive, its link,
interrupts and block layer. They are put back after errors and signals, too, and by a second process if this one is
killed. Messages name the settings that this machine cannot change, and those that somebody else has changed meanwhile.

The exit status is COMMAND's. With --apply in place of COMMAND, the tuning stays until --undo or the next start of the
machine. A profile is latency, published-linux, or the path of your own TOML file. Needs root.

    iogauge tune --profile latency /dev/nvme0n1 -- iogauge run job.fio
"""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from iogauge.cli.terminal import child, process, streams
from iogauge.errors import UsageError

CONTEXT: dict[str, Any] = {"allow_extra_args": True}


def tune(
    context: typer.Context,
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="A drive, or a file on it.", show_default=False)
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="latency, published-linux, or the path of a TOML file.  [default: latency]",
            show_default=False,
        ),
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Tune until --undo or the next start.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Put back what --apply changed.")] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Show what is tuned, by whom, since when.")
    ] = False,
) -> None:
    """Tune, run, put back."""
    from iogauge.library import tuning

    command = context.args
    if sum([bool(command), apply, undo, status]) != 1:
        raise UsageError(
            "name one thing to do: a command after --, --apply, --undo or --status",
            hint="for example: iogauge tune --profile latency /dev/nvme0n1 -- fio job.fio",
        )
    if (undo or status) and (target or profile):
        raise UsageError(
            f"{'--undo' if undo else '--status'} takes no target and no --profile",
            hint="it is about the one tuning that this machine has",
        )
    profile = profile or "latency"
    if command:
        child.require_program(command[0])
    process.begin()
    process.end_on_hangup()
    if status:
        streams.show(str(tuning.tuning_status()))
    elif undo:
        if tuning.undo_tuning(on_message=streams.say) is None:
            streams.say("nothing is tuned")
    elif apply:
        tuning.apply_tuning(profile, target, on_message=streams.say)
    else:
        with tuning.tune(profile, target, on_message=streams.say, command=shlex.join(command)):
            exit_status = child.run(command)
        raise typer.Exit(exit_status)
