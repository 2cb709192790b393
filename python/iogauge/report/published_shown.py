"""The built-in review ``published``: a table for each drive, a line for each published figure, with its source.

It has the rows that describe a load completely, since only those can be compared with a measured step. ``comparison``
compares them. Source: the evaluations named by the rows of ``catalog/published_points.csv``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from iogauge.catalog.published import Point
from iogauge.results.figures import metric_text, value_text
from iogauge.results.published import (
    figure_of_point,
    load_of_point,
    load_text,
    named_drives,
    published_drives,
    source_text,
)
from iogauge.text.grid import aligned

HEAD = ("load", "figure", "published", "source")


def text(names: Sequence[str]) -> str:
    """Return the published drives of these names as tables, ending with a newline.

    Raises IogaugeError if a name has no drive.
    """
    return "".join(f"{line}\n" for drive, rows in _drives(names) for line in (*_drive(drive, rows), ""))


def as_data(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the same as data that JSON can hold: latencies in nanoseconds. Raises as ``text``."""
    return [
        {
            "drive": drive,
            "figures": [
                {
                    "load": _load(point),
                    "metric": figure_of_point(point)[0],
                    "value": figure_of_point(point)[1],
                    "source": source_text(point.source),
                }
                for point in rows
            ],
        }
        for drive, rows in _drives(names)
    ]


def _drives(names: Sequence[str]) -> Iterator[tuple[str, tuple[Point, ...]]]:
    chosen = named_drives(names)
    return ((drive, rows) for drive, rows in published_drives().items() if drive in chosen)


def _drive(drive: str, rows: Sequence[Point]) -> Iterator[str]:
    yield drive
    yield "-" * len(drive)
    yield from aligned([HEAD, *map(_cells, rows)], left=len(HEAD))


def _cells(point: Point) -> list[str]:
    metric, value = figure_of_point(point)
    return [_load(point), metric_text(metric), value_text(metric, value), source_text(point.source)]


def _load(point: Point) -> str:
    load = load_of_point(point)
    assert load is not None, point
    return load_text(load)
