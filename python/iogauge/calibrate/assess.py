"""Every published row beside what the shipped models show: the table in METHODOLOGY.md, and what a fit sums up."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

from iogauge import models
from iogauge.calibrate import loads
from iogauge.calibrate.observe import drive_of, observed, setting_of
from iogauge.calibrate.trial import Trial
from iogauge.calibrate.verdict import Verdict, verdict
from iogauge.models.published import Point, held_out, of_drives, points
from iogauge.run.interrupts import Interrupts

THREADS = 2
"""Trials run side by side; each is a thread of the Rust core, which holds no lock of Python's."""


def shipped(interrupts: Interrupts) -> Trial:
    """Return the models as they are shipped."""
    return Trial(
        drives={name: models.drive(name).parameters for name in models.shipped("drive")},
        machines={name: models.machine(name).parameters for name in models.shipped("machine")},
        interrupts=interrupts,
    )


def rows_of(drive: str) -> list[Point]:
    """Return the rows about a shipped drive that are to be fitted or held."""
    return of_drives(models.drive(drive).published_as)


def verdicts(
    rows: Iterable[Point],
    trial: Trial,
    *,
    most_ios: int = loads.MOST,
    done: Callable[[int, int], None] = lambda _done, _of: None,
) -> list[Verdict]:
    """Return what a trial shows for every row that a shipped drive can show anything for, in the order given.

    ``done`` hears after each how many of how many are.
    """
    rows = list(rows)
    finished = itertools.count(1)
    drives = [models.drive(name) for name in models.shipped("drive")]
    kept = {number for each in drives for number in held_out(of_drives(each.published_as))}

    def judged(point: Point) -> Verdict | None:
        drive = drive_of(point, drives)
        value = None
        if drive is not None:
            value = observed(setting_of(point, drive, trial, most_ios=most_ios))
        done(next(finished), len(rows))
        return None if value is None else verdict(point, value, predicted=point.row in kept)

    with ThreadPoolExecutor(THREADS) as pool:
        return [each for each in pool.map(judged, rows) if each is not None]


def comparable() -> Sequence[Point]:
    """Return the rows that a shipped drive's model should show."""
    names = {name for each in models.shipped("drive") for name in models.drive(each).published_as}
    return [point for point in points() if point.use != "context" and point.drive in names]
