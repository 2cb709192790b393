"""``iogauge model new``: a model of your own to edit, made from another.

Write a TOML file with every number of a model. The file needs no other file and is a model as it is: change in it what
differs in your drive or machine. Sources stay with the numbers. An existing file is not overwritten.

Without --output the file is written to the current directory, under the model's name.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import status, streams

if TYPE_CHECKING:
    from iogauge.catalog import ModelFile


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
    from iogauge import catalog
    from iogauge.execution import check_model
    from iogauge.store.outputs import Claims, Existing

    name, machine_name = catalog.split(begin_with)
    if machine_name is not None:
        raise status.UsageError(
            f"{begin_with}: is two models", hint="make one from the drive, or from the machine"
        )
    source = catalog.load(name)
    drive, machine = (
        (source, catalog.machine("ideal")) if source.what == "drive" else (catalog.drive("ram"), source)
    )
    check_model(drive, machine)
    path = output or Path(f"{source.name}.toml")
    if path.suffix != ".toml":
        raise status.UsageError(f"--output {path}: a model's file ends in .toml", hint=f"write {path}.toml")
    own = replace(source, title=f"like {source.title}", version=1, also=(), published_as=(), base=None)
    Claims().file(path, existing=Existing.KEEP).write((_head(source, path) + catalog.to_toml(own)).encode())
    streams.show(f"{path}\n")


def _head(source: ModelFile, path: Path) -> str:
    """What one must know to edit the file, as its comment."""
    place = str(path) if "/" in str(path) else f"./{path}"
    target = f"model:{place}" if source.what == "drive" else f"model:p4800x@{place}"
    return f"""\
# A {source.what} model, made from {source.name}, version {source.version}.
#
# Change values, not places: {{ value = ..., kind = ..., source = ... }}. The last part of a name is its unit. kind is
# "published" (source says where), "fitted" (to what was published) or "assumed" (source says why). Wrong values are
# refused with their range. Then:
#
#   iogauge model show {place}
#   iogauge run --name=try --filename={target} --rw=randread --bs=4k --runtime=10 --time_based
#   iogauge review {target}

"""
