"""Holds a job while its lines are read: the values so far, and the lines that set them.

As in fio, every section starts from a copy of the values of the [global] sections before it. Three kinds of options
have rules of their own. File names accumulate: a section adds to those of [global], and each name is in the directory
that was in effect at its line. A range or a split of block sizes wins over ``bs``. A section inherits options of an
engine only if it uses the same engine.

Source: fio init.c (get_new_job, fixup_options), options.c, filesetup.c (add_file).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from iogauge.schema import BlockSize, EngineKind
from iogauge.workload.options.kinds import MODEL, Directions
from iogauge.workload.problem import BadValue, Place

MOST_FILES = 1_024
"""The most files of one job."""


@dataclass(slots=True)
class PartialJob:
    """The values that the lines so far have set. ``values`` is keyed by the field names of ``schema.Job``."""

    values: dict[str, Any] = field(default_factory=dict)
    engine_values: dict[EngineKind, dict[str, Any]] = field(default_factory=dict)
    """Options of an engine, by the engine in effect at their line."""
    bs: list[int] = field(default_factory=lambda: [4096, 4096, 4096])
    """Fixed block sizes of reads, writes and trims."""
    shaped: list[BlockSize | None] = field(default_factory=lambda: [None, None, None])
    """Block sizes from bsrange or bssplit, in the same order."""
    kb_base: int = 1024
    options: dict[str, str] = field(default_factory=dict)
    """The lines in effect: canonical name to the value as written; empty for a bare flag."""
    places: dict[str, tuple[Place, str]] = field(default_factory=dict)
    """The place and the whole text of each line in ``options``, for errors that involve several options."""

    def child(self) -> PartialJob:
        """Return a copy for a section; changes to it do not change this."""
        return PartialJob(
            values={
                key: list(value) if isinstance(value, list) else value for key, value in self.values.items()
            },
            engine_values={engine: dict(values) for engine, values in self.engine_values.items()},
            bs=list(self.bs),
            shaped=list(self.shaped),
            kb_base=self.kb_base,
            options=dict(self.options),
            places=dict(self.places),
        )

    @property
    def engine(self) -> EngineKind:
        """The engine in effect."""
        engine: EngineKind = self.values.get("ioengine", EngineKind.PSYNC)
        return engine

    def note(self, name: str, written: str, text: str, place: Place) -> None:
        """Record that the line ``text`` gave the option ``name`` the value ``written``."""
        if name == "filename" and name in self.options:
            written = f"{self.options[name]}:{written}"
        self.options.pop(name, None)
        self.options[name] = written
        self.places[name] = (place, text)

    def store_directions(self, key: str, directions: Directions[Any], default: Any) -> None:
        """Set the directions of ``key`` that have a value; the others keep theirs."""
        values = self.values.setdefault(key, [default, default, default])
        for index, value in enumerate(directions):
            if value is not None:
                values[index] = value

    def store_bs(self, sizes: Directions[int]) -> None:
        """Set fixed block sizes. As in fio, a range or a split wins over them, in either order."""
        self.bs = [old if new is None else new for old, new in zip(self.bs, sizes, strict=True)]

    def store_shape(self, shapes: Directions[BlockSize], *, split: bool) -> None:
        """Set ranges or splits. A range after a split that has its limits changes nothing.

        Raises ``BadValue`` for another range, which fio mixes up with the split.
        """
        for index, value in enumerate(shapes):
            if value is None:
                continue
            earlier = self.shaped[index]
            if not split and earlier is not None and earlier.split:
                if (value.minimum_bytes, value.maximum_bytes) == (
                    earlier.minimum_bytes,
                    earlier.maximum_bytes,
                ):
                    continue
                raise BadValue("contradicts the bssplit before it", hint="remove one of them")
            self.shaped[index] = value

    def add_files(self, names: tuple[str, ...]) -> None:
        """Add file names, each in the directory in effect, as in fio the first of several. A model has no directory."""
        directories = self.values.get("directory", ())
        prefix = f"{directories[0]}/" if directories else ""
        files = (
            *self.values.get("filenames", ()),
            *(name if name.startswith(MODEL) else prefix + name for name in names),
        )
        if len(files) > MOST_FILES:
            raise BadValue(
                f"gives the job more than {MOST_FILES} files", hint="distribute the files over several jobs"
            )
        self.values["filenames"] = files
