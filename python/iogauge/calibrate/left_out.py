"""Judges the models by tables that their fit did not see: leaves a source out, fits again, and predicts its rows.

A table is the ``source`` of rows of ``published_points.csv``. Without it, only the machines and drives whose rows it
has are fitted again. Every fifth row stays out of these fits, too.

The ``start`` of a number in its file was chosen with all rows in view, so a fit that stays there would know the rows
that it is to predict. So every number has a neutral value: that of the nearest relative, or the middle of its range.
The pull of the fit draws towards the neutral value. A number that the remaining rows do not show begins there as well;
the others begin at the file's start, so that the search begins in the same valley. A model of which no row remains has
its relative's numbers. What still knows the left-out rows are the structure of a model and the ranges of its numbers.

Source: leave-one-group-out cross-validation; Hastie, Tibshirani & Friedman, The Elements of Statistical Learning, 7.10.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from iogauge import catalog
from iogauge.calibrate import loads
from iogauge.calibrate.assess import comparable, verdicts
from iogauge.calibrate.fit import LEAST_NOISE, Search, Vector
from iogauge.calibrate.numbers import Free, folder
from iogauge.calibrate.observe import P4800X, is_shown
from iogauge.calibrate.published import PULL, OnTrial, Stage, bases, begun, changed, stages
from iogauge.calibrate.trial import Trial
from iogauge.calibrate.verdict import Verdict
from iogauge.catalog.published import Point


@dataclass(frozen=True)
class Relative:
    """The models whose numbers stand in for a model's own, the nearest first."""

    names: tuple[str, ...]
    reason: str


RELATIVES: Mapping[str, Relative] = {
    "anandtech-linux": Relative(("linux-stock",), "fio on another Linux, as installed"),
    "linux-stock": Relative(
        ("linux-governor", "anandtech-linux"),
        "the next rung changes one setting; what it has from this machine comes from another Linux",
    ),
    "windows-inbox": Relative(("windows-intel",), "the same machine with another driver"),
    "windows-intel": Relative(("windows-inbox",), "the same machine with another driver"),
    "p3700-1600g": Relative(("p3700-800g",), "the same drive of another capacity"),
    "p3608-1600g": Relative(("p3700-800g",), "its controllers are of the same maker and generation"),
    "9100max-2400g": Relative(("p3700-800g",), "another server drive with two bits a cell"),
    "mx300-750g": Relative(("960evo-500g",), "another consumer drive with three bits a cell"),
    "optane-memory-32g": Relative(("p4800x-375g",), "the same media behind fewer channels"),
}
"""Relatives of models beside the base that a file names. The first of two drives of a kind has none."""

RARE = "lat_p99.99999"
"""A quantile that needs more I/Os than these fits have. Its rows are predicted, not fitted."""


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How thorough the fits are. The results depend on it."""

    most_ios: int = 1_000_000
    """The most I/Os of one load of a fit: enough for a p99.999. Loads for other figures have fewer."""
    shown_ios: int = loads.MOST
    """The most I/Os of one load of a prediction."""
    rounds: int = 3
    """Steps of the solver before a restart."""
    restarts: int = 0


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A row of a source that was left out."""

    fitted: Verdict
    """By the shipped models."""
    left_out: Verdict
    """By models that were fitted without the source."""


def sources() -> list[str]:
    """Return every source of a row that a model can show, in the order of the rows.

    >>> sources()[0]
    'S1 Intel evaluation guide Table 5 (inbox driver)'
    """
    return list(dict.fromkeys(point.source for point in comparable() if is_shown(point)))


def rows_of_source(source: str) -> list[Point]:
    """Return the rows of a source that a model can show."""
    return [point for point in comparable() if is_shown(point) and point.source == source]


def affected(source: str) -> list[Stage]:
    """Return the fits that use a row of a source, without it, in order: a relative comes first."""
    wanted = [
        replace(stage, without=source)
        for stage in stages()
        if any(point.source == source for point in stage.rows)
    ]
    return sorted(wanted, key=_turn)


def _turn(stage: Stage) -> int:
    if stage.what == "machine":
        return 0
    return 1 + (stage.name != P4800X) + _distance(stage)


def _distance(stage: Stage) -> int:
    """Return the number of steps from a drive to one without a relative."""
    return max((1 + _distance(replace(stage, name=name)) for name in relatives(stage)), default=0)


def relatives(stage: Stage) -> list[str]:
    """Return the models whose numbers stand in for a model's, the nearest first: its base, then ``RELATIVES``."""
    base = stage.file.base
    own = RELATIVES.get(stage.name)
    return [*([] if base is None else [base]), *(own.names if own else ())]


