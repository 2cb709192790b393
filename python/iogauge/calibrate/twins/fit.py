"""Fits a model to your own drive, from a saved review of it.

Every step of the review runs on the model as it ran on the drive, but for a shorter time. The fit compares rates, means
and the quantiles that the sample supports. It moves the numbers that the model's file calls fitted, from their present
values and in wider ranges than the file's, and those of ``ALSO``: what a family of drives is made of. For a shipped
model these are published or assumed; of another drive nobody knows them.

A number that the review does not exercise stays unknown, and its interval says so.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from iogauge import catalog
from iogauge.calibrate.fit import STEPS, Fitted, Vector, with_intervals
from iogauge.calibrate.numbers import Free, folder, put
from iogauge.calibrate.trial import SEED
from iogauge.calibrate.twins.descent import Descended, Level, Matrix, Run, Values, descend
from iogauge.calibrate.twins.steps import Key, Length, ShortStep, figures_of, steps_of
from iogauge.errors import IogaugeError
from iogauge.execution.interrupts import Interrupts
from iogauge.schema import Direction
from iogauge.store import Review
from iogauge.text.option import call

__all__ = ["FittedFigure", "Twin", "figures_of", "fit_twin"]

SHORT = Length(ios=8_000, least=1_500, most=24_000)
"""Comes near: enough for a 99th percentile."""
LONG = Length(ios=30_000, least=10_000, most=90_000)
"""Enough for a 99.9th percentile."""
ABSENT = 20.0
"""The residual of a figure that the model does not show."""
PULL = 10.0
"""The residual of a move of a number from its start through its full range: weak compared with many figures.

With 3, a descent over figures that are rough in the numbers ended far from a drive whose numbers were hidden."""
WIDER = 4.0
"""How many times a twin's numbers may exceed the range in the file that it starts from."""

ALSO: Mapping[str, Sequence[str]] = {
    "xpoint": ("channels", "latency_ns"),
    "nand": (
        "dies",
        "channels",
        "program_ns",
        "take_chunk_ns",
        "buffer_bytes",
        "slow_read_share",
        "over_provisioning",
    ),
}
"""By family: the numbers of the media that a twin may move although its model's file states or assumes them."""
ALSO_RANGE = 1.5
"""With ``WIDER``, they may move by a factor of 6 in either direction."""
MOST_SHARE = 0.95

INTERVALS_WIDER: Mapping[str, float] = {"xpoint": 2.9, "nand": 6.2}
"""By family: how many times as wide as the linearised fit says the intervals of a twin are.

Half of the drives that ``bench twins`` draws need it for 95 % of their true numbers. The other half's intervals then
hold 97 %.
"""

_EXPECTED: Mapping[str, float] = {
    "iops": 0.03,
    "mean": 0.05,
    "p50": 0.08,
    "p90": 0.08,
    "p99": 0.12,
    "p99.9": 0.2,
    "p99.99": 0.3,
}
"""The relative error that a model can be expected to reach, by figure. A smaller one weighs more."""


@dataclass(frozen=True, kw_only=True)
class FittedFigure:
    """One figure of a review, and the twin's."""

    step: str
    job: str
    direction: Direction
    what: str
    """``iops``, ``mean``, ``p99``, ..."""
    measured: float
    """I/Os a second, or ns."""
    modelled: float | None
    """None if the model completed no request."""

    @property
    def error(self) -> float | None:
        """The relative error."""
        return None if self.modelled is None else self.modelled / self.measured - 1


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A fitted model, and how close it comes to the review."""

    model: catalog.ModelFile
    """The model that the fit started from, with the review's capacity; ``write.with_fit`` puts the numbers in."""
    fitted: Fitted
    figures: tuple[FittedFigure, ...]


def fit_twin(
    review: Review,
    begin_with: catalog.ModelFile,
    machine: catalog.ModelFile,
    *,
    interrupts: Interrupts,
    suites: Sequence[str] = (),
    threads: int = 2,
    on_trial: Callable[[int, float], None] = lambda _done, _rms: None,
) -> Twin:
    """Return the model that comes closest to a review, starting from a drive's model.

    ``suites``: the suites of the review to fit to; empty for all. ``on_trial`` is called with the number of trials and
    the least root mean square error, in units of the expected error. Raises IogaugeError if the review holds no
    complete step, or the model has no fitted number.
    """
    steps = list(steps_of(review, suites=suites))
    if not steps:
        raise IogaugeError(f"{review.path}: no step is complete", hint=call("review", resume=review.path))
    if not any(entry.range for _, entry in begin_with.entries()):
        raise IogaugeError(
            f"{begin_with.path}: no number in it is fitted, so the fit can change nothing",
            hint='start from another model, or write kind = "fitted", start and range for a number',
        )
    model = _prepared(begin_with, _capacity(review, begin_with))
    free = [_free(place, entry) for place, entry in model.entries() if _moves(place, entry)]
    twin = _Twin(model.parameters, machine.parameters, interrupts)
    short, long = ([step.at(length) for step in steps] for length in (SHORT, LONG))
    descended = descend(
        free,
        [
            Level(runs=twin.runs(short), difference=STEPS[0], jacobians=2, steps=14),
            Level(runs=twin.runs(long), difference=STEPS[1], jacobians=1, steps=8),
        ],
        pull=PULL,
        threads=threads,
        on_trial=on_trial,
    )
    wider = INTERVALS_WIDER.get(model.parameters["media"]["family"], 1.0)
    fitted = _channels_within_dies(_with_intervals(free, descended, _keys(short), _keys(long), wider))
    values = {number.free.place: number.value for number in fitted.numbers}
    figures = tuple(figure for step in long for figure in twin.figures(step, values))
    return Twin(model=model, fitted=fitted, figures=figures)


