"""``iogauge model list``: the drives and machines that come with iogauge.

List the drives and machines that come with iogauge. A target can name the machine in front of a drive:
model:DRIVE@MACHINE. 'also' are other names of the same model.

    iogauge model list
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iogauge.cli.terminal import streams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iogauge.library.models.listed import DriveModel, MachineModel


def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Print one line for each model."""
    from iogauge.library.models.listed import models
    from iogauge.text.grid import aligned, labelled

    shipped = models()
    if as_json:
        shown = {
            "drives": [{**_named(drive), "machine": drive.machine} for drive in shipped.drives],
            "machines": list(map(_named, shipped.machines)),
        }
        streams.show(json.dumps(shown, indent=2) + "\n")
        return
    drives = [[drive.name, ", ".join(drive.also), drive.title] for drive in shipped.drives]
    machines = [[machine.name, machine.title] for machine in shipped.machines]
    lines = [
        *aligned([["drive", "also", "title"], *drives], left=3),
        "",
        *aligned([["machine", "title"], *machines], left=2),
        "",
        *labelled("", _behind(shipped.drives), indent="", width=0),
    ]
    streams.show("".join(f"{line}\n" for line in lines))


def _behind(drives: Sequence[DriveModel]) -> str:
    """Say which machine is in front of the drives, and name the drives that have another."""
    usual = Counter(drive.machine for drive in drives).most_common(1)[0][0]
    others = [f"{drive.name} is behind {drive.machine}" for drive in drives if drive.machine != usual]
    return "; ".join([f"unless a target names a machine, drives are behind {usual}", *others])


def _named(model: MachineModel) -> dict[str, Any]:
    return {"name": model.name, "also": list(model.also), "title": model.title, "version": model.version}
