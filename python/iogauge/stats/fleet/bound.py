"""Drives that are slow at times: a bound of latency against throughput, and events beyond it.

The method is that of Perseus: a polynomial of latency on throughput, fitted to what is left without outliers; entries
beyond its 99.9 % upper prediction bound are slow; windows whose median is slow are events; drives are ranked by their
events. It differs where a benchmark differs from production, and where a finding needs an error rate:

- An entry is a batch of intervals, and drives of one kind are fitted at each position by themselves: the load changes
  between positions, and latency and throughput with it.
- Latency and throughput are taken relative to the drive's own better quarter of batches. A drive that is slow
  throughout is found by its level (``scores.py``), with the error between drives; here only its changes count.
- With a fixed number of requests in flight, latency is that number over throughput, so lower throughput would excuse
  any latency. Throughput below the drive's own does not count: doing less is no excuse, doing more is.
- What all drives of a host do at one time is the host's, and is taken off where a host has three drives. Perseus fits
  within one node and cannot see a node whose drives are all slow.
- Outliers are left out by residuals (three standard deviations, again and again), not by DBSCAN and principal
  components, whose settings depend on units. So the bound follows from one number.
- The scoreboard is a test. Healthy drives have events too, and the rate and dispersion of theirs predict how many a
  drive has by chance (negative binomial). Perseus adds up weights for severity and compares with a limit that operators
  chose for their fleet.

Source: R. Lu and others, "Perseus: a fail-slow detection framework for cloud storage systems" (FAST 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from iogauge.stats import special
from iogauge.stats.fleet.effects import FEWEST_DRIVES
from iogauge.stats.fleet.observations import DriveObservations, Floats, Places, Truths
from iogauge.stats.fleet.peers import FEWEST_PEERS, Peers
from iogauge.stats.fleet.robust import CUT, medians, quantiles, spread

CONFIDENCE = 0.999
"""Of the upper prediction bound."""
DEGREE = 2
"""Of the polynomial."""
WINDOW = 3
"""Batches in a row whose median decides. So an event takes two slow batches of three."""
BETTER = 0.25
"""A drive's own level is this quantile of its batches, so that it may be slow most of the time."""
_QUANTILE = 1.86
"""Variance of a normal sample's lower quartile, as a multiple of that of its mean."""
LEAST_NOISE = 0.005
"""Standard deviation of the logarithm of a batch, at least."""


@dataclass(frozen=True, eq=False)
class Times:
    """By drive: the p of its events, how many they are, and how slow it is in them."""

    p: Floats
    events: Places
    share: Floats
    """Share of the drive's batches that are slow and belong to an event."""
    value: Floats
    """Mean logarithm of those batches' latency over what is usual for the drive; NaN without events."""
    error: Floats
    """Standard error of ``value``, of which the drive's own level is a part; NaN without events."""


def slow_times(observations: DriveObservations, peers: Peers) -> Times:
    """Return which drives are slow at times. Drives without peers have a p of 1."""
    order = np.lexsort((observations.batch, observations.position_of_row, observations.drive_of_row))
    drive, position = observations.drive_of_row[order], observations.position_of_row[order]
    cell = drive * len(observations.positions) + position
    kind = peers.of_drive[drive]
    latency = _beside_own(np.log(observations.mean_ns)[order], cell, BETTER)
    more = np.maximum(_beside_own(np.log(observations.iops)[order], cell, 1 - BETTER), 0.0)
    latency -= _common(observations, order, latency)
    expected = np.full(len(order), np.nan)
    reach = np.full(len(order), np.nan)
    noise = np.full(len(order), np.nan)
    for number in np.unique(kind[kind >= 0]):
        for place in range(len(observations.positions)):
            own = (kind == number) & (position == place)
            if len(np.unique(drive[own])) >= FEWEST_PEERS:
                expected[own], reach[own], noise[own] = _bound(more[own], latency[own])
    above = latency - expected
    with np.errstate(invalid="ignore"):
        slow = above > reach
    in_event, begins = _events(slow, cell)
    drives = len(observations.drives)
    events = np.bincount(drive[begins], minlength=drives)
    batches = np.bincount(drive[~np.isnan(expected)], minlength=drives)
    slow_batches = np.bincount(drive[in_event], minlength=drives)
    with np.errstate(invalid="ignore", divide="ignore"):
        value = np.bincount(drive[in_event], above[in_event], minlength=drives) / slow_batches
        squares = np.bincount(
            drive[in_event], (above[in_event] - value[drive[in_event]]) ** 2, minlength=drives
        )
        own_level = _QUANTILE * noise**2 / np.bincount(cell)[cell]
        of_level = np.bincount(drive[in_event], own_level[in_event], minlength=drives) / slow_batches
        error = np.sqrt(squares / (slow_batches - 1) / slow_batches + of_level)
    return Times(_chances(events, batches), events, slow_batches / np.maximum(batches, 1), value, error)


