"""``iogauge model show``: every number of a model, with its source.

Show every number of a drive or machine model: its place in the model's file, its value, its kind and its source. A
published number is in the source, a fitted number makes the model agree with published figures, and an assumed number
is plausible. MODEL is a name, the path of a TOML file, or both parts of a target: DRIVE@MACHINE.

The digest identifies all parameters: those of a drive and the machine in front of it, as in results, or those of a
machine alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iogauge.cli.terminal import streams
from iogauge.text import numbers

if TYPE_CHECKING:
    from iogauge.catalog import ModelFile


def show(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="NAME, DRIVE@MACHINE or FILE.toml.", show_default=False)
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with exact values.")] = False,
) -> None:
    """Print the model, after the core has checked it."""
    from iogauge import catalog
    from iogauge.execution import check_model

    name, machine_name = catalog.split(model)
    model_file = catalog.load(name)
    if model_file.what == "machine" and machine_name is None:
        check_model(catalog.drive("ram"), model_file)
        shown, digest = [model_file], catalog.digest(model_file.parameters)
    else:
        drive, machine = catalog.pair(model)
        check_model(drive, machine)
        shown = [drive] if machine_name is None else [drive, machine]
        digest = catalog.digest(drive.parameters, machine.parameters)
    if as_json:
        document: dict[str, Any] = {part.what: _described(part) for part in shown} | {"sha256": digest}
        streams.show(json.dumps(document, indent=2) + "\n")
        return
    lines = [line for part in shown for line in [*_lines(part), ""]]
    streams.show("".join(f"{line}\n" for line in [*lines, f"digest {digest}"]))


def _described(model: ModelFile) -> dict[str, Any]:
    """A model in JSON's types. A place without a kind holds a word of the model's structure."""
    return {
        "name": model.name,
        "path": str(model.path),
        "also": list(model.also),
        "title": model.title,
        "version": model.version,
        "notes": model.notes,
        "machine": model.machine,
        "base": model.base,
        "parameters": [
            {"place": place} | ({"value": leaf} if isinstance(leaf, str) else asdict(leaf))
            for place, leaf in model.leaves()
        ],
    }


def _lines(model: ModelFile) -> Iterator[str]:
    from iogauge.text.grid import WIDTH, aligned, labelled

    title = f"{model.what} {model.name}: {model.title}"
    yield title
    yield "-" * min(len(title), WIDTH)
    yield from labelled("", model.notes, indent="", width=0)
    about = {
        "also": ", ".join(model.also),
        "version": str(model.version),
        "behind": model.machine,
        "changes": model.base,
        "file": str(model.path),
    }
    for label, text in about.items():
        if text:
            yield from labelled(label, text, indent="", width=9)
    yield ""
    leaves = list(model.leaves())
    rows = aligned(
        [[place, leaf if isinstance(leaf, str) else quantity(place, leaf.value)] for place, leaf in leaves]
    )
    for row, (_, leaf) in zip(rows, leaves, strict=True):
        if isinstance(leaf, str):
            yield row
        else:
            label = f"{row}  {leaf.kind:<9}  "
            yield from labelled(label, leaf.source, indent="", width=len(label))


def quantity(place: str, value: float | int | bool) -> str:
    """Return a number as its place names its unit.

    >>> quantity("media.read_chunk_ns", 1710), quantity("stripe_bytes", 131072), quantity("thermal.rise_C_per_W", 4)
    ('1.710 us', '128 KiB', '4 C/W')
    """
    if isinstance(value, bool):
        return "yes" if value else "no"
    for suffix, written in _UNITS.items():
        if place.endswith(suffix):
            return written(value)
    return f"{value:,}"


def _bytes(value: float) -> str:
    """Binary where that is a round number, and decimal otherwise."""
    block = numbers.block(int(value))
    return block if len(block) < len("1024 KiB") else numbers.size(int(value))


_UNITS: dict[str, Callable[[float], str]] = {
    "_ns": numbers.duration,
    "_Bps": numbers.bandwidth,
    "_bytes": _bytes,
    "_C_per_W": lambda value: f"{value:g} C/W",
    "_W": lambda value: f"{value:g} W",
    "_C": lambda value: f"{value:g} C",
    "_h": lambda value: f"{value:g} h",
    "_s": lambda value: f"{value:g} s",
}
"""By the last word of a name; the first that fits counts."""
