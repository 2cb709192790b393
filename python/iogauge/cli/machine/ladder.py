"""``iogauge ladder``: what each tuning of the machine is worth, in microseconds.

Measure what each tuning of this machine is worth on TARGET, and print the answer first. TARGET is a block device, a
file or model:NAME. The rungs are those of Intel's evaluation guide, or those of a TOML file (--rungs); each rung keeps
the settings of those below it, or has its own alone (--one-at-a-time). Rungs that this machine cannot set are named.

The load is that of the guide: 4 KiB random reads one at a time, and 4 KiB random writes by four workers at depth 4.
Writes destroy data, so a block device needs --destroy, or --read-only for reads alone.

Every block measures stock, the machine as it is, twice, and every rung once, in random order. A difference between the
two stocks (A/A) is chance. At least six blocks are needed to establish an effect. The settings of a rung hold only
during its steps and are undone after each, even after SIGKILL, by a second process. A real target needs root.

A ladder is a saved review: 'iogauge review --resume DIRECTORY' continues it, 'iogauge report DIRECTORY' draws it.

    iogauge ladder /dev/nvme0n1 --read-only

    iogauge ladder model:p4800x
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import confirm, process, streams
from iogauge.cli.terminal.review_options import Pace
from iogauge.cli.terminal.shared_options import Destroy, NewDirectory, Runtime, Seed, Size

if TYPE_CHECKING:
    from iogauge.schema import Manifest


def ladder(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A block device, a file or model:NAME.")],
    rungs: Annotated[
        str | None, typer.Option("--rungs", metavar="FILE", help="A TOML file with rungs of your own.")
    ] = None,
    one_at_a_time: Annotated[
        bool, typer.Option("--one-at-a-time", help="Compare each rung's own settings alone with stock.")
    ] = False,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Measure reads alone; write nothing.")
    ] = False,
    blocks: Annotated[
        int,
        typer.Option("--blocks", metavar="NUMBER", help="How often each rung is measured.", min=1, max=1000),
    ] = 6,
    pace: Annotated[
        Pace, typer.Option("--pace", help="quick: seconds a step; standard and full: longer.")
    ] = Pace.QUICK,
    size: Size = None,
    runtime: Runtime = None,
    seed: Seed = None,
    output: NewDirectory = None,
    destroy: Destroy = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a ladder that writes much.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Measure a ladder and print what its rungs are worth."""
    # Import what takes long before process.begin: until then an interrupt costs nothing.
    import iogauge.execution
    import iogauge.suites  # noqa: F401
    from iogauge.cli.review import measure, show
    from iogauge.library import review as library
    from iogauge.library.tunings.ladder import SUITE, require_rungs
    from iogauge.library.tunings.rungs import LadderOptions

    process.begin()

    def planned(manifest: Manifest) -> None:
        require_rungs(manifest)
        if not yes:
            confirm.before(manifest)

    options = LadderOptions(one_at_a_time=one_at_a_time, reads_only=read_only)
    saved = library.begin(
        target,
        (),
        output=output,
        destroy=destroy or (),
        command=("iogauge", *sys.argv[1:]),
        on_plan=planned,
        say=streams.say,
        ladder=options if rungs is None else LadderOptions(**{**vars(options), "rungs": rungs}),
        suites=[SUITE],
        pace=pace.value,
        repeats=blocks,
        size=size,
        runtime=runtime,
        seed=seed,
    )
    failed = measure(saved, destroy=destroy or ())
    show(saved, (), failed, as_json=as_json)
