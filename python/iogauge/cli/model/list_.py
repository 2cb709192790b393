"""``iogauge model list``: the drives and machines that come with iogauge.

List the drives and machines that come with iogauge. 'behind' is the machine in front of the drive, unless a target
names another: model:DRIVE@MACHINE. 'also' are other names of the same model.

    iogauge model list
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iogauge.cli.terminal import streams

if TYPE_CHECKING:
    from iogauge.library.models.listed import MachineModel


def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Print one line for each model."""
    from iogauge.library.models.listed import models
    from iogauge.text.grid import aligned

    shipped = models()
    if as_json:
        shown = {
            "drives": [{**_named(drive), "machine": drive.machine} for drive in shipped.drives],
            "machines": list(map(_named, shipped.machines)),
        }
        streams.show(json.dumps(shown, indent=2) + "\n")
        return
    drives = [
        [drive.name, ", ".join(drive.also), drive.title, drive.machine or ""] for drive in shipped.drives
    ]
    machines = [[machine.name, machine.title] for machine in shipped.machines]
    lines = [
        *aligned([["drive", "also", "title", "behind"], *drives], left=4),
        "",
        *aligned([["machine", "title"], *machines], left=2),
    ]
    streams.show("".join(f"{line}\n" for line in lines))


def _named(model: MachineModel) -> dict[str, Any]:
    return {"name": model.name, "also": list(model.also), "title": model.title, "version": model.version}
