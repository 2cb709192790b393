"""Turn pydantic's errors about a TOML plan into messages: which key of which table is wrong, and what to write instead.

``toml_plan`` defines the keys and validates the values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from iogauge.workload.problem import shown
from iogauge.workload.suggest import closest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

EXAMPLE = "examples/plan.toml shows all keys"
_RENAMED = {"reader": "measured_job", "pressure": "load_jobs"}
"""Keys of former plans, and their names of today."""
_NEEDED = {
    "bool": "true or false",
    "int": "a number",
    "finite": "a finite number",
    "float": "a number",
    "string": "a string",
    "path": "a string",
    "tuple": "an array",
    "dict": "a table",
    "model": "a table",
}
"""What a value must be, by the first word of pydantic's error type."""


def explained(errors: Sequence[ErrorDetails], keys: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Return the message and the hint for the first error; an unknown key comes before all others.

    ``keys``: the allowed keys of each table, by the table's name; the table "" is the head of the file.
    """
    error = next((problem for problem in errors if problem["type"] == "extra_forbidden"), errors[0])
    *tables, key = error["loc"] or ("",)
    where = _place(tables)
    if error["type"] == "extra_forbidden":
        return _unknown(str(key), where, str(tables[0]) if tables else "", keys)
    name = _name(str(key), top=not tables)
    if error["type"] == "missing":
        return f"{where}{name} is missing", EXAMPLE
    if error["type"] == "too_short":
        return f"{where}there is no {name}", EXAMPLE
    if error["type"] == "value_error":
        return f"{_place(error['loc'])}{error['ctx']['error']}", EXAMPLE
    if error["type"] == "string_pattern_mismatch":
        return _place(
            error["loc"], ends=f" is {shown(repr(error['input']))}"
        ), "use letters and digits, on one line"
    needed = _NEEDED.get(error["type"].partition("_")[0], "another value")
    return _place(error["loc"], ends=f" is {shown(repr(error['input']))}, and must be {needed}"), EXAMPLE


def _unknown(key: str, where: str, table: str, keys: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    known = keys.get(table, ())
    near = (None if table else _RENAMED.get(key)) or closest(key, known)
    hint = f"did you mean {_name(near, top=not table)}?" if near else f"use one of: {', '.join(known)}"
    return f"{where}{shown(key)!r} is not known", hint


def _name(key: str, *, top: bool) -> str:
    """Return a key as it is written in the file."""
    return "[[step]]" if top and key == "step" else key


def _place(loc: Sequence[int | str], *, ends: str = ": ") -> str:
    """Return the place of a key in the file, followed by ``ends``; empty for the head of the file.

    >>> _place(("step", 0, "options", "bs"), ends="")
    '[[step]] 1: options.bs'
    """
    # If a value may have several types, pydantic appends the type that it tried.
    keys = [part for part in loc if part not in _NEEDED and not str(part).startswith("constrained-str")]
    if not keys:
        return ""
    if keys[0] == "step" and len(keys) > 1 and isinstance(keys[1], int):
        rest = ".".join(map(str, keys[2:]))
        return f"[[step]] {keys[1] + 1}{': ' if rest else ''}{rest}{ends}"
    return ".".join(map(str, keys)) + ends