def _beside_own(logs: Floats, cell: Places, q: float) -> Floats:
    """Return each row less the ``q``-quantile of the rows of its drive and position."""
    beside: Floats = logs - quantiles(logs, cell, int(cell.max(initial=-1)) + 1, q)[cell]
    return beside


def _common(observations: DriveObservations, order: Places, latency: Floats) -> Floats:
    """Return what the drives of a host have in common at one time: their median; 0 where a host has few."""
    host = np.unique(observations.of_drives(observations.host), return_inverse=True)[1]
    batch = np.unique(observations.batch, return_inverse=True)[1]
    moment = observations.position_of_row * (batch.max(initial=0) + 1) + batch
    key = host[observations.drive_of_row] * (moment.max(initial=0) + 1) + moment
    label = np.unique(key[order], return_inverse=True)[1]
    count = int(label.max(initial=-1)) + 1
    enough = np.bincount(label, minlength=count) >= FEWEST_DRIVES
    common: Floats = np.where(enough, medians(latency, label, count), 0.0)[label]
    return common


def _bound(more: Floats, latency: Floats) -> tuple[Floats, Floats, float]:
    """Return the expected logarithm of latency, how far above it the prediction bound lies, and the noise of rows."""
    width = float(np.max(more))
    powers = np.vander(more / width if width > 0 else more, DEGREE + 1, increasing=True)
    kept = np.ones(len(more), dtype=bool)
    middle = latency - np.median(latency)
    kept = np.abs(middle) <= CUT * max(spread(middle), LEAST_NOISE)
    inverse = np.linalg.pinv(powers[kept].T @ powers[kept])
    residual = latency - powers @ (inverse @ (powers[kept].T @ latency[kept]))
    for _ in range(10):
        noise = max(spread(residual), LEAST_NOISE)
        next_kept = np.abs(residual) <= CUT * noise
        if bool(np.array_equal(next_kept, kept)):
            break
        kept = next_kept
        inverse = np.linalg.pinv(powers[kept].T @ powers[kept])
        residual = latency - powers @ (inverse @ (powers[kept].T @ latency[kept]))
    noise = max(spread(residual), LEAST_NOISE)
    leverage = np.einsum("ij,jk,ik->i", powers, inverse, powers)
    t = float(special.stdtrit(max(int(kept.sum()) - DEGREE - 1, 1), CONFIDENCE))
    reach: Floats = t * noise * np.sqrt(1 + leverage)
    return latency - residual, reach, noise


def _events(slow: Truths, cell: Places) -> tuple[Truths, Truths]:
    """Return which rows are slow in an event, and which begin one; windows that overlap are one event."""
    in_event = np.zeros(len(slow), dtype=bool)
    begins = np.zeros(len(slow), dtype=bool)
    if len(slow) < WINDOW:
        return in_event, begins
    windows = np.lib.stride_tricks.sliding_window_view(slow, WINDOW)
    one_cell = cell[WINDOW - 1 :] == cell[: len(cell) - WINDOW + 1]
    events = (windows.sum(axis=1) > WINDOW / 2) & one_cell
    covered = np.zeros(len(slow), dtype=bool)
    for shift in range(WINDOW):
        covered[shift : shift + len(events)] |= events
    in_event = covered & slow
    # Windows that touch make one event; the first row of a run of covered rows begins it.
    before = np.concatenate(([False], covered[:-1] & (cell[1:] == cell[:-1])))
    begins = covered & ~before
    return in_event, begins


def _chances(events: Places, batches: Places) -> Floats:
    """Return the chance that a healthy drive has as many events as each, predicted by the others."""
    p = np.ones(len(events))
    judged = batches > 0
    counts = events[judged].astype(np.float64)
    if len(counts) < FEWEST_PEERS:
        return p
    usual = float(np.median(counts))
    # A slow drive has many events; capped, it neither raises the rate by much nor the dispersion.
    capped = np.minimum(counts, usual + CUT * math.sqrt(usual) + 2)
    exposure = batches[judged] / batches[judged].mean()
    total, others = capped.sum() - capped, exposure.sum() - exposure
    rate = (total + 0.5) / others * exposure
    # A drive's own events are left out of the dispersion as well.
    mean = total / (len(counts) - 1)
    variance = ((capped**2).sum() - capped**2) / (len(counts) - 1) - mean**2
    clustered = np.where(mean > 0, np.maximum(variance - mean, 0) / np.where(mean > 0, mean, 1) ** 2, 0)
    # The uncertainty of the rate adds to the dispersion: a gamma distribution with as much information as was seen.
    excess = clustered + 1 / (total + 0.5)
    p[judged] = np.where(
        counts > 0, special.betainc(np.maximum(counts, 1), 1 / excess, _odds(rate, excess)), 1.0
    )
    return p


def _odds(rate: Floats, excess: Floats) -> Floats:
    """Return the parameter of a negative binomial of this mean, whose variance is mean + excess x mean^2."""
    return excess * rate / (1 + excess * rate)
