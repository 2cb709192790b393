"""Vega-Lite specifications as plain dictionaries: a unit is data transformed, drawn with a mark, by encodings.

A unit without a mark is a base that several layers share. Every function returns a new dictionary.

Source: https://vega.github.io/vega-lite/docs/spec.html
"""

from __future__ import annotations

from typing import Any

Spec = dict[str, Any]


SHORT: Spec = {"format": "~s", "labelExpr": "datum.value === 0 ? '0' : datum.label"}
"""How an axis writes large numbers: 200k. Vega would write the zero of such an axis as 0k."""

IN_US: Spec = {
    "format": ",~f",
    "labelExpr": "datum.value < 1e6 ? datum.label : format(datum.value / 1e6, ',~r') + ' s'",
}
"""How an axis in microseconds writes its numbers: 1 s for a million, which would not fit beside it."""


def number(column: str, **properties: object) -> Spec:
    """Return the encoding of a column of numbers.

    >>> number("latency_us", title="µs")
    {'field': 'latency_us', 'type': 'quantitative', 'title': 'µs'}
    """
    return {"field": column, "type": "quantitative", **properties}


def name(column: str, **properties: object) -> Spec:
    """Return the encoding of a column of names or of true and false."""
    return {"field": column, "type": "nominal", **properties}


def end(column: str) -> Spec:
    """Return the encoding of the far end (``x2`` or ``y2``) of a bar, a rule or an area."""
    return {"field": column}


def parameter(expression: str) -> Spec:
    """Return a value that is computed from the chart's parameters when it is drawn."""
    return {"expr": expression}


def mark(kind: str, **properties: object) -> Spec:
    """Return a mark of a kind such as ``line``."""
    return {"type": kind, **properties}


def unit(**encoding: Spec) -> Spec:
    """Return a unit that has encodings only."""
    return {"encoding": encoding}


def transformed(base: Spec, *transforms: Spec) -> Spec:
    """Return a unit whose data passes these transforms after its own."""
    return {**base, "transform": [*base.get("transform", ()), *transforms]}


def filtered(base: Spec, condition: str) -> Spec:
    """Return a unit of the rows for which an expression is true, such as ``datum.supported``."""
    return transformed(base, {"filter": condition})


def drawn(base: Spec, mark: Spec, **encoding: Spec | list[Spec]) -> Spec:
    """Return a unit with this mark. ``encoding`` adds to its encodings, or replaces them.

    >>> drawn(unit(x=number("at")), mark("point"), y=number("us"))["encoding"].keys()
    dict_keys(['x', 'y'])
    """
    return {**base, "mark": mark, "encoding": {**base.get("encoding", {}), **encoding}}


def layered(*layers: Spec, **properties: object) -> Spec:
    """Return layers drawn over one another; ``properties`` are a size, transforms and so on."""
    return {"layer": list(layers), **properties}
