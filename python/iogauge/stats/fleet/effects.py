"""What drives of one host, or of one slot, have in common, and what is left to the drive: a robust mixed model.

The score of a drive is the sum of a host's effect, a slot's and its own. All three are random: each has a spread, which
is estimated from the centres of hosts, of slots, and from drives about them, less the part of that spread which is
error. Centres and spreads are robust (``robust.py``). One place of its kind is predicted by the others:

- a host (a slot) by the other hosts, with the spread between hosts and the error of its own centre. Its centre hardly
  moves for a slow drive, so a host is slow only if most of its drives are;
- a drive by its host's and its slot's effects as its other drives show them, drawn towards zero as far as hosts
  differ little or have few drives (the best linear prediction), with the spread between drives.

Hosts and slots are separated by turns: each is estimated from what the other leaves.

Source: G. Robinson, "That BLUP is a good thing" (Statistical Science 6, 1991); the random effects model of any
textbook. The tests compare with statsmodels' MixedLM.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from iogauge.stats.fleet.observations import Floats, Places, Truths
from iogauge.stats.fleet.robust import EFFICIENCY, Centres, centres, degrees, spread, upper_tail
from iogauge.stats.fleet.scores import LEAST_SPREAD

FEWEST_DRIVES = 3
"""Drives that show what a host is like, at least: with two, one slow drive looks like half a slow host."""
FEWEST_PLACES = 5
"""Hosts that show how hosts differ, at least."""
ASSUMED_SPREAD = 0.02
"""Standard deviation of the logarithm that is assumed between healthy hosts where fewer than five show it."""
_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Effects:
    """The effects of all hosts, or of all slots. ``spread`` is the standard deviation between healthy ones."""

    names: tuple[str, ...]
    label: Places
    """The place of each drive's host in ``names``."""
    centre: Centres
    error: Floats
    """Standard error of each centre."""
    tested: Truths
    """Whether a host has drives enough, and other hosts to be compared with."""
    spread: float
    drives: Places
    """Drives of each host."""
    values: Floats
    """The scores of drives, less what other effects explain."""

    @property
    def known(self) -> Truths:
        """Whether a host has a name."""
        return np.array([name != "" for name in self.names])

    @property
    def assumed(self) -> bool:
        """Whether the spread is assumed, since few hosts show it."""
        return 2 <= int(self.tested.sum()) < FEWEST_PLACES

    def beside_others(self) -> tuple[Floats, Floats, Floats]:
        """Return the logarithm of each tested host's slowness beside the median of the others, its error, and its p."""
        own = self.centre.value[self.tested]
        others = np.array([np.median(np.delete(own, place)) for place in range(len(own))])
        freedom = math.inf if self.assumed else degrees(len(own))
        error = self.error[self.tested]
        variance = max(self.spread, LEAST_SPREAD) ** 2 + error**2
        predicted = variance + np.pi / 2 * np.mean(variance) / max(len(own) - 1, 1) if len(own) else variance
        return own - others, error, upper_tail((own - others) / np.sqrt(predicted), freedom)

    def predicted(self, within: Floats, slow: Truths) -> tuple[Floats, Floats]:
        """Return what a drive's host adds to it, as the host's other drives show it, and the variance of that.

        ``within`` are the standard deviations of drives in a host. A host that is ``slow`` says nothing
        of how healthy hosts differ, so its effect is not drawn towards zero.
        """
        total = self.centre.total()[self.label] - self.centre.weight
        moved = np.bincount(self.label, self.centre.weight * self.values, minlength=len(self.names))[
            self.label
        ]
        some = (total > 1e-9) & self.known[self.label]
        mean = np.where(some, (moved - self.centre.weight * self.values) / np.where(some, total, 1.0), 0.0)
        error = np.where(some, within**2 / (EFFICIENCY * np.where(some, total, 1.0)), np.inf)
        share = np.where(some, self.spread**2 / (self.spread**2 + error), 0.0)
        slow_here = slow[self.label] & some
        share = np.where(slow_here, 1.0, share)
        unseen = np.where(self.known[self.label], (1 - share) * self.spread**2, 0.0)
        return share * mean, np.where(slow_here, error, unseen)


