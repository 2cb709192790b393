"""``iogauge import``: save results of fio or DiskSpd as a review.

Save results of fio or DiskSpd as a review.

FILE is what fio wrote with --output-format=json or json+, with its logs in the same directory, or what DiskSpd wrote as
XML or text. Several files become the steps of one review, in the order of the command line. If a file counts its
latencies (fio's json+), iogauge judges them like its own; if it has only percentiles, they are kept and shown as they
are.

DIRECTORY is what 'iogauge plan --as' wrote, with the results of its script. They become the steps of the planned
review. Steps that depend on results are then written into DIRECTORY: run the script again, which runs only steps
without a result, and import again with the same --output, until no step is left.

'list', 'show', 'compare', 'query' and 'export' read the review like any other.

    iogauge import fio.json --output saved
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, status, streams
from iogauge.text import numbers


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...|DIRECTORY", help="Results of fio or DiskSpd.", show_default=False),
    ],
    output: Annotated[
        Path, typer.Option("--output", metavar="DIRECTORY", help="Where to save.", show_default=False)
    ],
) -> None:
    """Save the review and print its directory."""
    from iogauge.library.reading import imported

    process.begin()
    imported.claim(files, output)
    if files[0].is_dir():
        _import_directory(files[0], output)
        return
    review, said = imported.save(files, output, command=("iogauge", *sys.argv[1:]))
    for text in said:
        streams.say(f"warning: {text}")
    streams.show(f"{review.path}\n")
    streams.say(f"next: iogauge show {numbers.argument(review.path)}")


def _import_directory(directory: Path, output: Path) -> None:
    """Save the results in a plan's directory. Say which are missing, and what to do next."""
    from iogauge.reviews.offline import SCRIPTS, import_results, reasons
    from iogauge.suites import suite_of

    imported = import_results(directory, output, suite_of, say=streams.say)
    streams.show(f"{output}\n")
    for text in imported.warnings:
        streams.say(f"warning: {text}")
    for reason, hint, ids in reasons(imported.impossible):
        count = numbers.counted(len(ids), "step")
        streams.say(f"warning: {count} cannot be run by {imported.program}, from {ids[0]} on: {reason}")
        if hint:
            streams.say(f"   hint: {hint}")
    for error in imported.damaged:
        streams.say(error.render())
    if imported.depend:
        streams.say(
            f"{numbers.counted(len(imported.depend), 'result')} count only when the steps before them have results too"
        )
    steps = numbers.counted(imported.imported, "step")
    again = f"iogauge import {numbers.argument(directory)} --output {numbers.argument(output)}"
    script = directory / SCRIPTS[imported.program]
    if imported.damaged:
        bad = numbers.counted(len(imported.damaged), "result")
        are, them = ("is", "it") if len(imported.damaged) == 1 else ("are", "them")
        streams.say(f"{bad} {are} damaged: remove {them} as the hints say, run {script}, then: {again}")
    if imported.missing:
        more = numbers.counted(len(imported.missing), "step")
        streams.say(f"{steps} imported; {more} to run: run {script}, then: {again}")
        if imported.held:
            streams.say(f"{numbers.counted(imported.held, 'step')} more follow when these are complete")
    elif imported.damaged:
        streams.say(f"{steps} imported")
    else:
        rest = f"all that {imported.program} can run" if imported.impossible else "none is missing"
        streams.say(f"{steps} imported; {rest}")
    streams.say(f"next: iogauge show {numbers.argument(output)}")
    if imported.damaged:
        raise typer.Exit(status.ERROR)
