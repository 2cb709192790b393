"""Writes a model as the text of a file that ``file`` reads.

The layout is that of the shipped files: one number per line, with its kind and source. The text may name a base instead
of repeating its parameters.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from iogauge.catalog.file import Entry, ModelFile


def to_toml(model: ModelFile, *, on_base: bool = False) -> str:
    """Return the text of a model's file. Reading it gives the same model.

    ``on_base`` names the model's base; the model is then its file without the base applied.

    >>> from iogauge import catalog
    >>> print(to_toml(catalog.drive("ram")).splitlines()[0])
    title = "memory (no media time)"
    """
    head = {"title": model.title, "version": model.version}
    optional = {
        "notes": model.notes,
        "also": list(model.also),
        "published_as": list(model.published_as),
        "machine": model.machine,
        "base": model.base if on_base else None,
    }
    head |= {key: value for key, value in optional.items() if value}
    lines = [f"{key} = {_value(value)}" for key, value in head.items()]
    fit = _fit(model.fit) if model.fit else ()
    return "\n".join([*lines, *_table(model.tree, "parameters"), *fit]) + "\n"


def _fit(fit: Mapping[str, Any]) -> Iterator[str]:
    """Yield the record of a fit, one residual per line."""
    yield from ("", "[fit]")
    for key, value in fit.items():
        if isinstance(value, list):
            yield from (f"{_key(key)} = [", *(f"  {_value(item)}," for item in value), "]")
        else:
            yield f"{_key(key)} = {_value(value)}"


def _table(table: Mapping[str, Any], name: str, *, header: str = "[{}]") -> Iterator[str]:
    """Yield a table's lines: first its values, then its inner tables, because TOML takes no value after them."""
    yield ""
    yield header.format(name)
    for key, value in table.items():
        if not _is_table(value) and not _is_tables(value):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        if _is_table(value):
            yield from _table(value, f"{name}.{_key(key)}")
        elif _is_tables(value):
            for item in value:
                yield from _table(item, f"{name}.{_key(key)}", header="[[{}]]")


def _is_table(value: object) -> bool:
    return isinstance(value, Mapping)


def _is_tables(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_table, value))


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    match value:
        case Entry(start=None):
            return _inline(value=value.value, kind=value.kind, source=value.source)
        case Entry():
            return _inline(
                value=value.value,
                kind=value.kind,
                start=value.start,
                range=list(value.range or ()),
                source=value.source,
            )
        case Mapping():
            return _inline(**value)
        case list():
            return f"[{', '.join(map(_value, value))}]"
        case str():
            # A JSON string is a TOML string, except that TOML requires DEL to be escaped.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value)


def _inline(**values: Any) -> str:
    return "{ " + ", ".join(f"{_key(key)} = {_value(value)}" for key, value in values.items()) + " }"
