"""``iogauge model show``: every number of a model, with its source.

Show every number of a drive or machine model: its place in the model's file, its value, its kind and its source. A
published number is in the source, a fitted number makes the model agree with published figures, and an assumed number
is plausible. MODEL is a name, the path of a TOML file, or both parts of a target: DRIVE@MACHINE.

The digest identifies all parameters: those of a drive and the machine in front of it, as in results, or those of a
machine alone.

    iogauge model show p4800x
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from iogauge.cli.terminal import streams


def show(
    name: Annotated[
        str, typer.Argument(metavar="MODEL", help="NAME, DRIVE@MACHINE or FILE.toml.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with exact values.")] = False,
) -> None:
    """Print the model, after the core has checked it."""
    from iogauge.library.models.described import model

    shown = model(name)
    streams.show(json.dumps(shown.to_dict(), indent=2) + "\n" if as_json else str(shown))
