"""Writes a fit into its model: the numbers, their intervals, what they were fitted to, and the residuals."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

from iogauge.calibrate.fit import Fitted, FittedNumber
from iogauge.calibrate.numbers import folder, rounded
from iogauge.catalog import ModelFile


def with_fit(
    model: ModelFile, fitted: Fitted, *, source: str, command: str, seed: int, residuals: Sequence[str]
) -> ModelFile:
    """Return a model with the numbers of a fit and its record; everything else is unchanged.

    ``source`` names what the numbers were fitted to; ``residuals`` say how far off each figure is.
    """
    tree = copy.deepcopy(dict(model.tree))
    for number in fitted.numbers:
        table, key = folder(tree, number.free.place)
        entry = table[key]
        value = rounded(number.value, integral=isinstance(entry.value, int))
        table[key] = replace(entry, value=value, source=f"fitted to {source}; {_sure(number)}")
    account = {"command": command, "seed": seed, "rms": round(fitted.rms, 3), "residuals": list(residuals)}
    return replace(model, tree=tree, fit=account)


def _sure(number: FittedNumber) -> str:
    low, high = (f"{float(f'{end:.3g}'):,.10g}" for end in number.interval)
    if number.identified:
        return f"{low} to {high} (95 %)"
    return f"hardly identified, {low} to {high} (95 %)"
