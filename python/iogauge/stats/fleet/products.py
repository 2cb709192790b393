"""Models beside other models, and firmwares beside other firmwares of their model.

Models are different products, so some are slower than others and nothing is wrong. One is a finding only if it is shown
to be more than 5 % slower than the median of the others. The error allows for how drives and hosts differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from iogauge.stats.fleet.effects import MixedModel
from iogauge.stats.fleet.observations import Floats, Truths
from iogauge.stats.fleet.peers import Peers
from iogauge.stats.fleet.robust import degrees, upper_tail
from iogauge.stats.fleet.scores import Scores

MARGIN = float(np.log(1.05))
"""A slower product is a finding only beyond this, in natural logarithms."""


@dataclass(frozen=True)
class Contrast:
    """A model, or a firmware of a model, beside the others: logarithm of the ratio, its standard error, and p."""

    model: str
    firmware: str | None
    value: float
    error: float
    p: float
    drives: int


def contrasts(
    scores: Scores, peers: Peers, model: MixedModel, judged: Truths, host: Sequence[str]
) -> tuple[Contrast, ...]:
    """Return each model beside the others, and each firmware beside the others of its model.

    ``model`` was fitted to the ``judged`` drives, and ``host`` is theirs. Kinds without the figure are left out. Only
    positions count that all others have.
    """
    kind_of = peers.of_drive[judged]
    names = sorted({model_name for model_name, _ in peers.kinds})
    families = [[[place for place, kind in enumerate(peers.kinds) if kind[0] == name] for name in names]]
    families += [[[place] for place in members] for members in families[0]]
    lines = []
    for family in families:
        compared = [members for members in family if not np.isnan(scores.usual[members]).all()]
        if len(compared) < 2:
            continue
        usual = np.array([_mean(scores.usual[members]) for members in compared])
        shared = ~np.isnan(usual).any(axis=0)
        if not shared.any():
            continue
        weight = _mean(scores.weight[:, shared])
        level = usual[:, shared] @ (weight / weight.sum())
        own = [np.isin(kind_of, members) for members in compared]
        variance = np.array([_variance(model, members, host) for members in own])
        for place, members in enumerate(compared):
            others = np.delete(level, place)
            value = float(level[place] - np.median(others))
            error = float(np.sqrt(variance[place] + np.mean(np.delete(variance, place))))
            freedom = degrees(int(own[place].sum()))
            p = upper_tail(np.array([(value - MARGIN) / error]), freedom)[0]
            name, firmware = peers.kinds[members[0]]
            lines.append(
                Contrast(
                    name,
                    None if family is families[0] else firmware or "other firmware",
                    value,
                    error,
                    float(p),
                    int(own[place].sum()),
                )
            )
    return tuple(lines)


def _mean(rows: Floats) -> Floats:
    """Return the mean of what is known in each column; NaN where nothing is."""
    number = np.sum(~np.isnan(rows), axis=0)
    mean: Floats = np.nansum(rows, axis=0) / np.where(number > 0, number, np.nan)
    return mean


def _variance(model: MixedModel, own: Truths, host: Sequence[str]) -> float:
    """Return the variance of the centre of some drives, which differ by drive and by host."""
    hosts = {name for name, member in zip(host, own, strict=True) if member}
    return float(np.mean(model.between[own] ** 2) / own.sum() + model.hosts.spread**2 / len(hosts))
