"""Every number of a model, with its source."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from iogauge.library.public import public
from iogauge.results.collection import unknown_name
from iogauge.results.tabular import Tabular
from iogauge.text import html, numbers

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.catalog import ModelFile


@public
def model(name: str) -> Model:
    """Return a drive or machine model with every number and its source, after the core has checked it.

    Args:
        name: a name that ``models`` lists, the path of a TOML file, or both parts of a target: ``"ram@ideal"``.

    Raises IogaugeError where there is no such model, or a number cannot be.

    Examples:
        >>> import iogauge
        >>> iogauge.model("ram")["capacity_bytes"]
        68719476736
    """
    from iogauge import catalog
    from iogauge.execution import check_model

    name, machine_name = catalog.split(name)
    loaded = catalog.load(name)
    if loaded.what == "machine" and machine_name is None:
        check_model(catalog.drive("ram"), loaded)
        return Model((loaded,), catalog.digest(loaded.parameters))
    drive, machine = catalog.pair(name if machine_name is None else f"{name}@{machine_name}")
    check_model(drive, machine)
    return Model(
        (drive,) if machine_name is None else (drive, machine),
        catalog.digest(drive.parameters, machine.parameters),
    )


class Model(Tabular):
    """A drive model, a machine model, or a drive behind a machine. ``str()`` is what ``iogauge model show`` prints.

    ``model["media.read_chunk_ns"]`` is the value at a place of the file.
    """

    def __init__(self, files: tuple[ModelFile, ...], digest: str) -> None:
        self.files = files
        """The model's files: of the drive, of the machine, or of both."""
        self.sha256 = digest
        """Identifies all parameters: a drive's with those of its machine, as in results; or a machine's alone."""

    def __getitem__(self, place: str) -> float | int | bool | str:
        """Return the value at a place, of the first file that has it. Raises UnknownNameError, a KeyError."""
        values = {name: leaf for file in reversed(self.files) for name, leaf in file.leaves()}
        if place not in values:
            raise unknown_name(place, values, noun="parameter", of=repr(self).strip("<>"))
        leaf = values[place]
        return leaf if isinstance(leaf, str) else leaf.value

    def to_dict(self) -> dict[str, Any]:
        """Return each file, by ``drive`` and ``machine``, and the digest as data that JSON can hold."""
        return {file.what: _data(file) for file in self.files} | {"sha256": self.sha256}

    def to_arrow(self) -> pa.Table:
        """Return a row for each number, as an Arrow table; units end the places' names. Truth is 1 or 0."""
        import pyarrow as pa

        return pa.Table.from_pylist(
            [
                {
                    "model": file.name,
                    "parameter": place,
                    "value": float(entry.value),
                    "kind": entry.kind,
                    "source": entry.source,
                }
                for file in self.files
                for place, entry in file.entries()
            ]
        )

    def __str__(self) -> str:
        lines = [line for file in self.files for line in (*_lines(file), "")]
        return "".join(f"{line}\n" for line in [*lines, f"digest {self.sha256}"])

    def _repr_html_(self) -> str:
        rows = [
            (place, quantity(place, entry.value), entry.kind, entry.source)
            for file in self.files
            for place, entry in file.entries()
        ]
        return html.heading(", ".join(file.title for file in self.files)) + html.table(
            ("parameter", "value", "kind", "source"), rows, most=100
        )

    def __repr__(self) -> str:
        return f"<Model {'@'.join(file.name for file in self.files)}>"


def _data(model: ModelFile) -> dict[str, Any]:
    """A place without a kind holds a word of the model's structure."""
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
            {"parameter": place} | ({"value": leaf} if isinstance(leaf, str) else asdict(leaf))
            for place, leaf in model.leaves()
        ],
    }


def _lines(model: ModelFile) -> Iterator[str]:
    from iogauge.text.grid import aligned, heading, labelled

    yield from heading(f"{model.what} {model.name}: {model.title}")
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
