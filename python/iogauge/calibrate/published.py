"""Fits of shipped models to published rows: machines first, by the drive that all were measured with, then drives.

The order matters, since each fit takes the others as they are by then. Everything begins at its file's ``start``, so
that running it again gives the same files.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from iogauge import models
from iogauge.calibrate.assess import comparable, rows_of, verdicts
from iogauge.calibrate.fit import Fitted, Vector, fit
from iogauge.calibrate.numbers import Free, put
from iogauge.calibrate.observe import P4800X, is_stated
from iogauge.calibrate.trial import SEED, Trial
from iogauge.calibrate.verdict import Verdict
from iogauge.models.published import Point, held_out

PULL = 0.5
"""What no row of a model tells stays where its fit begins: others may be built on it."""
DRIVE_IOS = 2_000_000
"""Of one load in a drive's fit: what lies beyond 99.999 % is the machine's, and fitted with it."""
MACHINE_IOS = 10_000_000

OnTrial = Callable[[int, float], None]
"""Hears how many trials a fit took so far and the least root mean square."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One model to be fitted."""

    what: Literal["drive", "machine"]
    name: str

    @property
    def file(self) -> models.ModelFile:
        """Its own file, without what its base says."""
        own = models.drive if self.what == "drive" else models.machine
        return models.read(own(self.name).path)

    @property
    def free(self) -> tuple[Free, ...]:
        """The numbers that its own file calls fitted."""
        return tuple(
            Free(place=place, start=entry.start, low=entry.range[0], high=entry.range[1])
            for place, entry in self.file.entries()
            if entry.range and entry.start is not None
        )

    @property
    def most_ios(self) -> int:
        """Of one load of its fit."""
        return MACHINE_IOS if self.what == "machine" else DRIVE_IOS

    @property
    def rows(self) -> list[Point]:
        """What it is fitted to: the rows kept for prediction are not among them."""
        if self.what == "machine":
            about = [point for point in rows_of(P4800X) if point.host == self.name]
        else:
            about = [point for point in rows_of(self.name) if point.metric != "lat_p99.99999"]
        kept = held_out(rows_of(P4800X if self.what == "machine" else self.name))
        drive = models.drive(P4800X if self.what == "machine" else self.name)
        return [point for point in about if point.row not in kept and not is_stated(point, drive)]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One model, fitted."""

    stage: Stage
    fitted: Fitted
    trial: Trial
    """All models as they were by then."""

    def verdicts(self, trial: Trial) -> list[Verdict]:
        """Return how near it comes to its rows in a trial: in the last one, to what is shipped."""
        return verdicts(self.stage.rows, trial, most_ios=self.stage.most_ios)


def stages() -> list[Stage]:
    """Return every fit in its order.

    >>> stages()[0].what
    'machine'
    """
    hosts = {point.host for point in comparable()}
    machines = [Stage(what="machine", name=name) for name in models.shipped("machine") if name in hosts]
    reference = Stage(what="drive", name=P4800X)
    others = [Stage(what="drive", name=name) for name in models.shipped("drive") if name != P4800X]
    first = [*sorted(machines, key=lambda stage: len(_bases(stage))), reference]
    return [stage for stage in [*first, *others] if stage.free and stage.rows]


def fit_stages(
    wanted: list[Stage], trial: Trial, *, seed: int = SEED, began: Callable[[str], None], on_trial: OnTrial
) -> Iterator[Outcome]:
    """Fit one after the other, and yield each; ``trial`` says what the models are that are not fitted.

    ``began`` hears the name of each, and ``told`` how its fit goes.

    A machine that is another's base is fitted before that other, which sees the base as fitted.
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
    """Return a trial in which every number to be fitted is where its fit begins."""
    for stage in wanted:
        trial = changed(trial, stage, {number.place: number.start for number in stage.free})
    return trial


def changed(trial: Trial, stage: Stage, values: Mapping[str, float]) -> Trial:
    """Return another trial in which a model has these numbers, and so do the models that are based on it."""
    drives, machines = dict(trial.drives), dict(trial.machines)
    pool = drives if stage.what == "drive" else machines
    for name in [stage.name, *_based_on(stage)]:
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


def _based_on(stage: Stage) -> list[str]:
    """The models whose base this is, through however many others."""
    others = [Stage(what=stage.what, name=name) for name in models.shipped(stage.what)]
    return [other.name for other in others if stage.name in _bases(other)]


def _bases(stage: Stage) -> list[str]:
    """What a model differs from, and what that differs from."""
    base = stage.file.base
    return [] if base is None else [base, *_bases(Stage(what=stage.what, name=base))]
