"""A model with some numbers changed, for a question such as: what if the pipe were faster?"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from iogauge.catalog.file import Entry, ModelFile
from iogauge.errors import UsageError
from iogauge.text.option import call

_TRUTH = {"true": True, "false": False}


def changed(model: ModelFile, values: Mapping[str, str], *, prefix: str = "") -> ModelFile:
    """Return the model with the values at places as ``leaves`` names them, such as ``media.read_stalls.0.mean_ns``.

    Values are text. Messages put ``prefix`` before a place. Raises UsageError for a place that the model does not have,
    and for a value of the wrong type; whether a number is in its range is for the core to say.
    """
    tree = copy.deepcopy(dict(model.tree))
    leaves = dict(model.leaves())
    for place, text in values.items():
        if place not in leaves:
            raise _unknown(model, place, list(leaves), prefix)
        *way, last = place.split(".")
        node: Any = tree
        for key in way:
            node = node[int(key)] if isinstance(node, list) else node[key]
        node[int(last) if isinstance(node, list) else last] = _leaf(prefix + place, leaves[place], text)
    return replace(model, tree=tree)


def _leaf(place: str, leaf: Entry | str, text: str) -> Entry | str:
    if isinstance(leaf, str):
        if place == "media.family":
            raise UsageError(f"{place} is {leaf}: it cannot be changed", hint="begin with another model")
        return text
    value = leaf.value
    try:
        if isinstance(value, bool):
            parsed: float | int | bool = _TRUTH[text]
        elif isinstance(value, int):
            # A time that happens to be without a fraction may become one with a fraction; the core knows better.
            parsed = float(text) if not text.lstrip("+-").isdecimal() else int(text)
        else:
            parsed = float(text)
        if not math.isfinite(parsed):
            raise ValueError
    except (KeyError, ValueError):
        kind = "true or false" if isinstance(value, bool) else "a number"
        raise UsageError(f"{place}={text}: not {kind}", hint=f"it is {_shown(value)} in the model") from None
    return replace(leaf, value=parsed)


def _shown(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else f"{value:.12g}"


def _unknown(model: ModelFile, place: str, places: list[str], prefix: str) -> UsageError:
    ends = [known for known in places if known.rpartition(".")[2] == place.rpartition(".")[2]]
    near = ends or get_close_matches(place, places, n=3)
    hint = (
        f"did you mean {' or '.join(prefix + one for one in near[:3])}?"
        if near
        else f"see {call('model', model.name)}"
    )
    return UsageError(f"{model.name} has no {prefix}{place}", hint=hint)
