"""Compares published rows with what models show: for the table in docs/accuracy.md, and for the fit."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from iogauge import catalog
from iogauge.calibrate import loads
from iogauge.calibrate.observe import drive_of, is_stated, observed, setting_of
from iogauge.calibrate.trial import Trial
from iogauge.calibrate.verdict import Verdict, verdict
from iogauge.catalog.published import Point, held_out, of_drives, points
from iogauge.execution.interrupts import Interrupts

THREADS = 2
"""Trials run in parallel: the Rust core releases Python's lock."""


def shipped(interrupts: Interrupts) -> Trial:
    """Return a trial of the shipped models."""
    return Trial(
        drives={name: catalog.drive(name).parameters for name in catalog.shipped("drive")},
        machines={name: catalog.machine(name).parameters for name in catalog.shipped("machine")},
        interrupts=interrupts,
    )


def rows_of(drive: str) -> list[Point]:
    """Return the figures and bounds published about a shipped drive."""
    return of_drives(catalog.drive(drive).published_as)


def verdicts(
    rows: Iterable[Point],
    trial: Trial,
    *,
    drives: Mapping[str, catalog.ModelFile] | None = None,
    most_ios: int = loads.MOST,
    done: Callable[[int, int], None] = lambda _done, _of: None,
) -> list[Verdict]:
    """Return a verdict for every row that a model can show, in the order of the rows.

    ``drives`` name the rows that are about them and the machine in front of them; the default is the shipped drives.
    ``done`` is called after each row with the number of rows done and the number of all rows.
    """
    rows = list(rows)
    finished = itertools.count(1)
    if drives is None:
        drives = {name: catalog.drive(name) for name in catalog.shipped("drive")}
    kept = {number for drive in drives.values() for number in held_out(of_drives(drive.published_as))}

    def judged(point: Point) -> Verdict | None:
        name = drive_of(point, drives)
        setting = value = None
        if name is not None:
            setting = setting_of(point, name, drives[name], trial, most_ios=most_ios)
            value = observed(setting)
        done(next(finished), len(rows))
        if setting is None or value is None:
            return None
        return verdict(
            point,
            value,
            predicted=point.row in kept,
            stated=is_stated(point, drives[setting.drive]),
            machine=setting.machine,
        )

    with ThreadPoolExecutor(THREADS) as pool:
        return [result for result in pool.map(judged, rows) if result is not None]


def comparable() -> Sequence[Point]:
    """Return the rows that the model of a shipped drive is compared with."""
    names = {name for reference in catalog.shipped("drive") for name in catalog.drive(reference).published_as}
    return [point for point in points() if point.use != "context" and point.drive in names]
