"""Options that several commands have, each declared once."""

from pathlib import Path
from typing import Annotated

import typer

NewDirectory = Annotated[
    Path | None,
    typer.Option("--output", metavar="DIRECTORY", help="Where to save.  [default: a new directory here]"),
]
Destroy = Annotated[
    list[str] | None,
    typer.Option(
        "--destroy",
        metavar="SERIAL-OR-PATH",
        help="Allow the contents of this drive or file to be destroyed; repeatable.",
    ),
]
TraceLatency = Annotated[
    bool,
    typer.Option(
        "--trace-latency",
        help="Trace how long requests wait in the block layer, and how long in the device; needs root.",
    ),
]
Size = Annotated[
    str | None, typer.Option("--size", metavar="BYTES", help="How much of the target to use, such as 4g.")
]
Runtime = Annotated[
    str | None, typer.Option("--runtime", metavar="TIME", help="Measured time of each step, such as 10s.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="NUMBER", help="Seed of all random choices: the same seed repeats them.", min=0
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose", "-v", help="Print everything: all tables, notes, and warnings with their remedies."
    ),
]
Watch = Annotated[
    bool, typer.Option("--watch", help="Show the screen of 'iogauge watch' instead of lines of progress.")
]