def neutral(stage: Stage, number: Free, trial: Trial) -> float:
    """Return a value of a number that knows no row about its model: a relative's, or the middle of its range."""
    pool = trial.drives if stage.what == "drive" else trial.machines
    for name in relatives(stage):
        relative = replace(stage, name=name)
        if stage.name in bases(relative) and number.place not in {own.place for own in relative.free}:
            continue  # It has the number from this very model.
        try:
            table, key = folder(pool[name], number.place)
            value = float(table[key])
        except (KeyError, IndexError, TypeError):
            continue
        return min(max(value, number.low), number.high)
    return number.value(0.5)


def without(
    source: str, trial: Trial, *, effort: Effort, began: Callable[[str], None], on_trial: OnTrial
) -> Trial:
    """Return a trial whose models were fitted without a source. ``trial`` holds the shipped models.

    ``began`` is called with the name of each model, ``on_trial`` with the progress of its fit.
    """
    wanted = affected(source)
    if _is_idle(wanted, source, trial):
        return trial
    trial = begun(trial, [stage for stage in wanted if stage.rows])
    for stage in wanted:
        began(stage.name)
        trial = _again(stage, trial, effort=effort, on_trial=on_trial)
    return trial


def _is_idle(wanted: list[Stage], source: str, trial: Trial) -> bool:
    """Return whether a fit without the source is the same: its rows are bounds that hold, which pull on no number."""
    rows = {
        point.row: point
        for stage in wanted
        for point in replace(stage, without="").rows
        if point.source == source
    }
    if any(point.use != "bound" for point in rows.values()):
        return False
    return all(judged.residual == 0 for judged in verdicts(rows.values(), trial))


def _again(stage: Stage, trial: Trial, *, effort: Effort, on_trial: OnTrial) -> Trial:
    """Return a trial with one model fitted to the rows that remain."""
    rows = [point for point in stage.rows if point.metric != RARE]
    free = [replace(number, start=neutral(stage, number, trial)) for number in stage.free]
    neutrals = {number.place: number.start for number in free}
    if not rows:
        trial = changed(trial, stage, neutrals)
        if stage.what == "machine":
            relative = copy.deepcopy(trial.machines[relatives(stage)[0]])
            trial = replace(trial, machines={**trial.machines, stage.name: relative})
        return trial

    def residuals(values: Mapping[str, float]) -> Vector:
        tried = changed(trial, stage, values)
        return np.array([judged.residual for judged in verdicts(rows, tried, most_ios=effort.most_ios)])

    search = Search(free, residuals, pull=PULL, on_trial=on_trial)
    z = search.least(
        unseen_at_neutral(search, search.shares({number.place: number.start for number in stage.free})),
        rounds=effort.rounds,
        restarts=effort.restarts,
    )
    return changed(trial, stage, search.values(z))


def unseen_at_neutral(search: Search, z: Vector) -> Vector:
    """Return a start in which the numbers that no row shows have their neutral values.

    A row shows a number if the move from ``z`` to the neutral value changes its residual by more than its noise.
    """
    moved = []
    for place, share in enumerate(search.start):
        there = z.copy()
        there[place] = share
        moved.append(there)
    search.many([z, *moved])
    here = search.figures(z)
    seen = [float(np.max(np.abs(search.figures(there) - here))) > LEAST_NOISE for there in moved]
    return np.where(seen, z, search.start)


def predict(
    source: str,
    trial: Trial,
    *,
    effort: Effort,
    began: Callable[[str], None] = lambda _name: None,
    on_trial: OnTrial = lambda _done, _rms: None,
) -> list[Prediction]:
    """Return what the models show for the rows of a source, fitted to it and fitted without it.

    ``trial`` holds the shipped models. ``began`` and ``on_trial`` are those of ``without``.
    """
    rows = rows_of_source(source)
    fitted = verdicts(rows, trial, most_ios=effort.shown_ios)
    again = without(source, trial, effort=effort, began=began, on_trial=on_trial)
    left_out = fitted if again is trial else verdicts(rows, again, most_ios=effort.shown_ios)
    return [Prediction(fitted=seen, left_out=unseen) for seen, unseen in zip(fitted, left_out, strict=True)]


def models_digest(effort: Effort) -> str:
    """Return a digest of all that predictions depend on, but for the code: models, rows and effort."""
    files = [
        *(catalog.drive(name) for name in catalog.shipped("drive")),
        *(catalog.machine(name) for name in catalog.shipped("machine")),
    ]
    parts = [
        repr((file.parameters, [(place, entry.start, entry.range) for place, entry in file.entries()]))
        for file in files
    ]
    parts += [repr(comparable()), repr(effort), repr(RELATIVES)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