@dataclass(frozen=True, eq=False)
class MixedModel:
    """The fitted model. ``between`` is the standard deviation between healthy drives of one host, by drive."""

    hosts: Effects
    slots: Effects
    between: Floats
    freedom: Floats
    """Degrees of freedom of ``between``."""


OWN_SPREAD = 30
"""Drives from which on a model has a spread of its own. Models with fewer have that of all drives."""


def fit(
    values: Floats, error: Floats, *, host: Sequence[str], slot: Sequence[str], model: Sequence[str]
) -> MixedModel:
    """Fit the model to the scores of drives, none of them NaN, with their standard errors.

    A drive whose slot is not known (an empty name) has no slot's effect.
    """
    models = np.array(model)
    between, freedom = _between(values, error, models, [])
    hosts, slots = _labelled(host), _labelled(slot)
    shared = np.zeros_like(values)
    for _ in range(_ROUNDS):
        within = np.hypot(between, error)
        hosts = _estimated(hosts, values - shared, within)
        rest = values - _shrunk(hosts)
        slots = _estimated(slots, rest, within)
        shared = _shrunk(slots)
        deviations = values - _centres(hosts) - _centres(slots)
        between, freedom = _between(deviations, error, models, [hosts, slots])
    return MixedModel(hosts, slots, between, freedom)


def _between(
    deviations: Floats, error: Floats, models: NDArray[np.str_], factors: Sequence[Effects]
) -> tuple[Floats, Floats]:
    """Return the spread between drives that is no error, and its degrees of freedom, by drive."""
    # A centre that is fitted to a host's drives lies nearer to them than the host's effect does.
    fitted = [np.where(effects.tested, 1 / effects.drives, 0.0)[effects.label] for effects in factors]
    free = np.maximum(1 - np.sum(fitted, axis=0), 0.1) * np.ones_like(deviations)
    scaled = deviations / np.sqrt(free)
    between = np.empty_like(deviations)
    freedom = np.empty_like(deviations)
    everything = np.ones(len(deviations), dtype=bool)
    for name in np.unique(models):
        own = models == name
        members = own if own.sum() >= OWN_SPREAD else everything
        total = spread(scaled[members])
        between[own] = math.sqrt(max(total**2 - float(np.mean(error[members] ** 2)), LEAST_SPREAD**2))
        freedom[own] = degrees(round(float(np.sum(free[members]))))
    return between, freedom


def _labelled(column: Sequence[str]) -> Effects:
    names, label = np.unique(np.array(column), return_inverse=True)
    count = len(names)
    drives = np.bincount(label, minlength=count)
    nothing = np.zeros(count)
    return Effects(
        tuple(str(name) for name in names),
        label,
        Centres(nothing, np.ones(len(label)), label),
        nothing,
        np.zeros(count, dtype=bool),
        0.0,
        drives,
        np.zeros(len(label)),
    )


def _estimated(effects: Effects, values: Floats, within: Floats) -> Effects:
    """Return the effects with their centres, errors and spread, from what other effects leave of the scores."""
    count = len(effects.names)
    tested = effects.known & (effects.drives >= FEWEST_DRIVES)
    if tested.sum() < 2:
        return replace(effects, tested=np.zeros(count, dtype=bool), spread=0.0)
    centre = centres(values, effects.label, count, within)
    variance = np.bincount(effects.label, within**2, minlength=count) / effects.drives
    error = np.sqrt(variance / (EFFICIENCY * np.maximum(centre.total(), 1.0)))
    own = centre.value[tested]
    if tested.sum() < FEWEST_PLACES:
        width = ASSUMED_SPREAD
    else:
        total = spread(own - np.median(own)) ** 2
        width = math.sqrt(max(total - float(np.mean(error[tested] ** 2)), 0.0))
    return replace(effects, centre=centre, error=error, tested=tested, spread=width, values=values)


def _centres(effects: Effects) -> Floats:
    """Return the centre of each drive's host; 0 where the host is not tested."""
    centre: Floats = np.where(effects.tested, effects.centre.value, 0.0)[effects.label]
    return centre


def _shrunk(effects: Effects) -> Floats:
    """Return the best linear prediction of each drive's host effect; 0 where no effect is estimated."""
    if not effects.tested.any():
        return np.zeros(len(effects.label))
    share = effects.spread**2 / (effects.spread**2 + effects.error**2)
    return share[effects.label] * _centres(effects)
