"""One model's file: its numbers with their sources, and the bare parameters that the core takes."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from iogauge.errors import IogaugeError
from iogauge.text.option import call
from iogauge.workload.suggest import closest
from iogauge.workload.toml import load_toml

KINDS = ("published", "fitted", "assumed")
"""Where a number comes from: a source states it, a fit to sources gives it, or it is a plausible guess."""

_REQUIRED = {"value", "kind", "source"}
_FITTED = {"start", "range"}


_KIND_NAMES: tuple[tuple[Any, str], ...] = (
    (bool, "a boolean"),
    (int | float, "a number"),
    (str, "a string"),
    (list, "an array"),
    (dict, "a table"),
)


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_finite(value: object) -> bool:
    """Return whether a value is a boolean or a number that a float can hold: TOML's integers have any length."""
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


_HEAD: dict[str, Callable[[object], bool]] = {
    "title": _is_text,
    "version": lambda value: type(value) is int,
    "notes": _is_text,
    "also": _is_texts,
    "published_as": _is_texts,
    "machine": _is_text,
    "base": _is_text,
    "parameters": lambda value: isinstance(value, dict),
    "fit": lambda value: isinstance(value, dict),
}
"""The top-level keys of a file, each with the check of its type."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One number of a model, with its kind and source."""

    value: float | int | bool
    kind: str
    source: str
    start: float | None = None
    """Where the fit of a fitted number starts, so that it does not depend on the previous fit."""
    range: tuple[float, float] | None = None
    """The range of a fitted number, within which the fit may move it."""


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """The content of a model's file."""

    path: Path
    title: str
    version: int
    notes: str
    also: tuple[str, ...]
    """Other names for it."""
    published_as: tuple[str, ...]
    """Its names in ``published_points.csv``."""
    machine: str | None
    """The machine in front of a drive if a target names none."""
    base: str | None
    """The model that it is based on."""
    tree: Mapping[str, Any]
    """The parameters, each number an Entry."""
    fit: Mapping[str, Any] | None = None
    """The record of its fit: the command, the seed and the residuals."""

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem

    @property
    def what(self) -> Literal["drive", "machine"]:
        """What it models. A machine has the costs of requests to a thread."""
        return "machine" if {"sync", "queued"} & self.tree.keys() else "drive"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters as plain values."""
        plain: dict[str, Any] = _plain(self.tree)
        return plain

    def leaves(self) -> Iterator[tuple[str, Entry | str]]:
        """Yield every number and string with its path, such as ``media.read_stalls.0.mean_ns``."""
        yield from _leaves(self.tree, "")

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Yield every number with its path."""
        return ((place, leaf) for place, leaf in self.leaves() if isinstance(leaf, Entry))

    def on(self, base: ModelFile) -> ModelFile:
        """Return this model with missing parameters taken from ``base``. A list replaces the base's list.

        Names, title and notes stay its own.
        """
        return replace(self, machine=self.machine or base.machine, tree=_merged(base.tree, self.tree))


def read(path: Path) -> ModelFile:
    """Read a file without applying its base. Raises IogaugeError."""
    document = load_toml(path, missing=f"see {call('models')}")
    for key, value in document.items():
        if key not in _HEAD:
            near = closest(key, _HEAD)
            raise IogaugeError(
                f"{path}: {key!r} is not known",
                hint=f"did you mean {near}?" if near else f"use one of: {', '.join(_HEAD)}",
            )
        if not _HEAD[key](value):
            raise IogaugeError(f"{path}: {key} is {_kind(value)}", hint="correct it in the file")
    if "parameters" not in document or "title" not in document:
        raise IogaugeError(
            f"{path}: a model has a title and [parameters]",
            hint=f"begin with: {call('new_model', begin_with='NAME')}",
        )
    return ModelFile(
        path=path,
        title=document["title"],
        version=document.get("version", 1),
        notes=document.get("notes", ""),
        also=tuple(document.get("also", ())),
        published_as=tuple(document.get("published_as", ())),
        machine=document.get("machine"),
        base=document.get("base"),
        fit=document.get("fit"),
        tree=_tree(document["parameters"], path, "parameters"),
    )


def _kind(value: object) -> str:
    """Return TOML's name for the type of a value."""
    for kind, name in _KIND_NAMES:
        if isinstance(value, kind):
            return name
    return "a date or time"


def _tree(value: Any, path: Path, place: str) -> Any:
    """Return a value with its numbers as entries; tables and lists keep their structure."""
    if isinstance(value, dict) and "value" in value:
        return _entry(value, path, place)
    if isinstance(value, dict):
        return {key: _tree(inner, path, f"{place}.{key}") for key, inner in value.items()}
    if isinstance(value, list):
        return [_tree(inner, path, f"{place}.{index}") for index, inner in enumerate(value)]
    if isinstance(value, str):
        return value
    raise IogaugeError(
        f"{path}: {place} is {_kind(value)}, without its source",
        hint='write { value = ..., kind = "assumed", source = "why" }',
    )


def _entry(value: dict[str, Any], path: Path, place: str) -> Entry:
    keys = set(value) - (_FITTED if value.get("kind") == "fitted" else set())
    if keys != _REQUIRED or not isinstance(value["source"], str):
        raise IogaugeError(
            f"{path}: {place} has {', '.join(value)}",
            hint="it needs value, kind and source; a fitted number also needs start and range",
        )
    if value["kind"] not in KINDS:
        raise IogaugeError(f"{path}: {place}.kind is {value['kind']!r}", hint=f"kinds: {', '.join(KINDS)}")
    if not _is_finite(value["value"]):
        raise IogaugeError(f"{path}: {place}.value is not a number", hint="words stand without a table")
    match value.get("range"), value.get("start"):
        case None, None:
            return Entry(**value)
        case [low, high], start if all(map(_is_finite, (low, high, start))) and low <= start <= high:
            return Entry(**value | {"range": (low, high)})
    raise IogaugeError(f"{path}: {place}.range does not hold its start", hint="write range = [low, high]")


def _plain(node: Any) -> Any:
    match node:
        case Entry():
            return node.value
        case Mapping():
            return {key: _plain(inner) for key, inner in node.items()}
        case list():
            return [_plain(inner) for inner in node]
    return node


def _leaves(node: Any, place: str) -> Iterator[tuple[str, Entry | str]]:
    match node:
        case Entry() | str():
            yield place, node
        case Mapping():
            for key, inner in node.items():
                yield from _leaves(inner, f"{place}.{key}" if place else key)
        case list():
            for index, inner in enumerate(node):
                yield from _leaves(inner, f"{place}.{index}")


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = copy.deepcopy(dict(base))
    for key, value in over.items():
        below = merged.get(key)
        tables = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(below or {}, value) if tables else value
    return merged
