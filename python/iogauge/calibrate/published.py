"""Fits shipped models to published rows: first the machines, with the drive measured on all of them, then the drives.

The order matters, because each fit uses the results of the earlier ones. Every number starts at its file's ``start``,
so that another run gives the same files.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from iogauge import catalog
from iogauge.calibrate.assess import comparable, rows_of, verdicts
from iogauge.calibrate.fit import Fitted, Vector, fit
from iogauge.calibrate.numbers import Free, put
from iogauge.calibrate.observe import P4800X, is_stated
from iogauge.calibrate.trial import SEED, Trial
from iogauge.calibrate.verdict import Verdict
from iogauge.catalog.published import Point, held_out

PULL = 0.5
"""A number that no row determines stays where its fit starts, because other models may be based on it."""
DRIVE_IOS = 1_000_000
"""I/Os of one load in a drive's fit. The tail beyond 99.999 % belongs to the machine and is fitted there."""
MACHINE_IOS = 10_000_000

OnTrial = Callable[[int, float], None]
"""Takes the number of trials of a fit so far and their least root mean square."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """The fit of one model."""

    what: Literal["drive", "machine"]
    name: str
    without: str = ""
    """The source whose rows are left out; empty: none."""

    @property
    def file(self) -> catalog.ModelFile:
        """The model's file, without its base."""
        load = catalog.drive if self.what == "drive" else catalog.machine
        return catalog.own_file(load(self.name))

    @property
    def free(self) -> tuple[Free, ...]:
        """The numbers that the file calls fitted."""
        return tuple(
            Free(place=place, start=entry.start, low=entry.range[0], high=entry.range[1])
            for place, entry in self.file.entries()
            if entry.range and entry.start is not None
        )

    @property
    def most_ios(self) -> int:
        """The most I/Os of one load of the fit."""
        return MACHINE_IOS if self.what == "machine" else DRIVE_IOS

    @property
    def rows(self) -> list[Point]:
        """The rows that it is fitted to, without those kept for prediction."""
        if self.what == "machine":
            about = [point for point in rows_of(P4800X) if point.host == self.name]
        else:
            about = [point for point in rows_of(self.name) if point.metric != "lat_p99.99999"]
        kept = held_out(rows_of(P4800X if self.what == "machine" else self.name))
        drive = catalog.drive(P4800X if self.what == "machine" else self.name)
        return [
            point
            for point in about
            if point.row not in kept
            and not is_stated(point, drive)
            and not (self.without and point.source == self.without)
        ]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One model, fitted."""

    stage: Stage
    fitted: Fitted
    trial: Trial
    """All models after this fit."""

    def verdicts(self, trial: Trial) -> list[Verdict]:
        """Return the verdicts on its rows in a trial. The trial of the last fit has the models that are shipped."""
        return verdicts(self.stage.rows, trial, most_ios=self.stage.most_ios)


def stages() -> list[Stage]:
    """Return every fit, in order.

    >>> stages()[0].what
    'machine'
    """
    hosts = {point.host for point in comparable()}
    machines = [Stage(what="machine", name=name) for name in catalog.shipped("machine") if name in hosts]
    reference = Stage(what="drive", name=P4800X)
    others = [Stage(what="drive", name=name) for name in catalog.shipped("drive") if name != P4800X]
    first = [*sorted(machines, key=lambda stage: len(bases(stage))), reference]
    return [stage for stage in [*first, *others] if stage.free and stage.rows]


def fit_stages(
    wanted: list[Stage], trial: Trial, *, seed: int = SEED, began: Callable[[str], None], on_trial: OnTrial
) -> Iterator[Outcome]:
    """Fit the models one after the other, and yield each outcome. ``trial`` holds the models that are not fitted.

    ``began`` is called with the name of each model, ``on_trial`` with the progress of its fit. A machine that is the
    base of another is fitted first.
    """
    for stage in wanted:
        began(stage.name)
        fitted = _fit(stage, trial, seed=seed, on_trial=on_trial)
        trial = changed(trial, stage, {number.free.place: number.value for number in fitted.numbers})
        yield Outcome(stage=stage, fitted=fitted, trial=trial)


def _fit(stage: Stage, trial: Trial, *, seed: int, on_trial: OnTrial) -> Fitted:
    rows = stage.rows

    def residuals(values: Mapping[str, float]) -> Vector:
        tried = changed(trial, stage, values)
        return np.array([judged.residual for judged in verdicts(rows, tried, most_ios=stage.most_ios)])

    return fit(stage.free, residuals, seed=seed, pull=PULL, on_trial=on_trial)


def begun(trial: Trial, wanted: list[Stage]) -> Trial:
    """Return a trial in which every fitted number has its start value."""
    for stage in wanted:
        trial = changed(trial, stage, {number.place: number.start for number in stage.free})
    return trial


def changed(trial: Trial, stage: Stage, values: Mapping[str, float]) -> Trial:
    """Return another trial in which a model, and every model based on it, has these numbers."""
    drives, machines = dict(trial.drives), dict(trial.machines)
    pool = drives if stage.what == "drive" else machines
    for name in [stage.name, *based_on(stage)]:
        parameters = copy.deepcopy(pool[name])
        own = (
            {number.place for number in Stage(what=stage.what, name=name).free}
            if name != stage.name
            else set()
        )
        for place, value in values.items():
            if place not in own:
                put(parameters, place, value)
        pool[name] = parameters
    return replace(trial, drives=drives, machines=machines)


def based_on(stage: Stage) -> list[str]:
    """Return the models based on this one, directly or through others."""
    others = [Stage(what=stage.what, name=name) for name in catalog.shipped(stage.what)]
    return [other.name for other in others if stage.name in bases(other)]


def bases(stage: Stage) -> list[str]:
    """Return a model's base, the base's base, and so on."""
    base = stage.file.base
    return [] if base is None else [base, *bases(Stage(what=stage.what, name=base))]
