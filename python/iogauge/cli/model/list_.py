"""``iogauge model list``: the drives and machines that iogauge brings.

List the drives and machines that iogauge brings. A drive stands behind the machine named beside it, unless a target
names another: model:DRIVE@MACHINE. 'behind' is that machine, 'also' are other names of the same model.
"""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from iogauge.cli.terminal import streams


def list_(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Print one line for each."""
    from iogauge import models
    from iogauge.text.grid import aligned

    drives = [models.drive(name) for name in models.shipped("drive")]
    machines = [models.machine(name) for name in models.shipped("machine")]
    if as_json:
        found = {
            "drives": [_described(each) for each in drives],
            "machines": [_named(each) for each in machines],
        }
        streams.show(json.dumps(found, indent=2) + "\n")
        return
    drive_rows = [[each.name, ", ".join(each.also), each.title, each.machine or ""] for each in drives]
    machine_rows = [[each.name, each.title] for each in machines]
    lines = [
        *aligned([["drive", "also", "title", "behind"], *drive_rows], left=4),
        "",
        *aligned([["machine", "title"], *machine_rows], left=2),
    ]
    streams.show("".join(f"{line}\n" for line in lines))


def _named(model: Any) -> dict[str, Any]:
    return {"name": model.name, "also": list(model.also), "title": model.title, "version": model.version}


def _described(drive: Any) -> dict[str, Any]:
    return _named(drive) | {"machine": drive.machine}
