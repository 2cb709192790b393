r"""``iogauge fleet review``: review the drives of many hosts at once, and save what each step measured.

Run published procedures on each TARGET of each host, save every host's review, and print which drives are slow. The
hosts are the processes of --local, the computers of a file (--hosts), or the workers of a Dask scheduler (--scheduler).
The file can name a host's targets, its labels and the slots of its drives. With --scheduler, the workers that the file
lists are the hosts.

--mode together starts every step at the same instant on all hosts: what they share, such as an array or a network, is
then under the pressure of all. --mode staggered lets each host start --stagger after the one before it. --mode
independent waits for nothing: each drive by itself, as fast as the fleet allows.

Before anything runs, each host is asked for its version, settings, clock, free space and targets. What differs between
hosts is printed, and the free space and clock of each. A host that cannot be reached, or has too little space, refuses.
Targets are refused as 'iogauge review' refuses them; --destroy names a host and a drive by its serial number. Beyond
this computer, connections need certificates ('iogauge fleet keys').

The fleet is a directory. A host that is lost is named as missing, and the others go on. Ctrl-C ends all hosts. --resume
DIRECTORY continues: it fetches what each host saved, and repeats what is missing.

    iogauge fleet review --local 4 model:p4800x --suite mixed

    iogauge fleet review --hosts hosts.toml --keys keys /dev/nvme0n1 \
        --suite mixed --destroy r1:SERIAL --destroy r2:SERIAL
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iogauge.cli.terminal import process, status, streams
from iogauge.cli.terminal.review_options import ReviewOptions, with_review_options
from iogauge.cli.terminal.shared_options import NewDirectory, Verbose

if TYPE_CHECKING:
    from iogauge.fleet import Fleet


class Mode(StrEnum):
    """``--mode``."""

    TOGETHER = "together"
    STAGGERED = "staggered"
    INDEPENDENT = "independent"


@with_review_options
def review(
    options: ReviewOptions,
    output: NewDirectory = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="DIRECTORY", help="Continue an interrupted fleet."),
    ] = None,
    local: Annotated[
        int | None,
        typer.Option(
            "--local", metavar="NUMBER", help="Let NUMBER processes of this computer act as hosts.", min=1
        ),
    ] = None,
    hosts: Annotated[
        Path | None,
        typer.Option(
            "--hosts", metavar="FILE", help="A TOML file of hosts: computers, or workers of --scheduler."
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option("--scheduler", metavar="ADDRESS", help="A Dask scheduler; its workers are the hosts."),
    ] = None,
    keys: Annotated[
        Path | None,
        typer.Option("--keys", metavar="DIRECTORY", help="What 'iogauge fleet keys' made."),
    ] = None,
    mode: Annotated[
        Mode | None,
        typer.Option("--mode", help="When hosts start their steps.  [default: together]"),
    ] = None,
    stagger: Annotated[
        str | None,
        typer.Option("--stagger", metavar="TIME", help="Between hosts that are staggered, such as 30s."),
    ] = None,
    destroy: Annotated[
        list[str] | None,
        typer.Option(
            "--destroy",
            metavar="HOST:SERIAL",
            help="Allow the contents of this drive or file of a host to be destroyed; repeatable.",
        ),
    ] = None,
    shared: Annotated[
        bool,
        typer.Option("--shared", help="Several hosts may use one drive, such as a volume of a shared array."),
    ] = False,
    reads_go_on: Annotated[
        bool,
        typer.Option("--reads-go-on", help="Reviews that only read go on if the controller is lost."),
    ] = False,
    yes: Annotated[
        bool,
        typer.Option("--yes", help="Begin without a question where hosts differ, refuse, or are written to."),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    verbose: Verbose = False,
) -> None:
    """Review a fleet, and print which of its drives are slow."""
    import iogauge.fleet as library
    from iogauge.cli.fleet import preflight
    from iogauge.cli.fleet.progress import FleetDisplay
    from iogauge.library.errors import Interrupted
    from iogauge.library.review import refuse_with_resume
    from iogauge.text import numbers

    process.begin()
    places = {"hosts": hosts, "scheduler": scheduler, "keys": keys}
    again = "".join(f" --{name} {numbers.argument(value)}" for name, value in places.items() if value)
    if resume is not None:
        others = {"output": output, "local": local, "mode": mode, "stagger": stagger}
        named = [*options.on_command_line, *(name for name, value in others.items() if value is not None)]
        refuse_with_resume([name for name in named if name != "meter"])
        planned: dict[str, Any] = {"resume": resume, "meter": options.meter}
    else:
        planned = {
            "targets": options.targets or (),
            "local": local,
            "output": output,
            "mode": "together" if mode is None else mode.value,
            "stagger": stagger or "0s",
            **options.for_library(),
        }
    try:
        with FleetDisplay() as display:
            fleet = library.review(
                hosts=hosts,
                scheduler=scheduler,
                keys=keys,
                destroy=destroy or (),
                shared=shared,
                reads_go_on=reads_go_on,
                on_preflight=partial(preflight.before, ask=not yes),
                on_progress=display,
                **planned,
            )
    except Interrupted as interrupted:
        stopped = interrupted
    else:
        show_made(fleet, as_json=as_json, verbose=verbose, resumed_with=again)
        return
    streams.say(f"{process.word()}: {stopped}")
    if stopped.path is not None:
        streams.say(f"hint: iogauge fleet review --resume {numbers.argument(stopped.path)}{again}")
    raise typer.Exit(process.status())


def show_made(fleet: Fleet, *, as_json: bool, verbose: bool, resumed_with: str = "") -> None:
    """Print a fleet that was just reviewed, and exit with an error if a host is missing.

    ``resumed_with``: the options that say again where its hosts are.
    """
    from iogauge.cli.fleet.show import print_view
    from iogauge.fleet.shown import view_of
    from iogauge.text import numbers

    view = view_of(fleet, every_group=verbose or as_json)
    quoted = numbers.argument(view.path)
    last = (f"everything: iogauge fleet show {quoted} -v", f"next: iogauge fleet report {quoted}")
    print_view(view, as_json=as_json, verbose=verbose, last=last)
    if view.missing:
        streams.say(f"hint: try what is missing again: iogauge fleet review --resume {quoted}{resumed_with}")
        raise typer.Exit(status.ERROR)
