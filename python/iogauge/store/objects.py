"""JSON files of a review, read into the schema: the version is checked before any field, and errors name the file.

Two kinds: a step's record, which the checksums beside it cover, and what is replaced while a review grows (manifest,
figures), which carries its own checksum. What changed between versions is for ``versions`` to know.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pydantic

from iogauge.schema import Model
from iogauge.store import durable
from iogauge.store.checksums import check_object, damaged, sealed_object
from iogauge.store.durable import explained
from iogauge.store.versions import check_version

_SEALED_SINCE = 3
"""The version from which on a sealed object has a checksum: without one, a newer object was changed."""

T = TypeVar("T")
M = TypeVar("M", bound=Model)
Fields = dict[str, Any]


def read_object(path: Path, model: type[M]) -> M:
    """Read a JSON file that is covered by checksums beside it. Raises IogaugeError: it is damaged, or too new."""
    _, fields = _fields(path)
    return _value(path, model, fields)


def read_sealed(path: Path, model: type[M], upgrade: Callable[[Fields], Fields] = lambda fields: fields) -> M:
    """Read a JSON file that carries its own checksum. Raises IogaugeError: it is damaged, or too new.

    ``upgrade`` brings an older version's fields to today's.
    """
    text, fields = _fields(path)
    required = fields["schema_version"] >= _SEALED_SINCE
    return _value(path, model, upgrade(check_object(path, text, fields, required=required)))


def write_sealed(path: Path, value: Model) -> None:
    """Replace a JSON file by one that carries its own checksum, atomically."""
    durable.replace_file(path, sealed_object(value.model_dump_json(indent=2)))


def understood(path: Path, read: Callable[[], T]) -> T:
    """Return what ``read`` returns; a value that the schema refuses means that the file is damaged."""
    try:
        return read()
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise damaged(path, f"{where}: {first['msg']}" if where else first["msg"]) from error


def _fields(path: Path) -> tuple[bytes, Fields]:
    """Return a file's text and the fields of the object in it, which is of a version that can be read."""
    with explained("read", path):
        text = path.read_bytes()
    try:
        fields: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"not JSON: {error}") from error
    check_version(path, fields.get("schema_version") if isinstance(fields, dict) else None)
    return text, fields


def _value(path: Path, model: type[M], fields: Fields) -> M:
    # From JSON, where a tuple is a list: Python's own values would have to be what the fields say.
    return understood(path, lambda: model.model_validate_json(json.dumps(fields)))
