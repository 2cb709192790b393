"""How slow each drive is beside its kind, over all positions: one number, with the error that its batches leave.

The figure is the mean latency or its tail. A drive's logarithm of it at a position is the median of its batches, so a
few disturbed batches do not count. From it goes the centre of its kind at that position. What is left is averaged over
positions, weighted by the inverse of the kind's spread at each: best where a slow drive differs by about as many
spreads everywhere, and nearly best where it differs by the same ratio everywhere. The weights are positive, so a drive
that is slower at any position never has a lower score.

The error has two parts: drives differ in how they take to a position, and batches differ. What drives of a kind differ
by throughout is no error: ``effects.py`` estimates it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from iogauge.stats.fleet.observations import DriveObservations, Floats, Places
from iogauge.stats.fleet.peers import FEWEST_PEERS, Peers
from iogauge.stats.fleet.robust import centres, medians, spread

LEAST_SPREAD = 0.005
"""Standard deviation of the logarithm that is assumed between healthy drives of a kind, and between healthy hosts, at
least. It keeps differences of a percent between drives that are all but equal from being findings."""
_MEDIAN = np.pi / 2
"""Variance of a median, as a multiple of that of a mean."""


@dataclass(frozen=True, eq=False)
class Scores:
    """By drive: the natural logarithm of its latency over that of its kind, and its standard error; NaN: not judged.

    ``usual`` is the centre of the logarithms of the figure (ns) for each kind and position, NaN where too few drives of
    a kind have a position.
    """

    value: Floats
    error: Floats
    usual: Floats
    weight: Floats
    """Weight of each position for each kind."""


def level_matrix(observations: DriveObservations, figure: Floats) -> Floats:
    """Return the medians of a figure's logarithms over batches: drives x positions, NaN where no batch has it."""
    drives, positions = len(observations.drives), len(observations.positions)
    known = ~np.isnan(figure)
    middles = medians(np.log(figure[known]), _cell(observations)[known], drives * positions)
    return middles.reshape(drives, positions)


def scores(observations: DriveObservations, peers: Peers, figure: Floats) -> Scores:
    """Return how slow each drive is beside its kind by a figure of its batches: their mean latency, or their tail."""
    level = level_matrix(observations, figure)
    kinds, positions = len(peers.kinds), level.shape[1]
    usual = np.full((kinds, positions), np.nan)
    between = np.full((kinds, positions), np.nan)
    for kind in range(kinds):
        for position in range(positions):
            column = level[peers.of_drive == kind, position]
            usual[kind, position], between[kind, position] = _centre(column[~np.isnan(column)])
    excess = _beside(level, usual, peers)
    weight = 1 / between
    value = _average(excess, weight, peers)
    for kind in range(kinds):
        members = (peers.of_drive == kind) & ~np.isnan(value)
        value[members] -= _centre(value[members])[0]
    error = _errors(observations, figure, excess - value[:, None], weight, peers)
    return Scores(value, error, usual, weight)


def _centre(values: Floats) -> tuple[float, float]:
    """Return the centre of one kind's values and their spread; NaN where they are too few."""
    if len(values) < FEWEST_PEERS:
        return np.nan, np.nan
    width = max(spread(values - np.median(values)), LEAST_SPREAD)
    one = np.zeros(len(values), dtype=np.intp)
    return float(centres(values, one, 1, np.full(len(values), width)).value[0]), width


def _cell(observations: DriveObservations) -> Places:
    return observations.drive_of_row * len(observations.positions) + observations.position_of_row


def _beside(level: Floats, usual: Floats, peers: Peers) -> Floats:
    """Return levels less the centre of the drive's kind; NaN for a drive without peers."""
    excess = np.full_like(level, np.nan)
    judged = peers.of_drive >= 0
    excess[judged] = level[judged] - usual[peers.of_drive[judged]]
    return excess


def _average(excess: Floats, weight: Floats, peers: Peers, power: int = 1) -> Floats:
    """Return the weighted mean over the positions that a drive has, or for ``power`` 2 the variance of that mean."""
    known = ~np.isnan(excess)
    shares = np.where(known, weight[peers.of_drive] if len(weight) else np.nan, 0.0)
    total = shares.sum(axis=1)
    shares = shares / np.where(total > 0, total, np.nan)[:, None]
    mean: Floats = np.sum(shares**power * np.where(known, excess, 0.0), axis=1)
    return mean


def _errors(
    observations: DriveObservations, figure: Floats, deviations: Floats, weight: Floats, peers: Peers
) -> Floats:
    """Return the standard error of each drive's score, from how it differs by position and by batch."""
    noise, batches = _noise(observations, figure)
    positions = np.sum(~np.isnan(deviations), axis=1)
    # A drive's score is fitted to its own positions, which takes one of its degrees of freedom.
    freed = np.where(positions > 1, positions / np.maximum(positions - 1, 1), 1.0)
    variance = np.full_like(deviations, np.nan)
    for kind in range(len(peers.kinds)):
        members = peers.of_drive == kind
        for position in range(deviations.shape[1]):
            own = members & ~np.isnan(deviations[:, position])
            if not own.any():
                continue
            of_batches = _MEDIAN * noise[position] ** 2 / batches[own, position]
            shown = spread(deviations[own, position] * np.sqrt(freed[own])) ** 2
            variance[own, position] = max(shown - float(np.median(of_batches)), 0.0) + of_batches
    return np.sqrt(_average(variance, weight, peers, power=2))


def _noise(observations: DriveObservations, figure: Floats) -> tuple[Floats, Floats]:
    """Return the standard deviation between a drive's batches at each position, and the batches of each cell."""
    drives, positions = len(observations.drives), len(observations.positions)
    known = ~np.isnan(figure)
    cell, position_of = _cell(observations)[known], observations.position_of_row[known]
    logs = np.log(figure[known])
    middles = medians(logs, cell, drives * positions)
    batches = np.bincount(cell, minlength=drives * positions).astype(np.float64)
    free = batches[cell] / np.maximum(batches[cell] - 1, 1)
    deviations = (logs - middles[cell]) * np.sqrt(free)
    several = batches[cell] > 1
    noise = np.array(
        [spread(deviations[several & (position_of == position)]) for position in range(positions)]
    )
    return noise, batches.reshape(drives, positions)
