"""One model's file: its numbers with where they come from, and the parameters alone as the core takes them."""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError

KINDS = ("published", "fitted", "assumed")
"""Where a number comes from: a source says so; a fit to what sources say; nobody says, and it is plausible."""

_GIVEN = {"value", "kind", "source"}
_FITTED = {"start", "range"}

_HEAD: dict[str, type] = {
    "title": str,
    "version": int,
    "notes": str,
    "also": list,
    "published_as": list,
    "machine": str,
    "base": str,
    "parameters": dict,
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One number."""

    value: float | int | bool
    kind: str
    source: str
    start: float | None = None
    """Of a fitted number: where its fit begins, so that it does not depend on the fit before."""
    range: tuple[float, float] | None = None
    """Of a fitted number: what the fit may make of it."""


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """What a file says."""

    path: Path
    title: str
    version: int
    notes: str
    also: tuple[str, ...]
    """Other names for it."""
    published_as: tuple[str, ...]
    """What ``published_points.csv`` calls it."""
    machine: str | None
    """Of a drive: the machine in front of it where a target names none."""
    base: str | None
    """Of a machine: what it differs from."""
    tree: Mapping[str, Any]
    """The parameters, each number an Entry."""

    @property
    def name(self) -> str:
        """The file's name without its suffix."""
        return self.path.stem

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters alone."""
        plain: dict[str, Any] = _plain(self.tree)
        return plain

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Yield every number with its place, as ``media.read_stalls.0.mean_ns``."""
        yield from _entries(self.tree, "")

    def on(self, base: ModelFile) -> ModelFile:
        """Return this file with all that it leaves out taken from ``base``; lists are taken whole."""
        return replace(self, tree=_merged(base.tree, self.tree))


def read(path: Path) -> ModelFile:
    """Read a file, without its base. Raises IogaugeError."""
    try:
        text = path.read_text(encoding="utf-8")
        found = tomllib.loads(text)
    except FileNotFoundError:
        raise IogaugeError(f"{path}: no such file", hint="iogauge model list shows what there is") from None
    except OSError as error:
        raise IogaugeError(f"{path}: {error.strerror}", hint="name a file that can be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IogaugeError(f"{path}: not TOML: {error}", hint="mend it there") from None
    for key, value in found.items():
        if key not in _HEAD:
            raise IogaugeError(f"{path}: {key!r} is not known", hint=f"known are: {', '.join(_HEAD)}")
        if not isinstance(value, _HEAD[key]):
            raise IogaugeError(f"{path}: {key} is not a {_HEAD[key].__name__}", hint="mend it there")
    if "parameters" not in found or "title" not in found:
        raise IogaugeError(
            f"{path}: a model has a title and [parameters]", hint="begin with: iogauge model new --from NAME"
        )
    return ModelFile(
        path=path,
        title=found["title"],
        version=found.get("version", 1),
        notes=found.get("notes", ""),
        also=tuple(found.get("also", ())),
        published_as=tuple(found.get("published_as", ())),
        machine=found.get("machine"),
        base=found.get("base"),
        tree=_tree(found["parameters"], path, "parameters"),
    )


def _tree(value: Any, path: Path, place: str) -> Any:
    """Numbers as entries; tables and lists of tables as they are."""
    if isinstance(value, dict) and "value" in value:
        return _entry(value, path, place)
    if isinstance(value, dict):
        return {key: _tree(inner, path, f"{place}.{key}") for key, inner in value.items()}
    if isinstance(value, list):
        return [_tree(inner, path, f"{place}.{index}") for index, inner in enumerate(value)]
    if isinstance(value, str):
        return value
    raise IogaugeError(
        f"{path}: {place} is a bare {type(value).__name__}",
        hint='write { value = ..., kind = "assumed", source = "why" }',
    )


def _entry(value: dict[str, Any], path: Path, place: str) -> Entry:
    given = set(value) - (_FITTED if value.get("kind") == "fitted" else set())
    if given != _GIVEN or not isinstance(value["source"], str):
        raise IogaugeError(
            f"{path}: {place} has {', '.join(value)}",
            hint="it needs value, kind and source, and where it is fitted start and range",
        )
    if value["kind"] not in KINDS:
        raise IogaugeError(f"{path}: {place}.kind is {value['kind']!r}", hint=f"kinds: {', '.join(KINDS)}")
    if not isinstance(value["value"], float | int):
        raise IogaugeError(f"{path}: {place}.value is not a number", hint="words stand without a table")
    match value.get("range"), value.get("start"):
        case None, None:
            return Entry(**value)
        case [float() | int() as low, float() | int() as high], float() | int() as start if (
            low <= start <= high
        ):
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


def _entries(node: Any, place: str) -> Iterator[tuple[str, Entry]]:
    match node:
        case Entry():
            yield place, node
        case Mapping():
            for key, inner in node.items():
                yield from _entries(inner, f"{place}.{key}" if place else key)
        case list():
            for index, inner in enumerate(node):
                yield from _entries(inner, f"{place}.{index}")


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = copy.deepcopy(dict(base))
    for key, value in over.items():
        below = merged.get(key)
        tables = isinstance(below, Mapping) and isinstance(value, Mapping)
        merged[key] = _merged(below or {}, value) if tables else value
    return merged
