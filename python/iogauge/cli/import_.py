"""``iogauge import``: save results of fio or DiskSpd as a review.

FILE is what fio wrote with --output-format=json or json+, with its logs beside it, or what DiskSpd wrote as XML or as
text. Several become the steps of one review, in the order in which they are named. Where a file has the counts of its
latencies (fio's json+), they are judged like ours; where it has only percentiles, these are kept and shown as the
figures they are.

'list', 'show', 'compare', 'query' and 'export' read the review like any other.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli import process, streams


def import_(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Results of fio or DiskSpd.", show_default=False)
    ],
    output: Annotated[
        Path, typer.Option("--output", metavar="DIRECTORY", help="Where to save.", show_default=False)
    ],
) -> None:
    """Save the review and print its directory."""
    from iogauge.run.import_review import save_imported
    from iogauge.store.imported import read_foreign

    process.begin()
    steps = [step for file in files for step in read_foreign(file)]
    review, said = save_imported(steps, output, command=("iogauge", *sys.argv[1:]))
    for text in said:
        streams.say(f"warning: {text}")
    streams.show(f"{review.path}\n")
    streams.say(f"next: iogauge show {shlex.quote(str(review.path))}")
