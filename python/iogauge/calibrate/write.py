"""A fit into its model's file: the numbers, how sure they are, what they were fitted to and what is left over.

The file keeps its words, comments and order. Only numbers of the kind ``fitted`` change, and the table ``[fit]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tomlkit

from iogauge.calibrate.fit import Fitted, Found


def written(
    path: Path, fitted: Fitted, *, source: str, command: str, seed: int, residuals: Sequence[str]
) -> str:
    """Return the text of the model's file at ``path`` with a fit in it.

    ``source`` says what the numbers were fitted to, ``residuals`` how far off each row is.
    """
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    for found in fitted.numbers:
        entry = _entry(document["parameters"], found.free.place)
        entry["value"] = rounded(found.value, whole=isinstance(entry["value"].unwrap(), int))
        entry["source"] = f"fitted to {source}; {_sure(found)}"
    table = tomlkit.table()
    table["command"] = command
    table["seed"] = seed
    table["rms"] = round(fitted.rms, 3)
    lines = tomlkit.array()
    for line in residuals:
        lines.add_line(line)
    lines.add_line(indent="")
    table["residuals"] = lines
    document.pop("fit", None)
    document["fit"] = table
    return tomlkit.dumps(document)


def rounded(value: float, *, whole: bool) -> float | int:
    """Return a number as files have it: no more digits than mean anything.

    >>> rounded(1713.2468, whole=False), rounded(1713.2, whole=True), rounded(0.0123456, whole=False)
    (1713.2, 1713, 0.012346)
    """
    return round(value) if whole else float(f"{value:.5g}")


def _sure(found: Found) -> str:
    low, high = (f"{end:.3g}" for end in found.interval)
    if found.identified:
        return f"{low} to {high} (95 %)"
    return f"hardly identified, {low} to {high} (95 %)"


def _entry(tree: Any, place: str) -> Any:
    for key in place.split("."):
        tree = tree[int(key)] if key.isdecimal() else tree[key]
    return tree