@dataclass(frozen=True)
class _Twin:
    """Runs steps on the model with other numbers."""

    parameters: Mapping[str, Any]
    machine: Mapping[str, Any]
    interrupts: Interrupts

    def runs(self, steps: Sequence[ShortStep]) -> list[Run]:
        return [Run(kind=step.kind, residuals=partial(self._residuals, step)) for step in steps]

    def modelled(self, step: ShortStep, values: Values) -> dict[Key, float]:
        parameters: dict[str, Any] = copy.deepcopy(dict(self.parameters))
        for place, value in values.items():
            put(parameters, place, value)
        media = parameters["media"]
        if "dies" in media:
            media["channels"] = min(media["channels"], media["dies"])
        return step.modelled(parameters, self.machine, self.interrupts)

    def figures(self, step: ShortStep, values: Values) -> list[FittedFigure]:
        modelled = self.modelled(step, values)
        return [
            FittedFigure(
                step=step.id,
                job=key[0],
                direction=key[1],
                what=key[2],
                measured=measured,
                modelled=modelled.get(key),
            )
            for key, measured in step.measured.items()
        ]

    def _residuals(self, step: ShortStep, values: Values) -> Vector:
        modelled = self.modelled(step, values)
        return np.array(
            [
                math.log(modelled[key] / measured) / _EXPECTED[key[2]] if modelled.get(key) else ABSENT
                for key, measured in step.measured.items()
            ]
        )


def _moves(place: str, entry: catalog.Entry) -> bool:
    """Return whether a twin may move a number. A review has no watts to compare."""
    return entry.range is not None and not place.startswith("power.")


def _prepared(begin_with: catalog.ModelFile, capacity_bytes: int) -> catalog.ModelFile:
    """Return the model with a drive's capacity, where the numbers of ``ALSO`` are fitted ones."""
    tree = copy.deepcopy(dict(begin_with.tree))
    tree["capacity_bytes"] = replace(tree["capacity_bytes"], value=capacity_bytes)
    for name in ALSO.get(tree["media"]["family"], ()):
        table, key = folder(tree, f"media.{name}")
        entry = table.get(key)
        if entry is not None and entry.range is None and entry.value > 0:
            ends = (entry.value / ALSO_RANGE, entry.value * ALSO_RANGE)
            table[key] = replace(entry, kind="fitted", start=entry.value, range=ends)
    return replace(begin_with, tree=tree, base=None)


def _free(place: str, entry: catalog.Entry) -> Free:
    low, high = entry.range or (entry.value, entry.value)
    high *= WIDER
    if place.endswith("_share"):
        high = min(high, MOST_SHARE)
    return Free(place=place, start=max(entry.value, low), low=low / WIDER, high=high)


def _capacity(review: Review, begin_with: catalog.ModelFile) -> int:
    known = review.manifest.targets[0].size_bytes
    return known or int(begin_with.parameters["capacity_bytes"])


def _keys(steps: Sequence[ShortStep]) -> list[tuple[str, Key]]:
    return [(step.id, key) for step in steps for key in step.measured]


def _channels_within_dies(fitted: Fitted) -> Fitted:
    """Return the numbers with no more channels than dies: the core refuses a channel without a die, as in trials."""
    dies = [number.value for number in fitted.numbers if number.free.place == "media.dies"]
    numbers = tuple(
        replace(number, value=min(number.value, *dies))
        if dies and number.free.place == "media.channels"
        else number
        for number in fitted.numbers
    )
    return replace(fitted, numbers=numbers)


def _with_intervals(
    free: Sequence[Free],
    descended: Descended,
    short: Sequence[tuple[str, Key]],
    long: Sequence[tuple[str, Key]],
    wider: float,
) -> Fitted:
    """Return the numbers with intervals. A figure that short runs do not support counts for no interval.

    A step's figures of one job and direction come from the same requests, so all together count as one.
    """
    wide, narrow = descended.derivatives
    places = {key: place for place, key in enumerate(short)}
    padded: Matrix = np.zeros_like(narrow)
    for row, key in enumerate(long):
        if key in places:
            padded[row] = wide[places[key]]
    sources = {(step, job, direction) for step, (job, direction, _) in long}
    return with_intervals(
        free,
        descended.z,
        padded,
        narrow,
        descended.residuals,
        seed=SEED,
        alike=len(long) / len(sources),
        wider=wider,
    )
