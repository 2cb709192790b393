"""``iogauge model new``: a model of your own to edit, made from another.

Write a TOML file with every number of a model. The file needs no other file and is a model as it is: change in it what
differs in your drive or machine. Sources stay with the numbers. An existing file is not overwritten.

Without --output the file is written to the current directory, under the model's name.

    iogauge model new --from p4800x --output mine.toml
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import streams


def new(
    begin_with: Annotated[
        str,
        typer.Option(
            "--from", metavar="MODEL", help="NAME of a drive or a machine, or FILE.toml.", show_default=False
        ),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.toml", help="Where to write.")
    ] = None,
) -> None:
    """Write the file and print its name."""
    from iogauge.library.models.own import new_model

    streams.show(f"{new_model(begin_with, output, on_message=streams.say)}\n")
