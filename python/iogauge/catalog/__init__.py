"""Loads drive and machine models: TOML files in which every number has its kind and source.

``drives/`` holds the drives, ``machines/`` the computers and operating systems in front of them. A number is
``{ value = 1650, kind = "fitted", source = "..." }``, where kind is one of ``KINDS``; strings and lists give the
structure. ``crates/model`` defines what the parameters mean and their ranges; this module only reads them.

A model may name another as its ``base`` and list only what differs. A reference is the name of a shipped model or the
path of a TOML file: ``p4800x``, ``./mine.toml``.

Source: each number's own, next to it in its file.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, Literal

from iogauge.catalog.file import KINDS, Entry, ModelFile, read
from iogauge.catalog.write import to_toml
from iogauge.errors import IogaugeError, UsageError
from iogauge.text.option import call
from iogauge.workload.options.kinds import MODEL
from iogauge.workload.suggest import closest

__all__ = [
    "KINDS",
    "PREFIX",
    "Entry",
    "ModelFile",
    "anchored",
    "digest",
    "drive",
    "load",
    "machine",
    "own_file",
    "pair",
    "read",
    "shipped",
    "split",
    "to_toml",
]

PREFIX = MODEL
"""Begins the name of a target that is a model: ``model:NAME`` or ``model:NAME@MACHINE``."""

What = Literal["drive", "machine"]

_HERE = Path(__file__).parent


def split(target: str) -> tuple[str, str | None]:
    """Return the drive and the machine that a target names; None for the machine if it names none.

    >>> split("model:p4800x@linux-stock"), split("model:./a@b/mine.toml")
    (('p4800x', 'linux-stock'), ('./a@b/mine.toml', None))
    """
    text = target.removeprefix(PREFIX)
    drive, at, machine = text.rpartition("@")
    # An @ within the path of a drive's file does not begin a machine.
    if at and (drive.endswith(".toml") or "/" not in drive):
        return drive, machine
    return text, None


def anchored(target: str) -> str:
    """Return the target with absolute paths, so that it names the same models from any directory.

    >>> anchored("model:p4800x@linux-stock"), anchored("model:/etc/mine.toml@ideal")
    ('model:p4800x@linux-stock', 'model:/etc/mine.toml@ideal')
    """
    parts = [
        str(Path(part).absolute()) if is_path(part) else part for part in split(target) if part is not None
    ]
    return PREFIX + "@".join(parts)


def pair(target: str) -> tuple[ModelFile, ModelFile]:
    """Load the drive that a target names and the machine in front of it: the drive's usual one if none is named.

    Raises as ``drive`` and ``machine`` do.

    >>> [model.name for model in pair("model:p4800x@ideal")]
    ['p4800x-375g', 'ideal']
    """
    drive_name, machine_name = split(target)
    drive_file = drive(drive_name)
    return drive_file, machine((drive_file.machine or "ideal") if machine_name is None else machine_name)


def drive(reference: str) -> ModelFile:
    """Load a drive model. Raises UsageError if it is none of a drive, else as ``load``."""
    model = load(reference, what="drive")
    if model.what != "drive":
        raise UsageError(
            f"{reference} is a machine model, not a drive", hint=f"put it behind one: model:DRIVE@{reference}"
        )
    return model


def machine(reference: str) -> ModelFile:
    """Load a machine model. Raises UsageError if it is none of a machine, else as ``load``."""
    model = load(reference, what="machine")
    if model.what != "machine":
        raise UsageError(
            f"{reference} is a drive model, not a machine", hint=f"machines: {', '.join(shipped('machine'))}"
        )
    return model


def load(reference: str, *, what: What | None = None) -> ModelFile:
    """Load a model with its bases applied. ``what`` is the expected kind; only the text of an error uses it.

    Raises UsageError if there is no such model, and IogaugeError if its file is not a model.
    """
    path = _path(reference, what)
    return _shipped_model(path) if path.is_relative_to(_HERE) else _resolved(path, ())


def own_file(model: ModelFile) -> ModelFile:
    """Return the model's file without its base. Raises IogaugeError if a user's file is no longer a model."""
    return _shipped_file(model.path) if model.path.is_relative_to(_HERE) else read(model.path)


def shipped(what: What) -> list[str]:
    """Return the names of the models that iogauge ships, sorted.

    >>> "ideal" in shipped("machine")
    True
    """
    return sorted(path.stem for path in _HERE.glob(f"{what}s/*.toml"))


def digest(*parameters: dict[str, Any]) -> str:
    """Return the SHA-256 of parameters. Order and notation do not change it.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _resolved(path: Path, seen: tuple[Path, ...]) -> ModelFile:
    model = _shipped_file(path) if path.is_relative_to(_HERE) else read(path)
    if path.resolve() in seen:
        raise IogaugeError(f"{path}: is its own base", hint="a base leads to a file without one")
    if model.base is None:
        return model
    base = path.parent / model.base if is_path(model.base) else _path(model.base)
    return model.on(_resolved(base, (*seen, path.resolve())))


def is_path(reference: str) -> bool:
    """Return whether a reference is the path of a model's file rather than the name of a shipped model."""
    return reference.endswith(".toml") or "/" in reference


def _path(reference: str, what: What | None = None) -> Path:
    """Return the path of a model's file."""
    if is_path(reference):
        return Path(reference)
    names = _paths()
    if reference in names:
        return names[reference]
    names = names | _other_names()
    if reference in names:
        return names[reference]
    near = closest(reference, names)
    known = f"{what}s: {', '.join(shipped(what))}" if what else f"see {call('models')}"
    raise UsageError(
        f"there is no {what + ' ' if what else ''}model {reference!r}",
        hint=(f"did you mean {near}? " if near else "") + f"{known}; or give the path of a .toml file",
    )


@cache
def _paths() -> dict[str, Path]:
    """Return the files of the models that iogauge ships, by name."""
    return {path.stem: path for of in ("drives", "machines") for path in sorted((_HERE / of).glob("*.toml"))}


@cache
def _other_names() -> dict[str, Path]:
    """Return the same files by the other names of their models."""
    return {other: path for path in _paths().values() for other in _shipped_file(path).also}


@cache
def _shipped_file(path: Path) -> ModelFile:
    """Read a file that iogauge ships, which does not change while it runs."""
    return read(path)


@cache
def _shipped_model(path: Path) -> ModelFile:
    """Return the model of such a file with its bases applied."""
    return _resolved(path, ())
