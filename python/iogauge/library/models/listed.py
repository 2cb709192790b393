"""The drive and machine models that come with iogauge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from iogauge.library.public import public
from iogauge.results.collection import Collection
from iogauge.results.tabular import Tabular
from iogauge.text import html

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class Models(Tabular, Collection["MachineModel"]):
    """Drive models, then machine models, each sorted by name. ``models["p4800x"]`` is one by any of its names."""

    NOUN = "model"

    drives: tuple[DriveModel, ...]
    machines: tuple[MachineModel, ...]

    def _parts(self) -> Mapping[str, MachineModel]:
        every = (*self.drives, *self.machines)
        return {name: model for model in every for name in (model.name, *model.also)}

    def __iter__(self) -> Iterator[MachineModel]:
        return iter((*self.drives, *self.machines))

    def __len__(self) -> int:
        return len(self.drives) + len(self.machines)

    def to_arrow(self) -> pa.Table:
        """Return a row for each model, as an Arrow table; ``target`` and ``machine`` are null for machines."""
        import pyarrow as pa

        rows = [
            {
                "model": model.name,
                "kind": "drive" if isinstance(model, DriveModel) else "machine",
                "title": model.title,
                "version": model.version,
                "also": ", ".join(model.also),
                "target": model.target if isinstance(model, DriveModel) else None,
                "machine": model.machine if isinstance(model, DriveModel) else None,
            }
            for model in self
        ]
        return pa.Table.from_pylist(rows)

    def __repr__(self) -> str:
        return f"<Models: {len(self.drives)} drives, {len(self.machines)} machines>"

    def _repr_html_(self) -> str:
        drives = ([drive.target, drive.title, drive.machine or ""] for drive in self.drives)
        machines = ([machine.name, machine.title] for machine in self.machines)
        head = ("target", "drive", "behind")
        return html.table(head, drives, most=100) + html.table(("machine", "title"), machines, most=100)


@dataclass(frozen=True)
class MachineModel:
    """A computer and its operating system in front of a drive."""

    name: str
    also: tuple[str, ...]
    """Other names of the same model."""
    title: str
    version: int


@dataclass(frozen=True)
class DriveModel(MachineModel):
    """A drive. Its target is ``model:NAME``, behind ``machine``, or ``model:NAME@MACHINE``, behind another machine."""

    machine: str | None
    """The machine in front of the drive if a target names none."""

    @property
    def target(self) -> str:
        """The name of the drive as a target of a run or a review."""
        return f"model:{self.name}"


@public
def models() -> Models:
    """Return the drive and machine models that come with iogauge.

    Examples:
        >>> import iogauge
        >>> [drive.target for drive in iogauge.models().drives if "p4800x" in drive.also]
        ['model:p4800x-375g']
    """
    from iogauge import catalog

    machines = [catalog.machine(name) for name in catalog.shipped("machine")]
    drives = [catalog.drive(name) for name in catalog.shipped("drive")]
    return Models(
        drives=tuple(
            DriveModel(drive.name, tuple(drive.also), drive.title, drive.version, drive.machine)
            for drive in drives
        ),
        machines=tuple(
            MachineModel(machine.name, tuple(machine.also), machine.title, machine.version)
            for machine in machines
        ),
    )
