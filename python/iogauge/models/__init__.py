"""Drive and machine models: data in TOML, every number with its kind and source; and loading them.

``drives/`` holds what stores the data, ``machines/`` the computers and operating systems in front of it. A number is
``{ value = 1650, kind = "fitted", source = "..." }``, where kind is one of ``KINDS``; words and lists give the
structure. What the parameters mean, and their ranges, is in ``crates/model``; this module only reads.

A machine may name another as its ``base`` and give what differs from it: a rung of the tuning ladder changes only what
its setting touches. A reference is a shipped name or the path of a TOML file: ``p4800x``, ``./mine.toml``.

Source: models.md; DESIGN.md ("Every published number carries its source").
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from iogauge.errors import IogaugeError
from iogauge.models.file import KINDS, Entry, ModelFile, read

__all__ = ["KINDS", "PREFIX", "Entry", "ModelFile", "digest", "drive", "machine", "shipped", "split"]

PREFIX = "model:"
"""Of a target that is a model: ``model:NAME`` or ``model:NAME@MACHINE``."""

What = Literal["drive", "machine"]

_HERE = Path(__file__).parent


def split(target: str) -> tuple[str, str | None]:
    """Return which drive and machine a target names, the machine None where it names none.

    >>> split("model:p4800x@linux-stock"), split("model:./a@b/mine.toml")
    (('p4800x', 'linux-stock'), ('./a@b/mine.toml', None))
    """
    text = target.removeprefix(PREFIX)
    drive, at, machine = text.rpartition("@")
    # An @ in the path of a drive's file does not begin a machine: what follows would have to be one.
    if at and (drive.endswith(".toml") or "/" not in drive):
        return drive, machine
    return text, None


def drive(reference: str) -> ModelFile:
    """Load a drive model. Raises IogaugeError: there is none of this name, or its file is not one."""
    return _load(reference, "drive")


def machine(reference: str) -> ModelFile:
    """Load a machine model. Raises IogaugeError: there is none of this name, or its file is not one."""
    return _load(reference, "machine")


def shipped(what: What) -> list[str]:
    """Return the names of what iogauge brings, sorted.

    >>> "ideal" in shipped("machine")
    True
    """
    return sorted(path.stem for path in _folder(what).glob("*.toml"))


def digest(*parameters: dict[str, Any]) -> str:
    """Return the SHA-256 of parameters, however they are ordered or written.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(parameters, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _folder(what: What) -> Path:
    return _HERE / f"{what}s"


def _load(reference: str, what: What, seen: tuple[Path, ...] = ()) -> ModelFile:
    path = _path(reference, what)
    if path in seen:
        raise IogaugeError(f"{path}: is its own base", hint="a base leads to a file without one")
    found = read(path)
    if found.base is None:
        return found
    base = found.base
    beside = path.parent / base
    under = str(beside) if base.endswith(".toml") else base
    return found.on(_load(under, what, (*seen, path)))


def _path(reference: str, what: What) -> Path:
    """Where a model's file lies."""
    if reference.endswith(".toml") or "/" in reference:
        return Path(reference)
    path = _folder(what) / f"{reference}.toml"
    if path.exists():
        return path
    for other in sorted(_folder(what).glob("*.toml")):
        if reference in read(other).also:
            return other
    raise IogaugeError(
        f"there is no {what} model {reference!r}",
        hint=f"{what}s: {', '.join(shipped(what))}; or the path of a .toml file",
    )
