"""What is wrong with a TOML plan, in the plan's own words: which key of which table, and what to write instead.

Knows nothing of what a plan means: ``toml_plan`` has its keys and checks its values by pydantic, whose findings these
are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from iogauge.workload.problem import shown
from iogauge.workload.suggest import closest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

EXAMPLE = "examples/plan.toml shows what a plan may say"
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
"""What a value must be, by the first word of pydantic's type of error."""


def explained(errors: Sequence[ErrorDetails], keys: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Return what is wrong, and what to do about it: the first of several, a key that is not known before others.

    ``keys``: what may stand in each table, by its name; empty: at the head.
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
    near = closest(key, known)
    hint = f"did you mean {_name(near, top=not table)}?" if near else f"known are: {', '.join(known)}"
    return f"{where}{shown(key)!r} is not known", hint


def _name(key: str, *, top: bool) -> str:
    """Return a key as it is written in the file."""
    return "[[step]]" if top and key == "step" else key


def _place(loc: Sequence[int | str], *, ends: str = ": ") -> str:
    """Return where something stands, and what follows it; empty, where that is the head of the file.

    >>> _place(("step", 0, "options", "bs"), ends="")
    '[[step]] 1: options.bs'
    """
    # Where a value may be of several kinds, pydantic ends with the kind that it tried.
    words = [part for part in loc if part not in _NEEDED and not str(part).startswith("constrained-str")]
    if not words:
        return ""
    if words[0] == "step" and len(words) > 1 and isinstance(words[1], int):
        rest = ".".join(map(str, words[2:]))
        return f"[[step]] {words[1] + 1}{': ' if rest else ''}{rest}{ends}"
    return ".".join(map(str, words)) + ends
