"""A job while its lines are being read: the values so far, and the lines that set them.

fio starts every section from a copy of what the [global] sections before it built up. Three things accumulate or
outlive a line in ways of their own, and are kept apart here: file names (a section adds to those of [global], each
under the directory in effect when it was named), block sizes (a range or a split wins over ``bs``), and options of
an I/O engine (a section inherits them only where it uses the same engine).

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

Three = list[Any]


@dataclass(slots=True)
class PartialJob:
    """The values that the lines so far have set. ``values`` is keyed by the field names of ``schema.Job``."""

    values: dict[str, Any] = field(default_factory=dict)
    engine_values: dict[EngineKind, dict[str, Any]] = field(default_factory=dict)
    """Options of an engine, by the engine of the section that gave them."""
    bs: Three = field(default_factory=lambda: [4096, 4096, 4096])
    shaped: list[BlockSize | None] = field(default_factory=lambda: [None, None, None])
    """Block sizes that bsrange or bssplit gave."""
    kb_base: int = 1024
    options: dict[str, str] = field(default_factory=dict)
    """The lines in effect: canonical name to the value as written; empty for a bare flag."""
    places: dict[str, tuple[Place, str]] = field(default_factory=dict)
    """Where each of ``options`` was written, and its whole text, for errors that involve several options."""

    def child(self) -> PartialJob:
        """Return the start of a section: a copy that later lines change without changing this."""
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
        """Set the given directions of ``key`` and leave the others as they were."""
        values = self.values.setdefault(key, [default, default, default])
        for index, value in enumerate(directions):
            if value is not None:
                values[index] = value

    def store_bs(self, sizes: Directions[int]) -> None:
        """Set fixed block sizes. As in fio, a range or a split wins over them, whichever comes first."""
        self.bs = [old if new is None else new for old, new in zip(self.bs, sizes, strict=True)]

    def store_shape(self, shapes: Directions[BlockSize], *, split: bool) -> None:
        """Set ranges or splits. Raises ``BadValue`` for a range after a split, which fio mixes up."""
        for index, value in enumerate(shapes):
            if value is None:
                continue
            before = self.shaped[index]
            if not split and before is not None and before.split:
                raise BadValue("contradicts the bssplit before it", hint="remove one of them")
            self.shaped[index] = value

    def add_files(self, names: tuple[str, ...]) -> None:
        """Add file names, each under the directory in effect; a model is in none."""
        directory = self.values.get("directory", "")
        prefix = f"{directory}/" if directory else ""
        files = (
            *self.values.get("filenames", ()),
            *(name if name.startswith(MODEL) else prefix + name for name in names),
        )
        if len(files) > MOST_FILES:
            raise BadValue(
                f"makes more than {MOST_FILES} files of one job", hint="give the files to several jobs"
            )
        self.values["filenames"] = files
