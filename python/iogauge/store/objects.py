"""Reads JSON files of a review into the schema. It checks the version before any field, and its errors name the file.

There are two kinds of files. A step's record is covered by the checksums beside it. The manifest and the figures are
replaced while a review grows, so they carry their own checksum. ``versions`` knows what changed between versions.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pydantic

from iogauge.schema import Model
from iogauge.store import durable
from iogauge.store.checksums import check_object, damaged, with_checksum
from iogauge.store.durable import explained
from iogauge.store.versions import check_version
from iogauge.text import invalid

_CHECKED_SINCE = 3
"""The first version whose manifest and figures must have a checksum."""

T = TypeVar("T")
M = TypeVar("M", bound=Model)
Fields = dict[str, Any]


def read_object(path: Path, model: type[M], upgrade: Callable[[Fields], Fields]) -> M:
    """Read a JSON file that checksums beside it cover. Raises IogaugeError if it is damaged or too new.

    ``upgrade`` converts the fields of an older version.
    """
    _, fields = _fields(path)
    return _value(path, model, upgrade(fields))


def read_checked(
    path: Path, model: type[M], upgrade: Callable[[Fields], Fields] = lambda fields: fields
) -> M:
    """Read a JSON file that carries its own checksum. Raises IogaugeError if it is damaged or too new.

    ``upgrade`` converts the fields of an older version.
    """
    text, fields = _fields(path)
    required = fields["schema_version"] >= _CHECKED_SINCE
    return _value(path, model, upgrade(check_object(path, text, fields, required=required)))


def write_checked(path: Path, value: Model) -> None:
    """Replace a JSON file atomically, with its own checksum in it."""
    durable.replace_file(path, with_checksum(value.model_dump_json(indent=2)))


def understood(path: Path, read: Callable[[], T]) -> T:
    """Return what ``read`` returns. Raises IogaugeError if the schema refuses a value: the file is damaged."""
    try:
        return read()
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        reason = invalid.reason(first)
        raise damaged(path, f"{where}: {reason}" if where else reason) from error


def _fields(path: Path) -> tuple[bytes, Fields]:
    """Return a file's text and the fields of its object, after checking its version."""
    with explained("read", path):
        text = path.read_bytes()
    try:
        fields: Any = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"not JSON: {error}") from error
    check_version(path, fields.get("schema_version") if isinstance(fields, dict) else None)
    return text, fields


def _value(path: Path, model: type[M], fields: Fields) -> M:
    # From JSON, where a list can be a tuple: validation of Python values is stricter.
    return understood(path, lambda: model.model_validate_json(json.dumps(fields)))
