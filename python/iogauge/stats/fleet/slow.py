"""Which drives are slow, which hosts, slots, firmwares and models, and which of these it is.

A drive is compared with its peers (``peers.py``): its level over all positions (``scores.py``), less what its host and
slot share (``effects.py``), beside the spread between healthy drives; and the events in which it is slow beside its own
level (``bound.py``). Wide causes are judged first. The drives of a slow host are then compared with each other, so a
slow host is one finding and not one for each of its drives.

All findings together have one false discovery rate, by Benjamini and Hochberg. A tenth of it goes to models, firmwares,
hosts and slots, which have many drives each and need little; the rest to drives. A drive has two chances to be found,
so its p is weighted: nine tenths for its level, one tenth for its events. If nothing is wrong, the chance of any
finding is at most the rate.

This rests on one assumption: the logarithms of healthy drives of one kind are about normal. What can be found follows
from their spread, and ``detectable`` says it for the fleet at hand.

Source: Benjamini and Hochberg (1995), as in ``robust.py``; weights as in C. Genovese, K. Roeder and L. Wasserman,
"False discovery control with p-value weighting" (Biometrika 93, 2006).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from iogauge.stats import special
from iogauge.stats.fleet import wide
from iogauge.stats.fleet.aliases import cannot_tell
from iogauge.stats.fleet.bound import Times, slow_times
from iogauge.stats.fleet.effects import Effects, MixedModel
from iogauge.stats.fleet.findings import BOUND, DrivePoint, Finding, SlowDrives, Suspect
from iogauge.stats.fleet.fleet import Drives, drives
from iogauge.stats.fleet.observations import DriveObservations, Floats, Truths
from iogauge.stats.fleet.robust import EFFICIENCY, benjamini_hochberg, upper_tail
from iogauge.stats.fleet.scores import level_matrix
from iogauge.text import numbers

RATE = 0.05
"""The false discovery rate."""
LEVEL = 0.9
"""Weight of a drive's level; its events have the rest."""
_ONE_IN = 100
"""One drive in so many is slow, for ``detectable``."""


def slow(observations: DriveObservations, *, rate: float = RATE) -> SlowDrives:
    """Return which drives are slow, and which hosts, slots, firmwares and models.

    ``rate`` is the false discovery rate of all findings together, 0 < rate < 1; ValueError for another.
    """
    if not 0 < rate < 1:
        raise ValueError(f"a false discovery rate of {rate} is not between 0 and 1")
    fleet = drives(observations)
    unsure = cannot_tell(fleet.columns, fleet.peers, fleet.mixed)
    if fleet.mixed is None:
        return SlowDrives((), unsure, _points(fleet, observations, None, {}), rate, None, None, None)
    shared = wide.wide_findings(fleet, fleet.mixed, rate)
    levels = _levels(fleet, fleet.mixed, shared)
    verdict = _verdict(fleet, levels, slow_times(observations, fleet.peers))
    single = _drive_findings(fleet, levels, verdict, rate)
    suspects = {drive: finding.suspect for finding in (*shared[::-1], *single) for drive in finding.drives}
    return SlowDrives(
        (*shared, *single),
        unsure,
        _points(fleet, observations, verdict, suspects),
        rate,
        drive_spread=float(np.median(fleet.mixed.between)),
        host_spread=fleet.mixed.hosts.spread if fleet.mixed.hosts.tested.any() else None,
        detectable=_detectable(levels, rate),
    )


@dataclass(frozen=True, eq=False)
class _Levels:
    """Of the judged drives: the logarithm of the latency beside its host's other drives, its standard error, and p."""

    value: Floats
    error: Floats
    predicted: Floats
    """Standard deviation of ``value`` if the drive is healthy."""
    freedom: Floats
    p: Floats


def _levels(fleet: Drives, mixed: MixedModel, shared: list[Finding]) -> _Levels:
    """Compare each judged drive with the other drives of its kind, host and slot."""
    values, error = fleet.scores.value[fleet.judged], fleet.scores.error[fleet.judged]
    within = np.hypot(mixed.between, error)
    slow_names = {(finding.suspect, finding.name) for finding in shared}
    expected, variance = np.zeros_like(values), error**2
    for effects, suspect in ((mixed.hosts, Suspect.HOST), (mixed.slots, Suspect.SLOT)):
        mean, unseen = effects.predicted(within, _slow(effects, suspect, slow_names))
        expected += mean
        variance = variance + unseen
    kind = fleet.peers.of_drive[fleet.judged]
    variance += within**2 / (EFFICIENCY * np.bincount(kind)[kind])
    value = values - expected
    predicted = np.sqrt(variance + mixed.between**2)
    return _Levels(
        value, np.sqrt(variance), predicted, mixed.freedom, upper_tail(value / predicted, mixed.freedom)
    )


def _slow(effects: Effects, suspect: Suspect, names: set[tuple[Suspect, str]]) -> Truths:
    return np.array([(suspect, name) in names for name in effects.names])


@dataclass(frozen=True, eq=False)
class _Verdict:
    """Of all drives: p of level and events together, its q, which of the two it is, and the events."""

    p: Floats
    q: Floats
    at_times: Truths
    times: Times


def _verdict(fleet: Drives, levels: _Levels, times: Times) -> _Verdict:
    level = np.ones(len(fleet.names))
    level[fleet.judged] = np.minimum(levels.p / LEVEL, 1.0)
    events = np.minimum(times.p / (1 - LEVEL), 1.0)
    p = np.minimum(level, events)
    q = np.ones(len(p))
    q[fleet.judged] = np.minimum(benjamini_hochberg(p[fleet.judged]) / (1 - wide.SHARE), 1.0)
    return _Verdict(p, q, events < level, times)


def _drive_findings(fleet: Drives, levels: _Levels, verdict: _Verdict, rate: float) -> list[Finding]:
    """Return the slow drives, the slowest first."""
    findings = []
    place = np.cumsum(fleet.judged) - 1
    for number in np.flatnonzero(fleet.judged & (verdict.q <= rate)).tolist():
        at_times = bool(verdict.at_times[number])
        if at_times:
            value, error = float(verdict.times.value[number]), float(verdict.times.error[number])
        else:
            value, error = float(levels.value[place[number]]), float(levels.error[place[number]])
        ratio, low, high = (math.exp(value + side * BOUND * error) for side in (0, -1, 1))
        findings.append(
            Finding(
                Suspect.DRIVE,
                fleet.names[number],
                ratio,
                low,
                high,
                float(verdict.p[number]),
                float(verdict.q[number]),
                (fleet.names[number],),
                _why(verdict.times, number, at_times, numbers.times(ratio, low, high)),
                host=fleet.columns["host"][number],
                at_times=at_times,
            )
        )
    return sorted(findings, key=lambda finding: (-finding.ratio, finding.name))


def _why(times: Times, number: int, at_times: bool, ratio: str) -> str:
    """Return the reason of a drive's finding."""
    if at_times:
        events = numbers.counted(int(times.events[number]), "event")
        return f"slow at times: {ratio} its own usual latency in {times.share[number]:.1%} of its time, in {events}"
    return f"slow throughout: {ratio} the latency of its peers"


def _points(
    fleet: Drives,
    observations: DriveObservations,
    verdict: _Verdict | None,
    suspects: Mapping[str, Suspect],
) -> tuple[DrivePoint, ...]:
    iops = _relative_iops(fleet, observations)
    bounds = fleet.scores.value[:, None] + BOUND * fleet.scores.error[:, None] * np.array([0.0, -1.0, 1.0])
    points = []
    for number, drive in enumerate(fleet.names):
        judged = bool(fleet.judged[number])
        ratio, low, high = np.exp(bounds[number]).tolist() if judged else (None, None, None)
        points.append(
            DrivePoint(
                drive=drive,
                host=fleet.columns["host"][number],
                model=fleet.columns["model"][number],
                firmware=fleet.columns["firmware"][number],
                slot=fleet.columns["slot"][number],
                latency_ratio=ratio,
                low=low,
                high=high,
                iops_ratio=math.exp(iops[number]) if judged else None,
                slow_share=float(verdict.times.share[number]) if verdict else 0.0,
                p=float(verdict.p[number]) if verdict else 1.0,
                q=float(verdict.q[number]) if verdict else 1.0,
                suspect=suspects.get(drive),
            )
        )
    return tuple(points)


def _relative_iops(fleet: Drives, observations: DriveObservations) -> Floats:
    """Return the logarithm of each judged drive's rate over the median of its kind, the mean over its positions."""
    rates = level_matrix(observations, observations.iops)
    beside = np.full(len(rates), np.nan)
    for kind in range(len(fleet.peers.kinds)):
        members = fleet.judged & (fleet.peers.of_drive == kind)
        if members.any():
            own = rates[members]
            own = own[:, ~np.isnan(own).all(axis=0)]
            beside[members] = np.nanmean(own - np.nanmedian(own, axis=0), axis=1)
    return beside


def _detectable(levels: _Levels, rate: float) -> float:
    """Return the ratio at which a drive is found in 95 of 100 cases if one in a hundred is slow; at least one is."""
    number = len(levels.p)
    slow_drives = max(1.0, number / _ONE_IN)
    threshold = rate * (1 - wide.SHARE) * LEVEL * slow_drives / number
    freedom = float(np.median(levels.freedom))
    reach = -float(special.stdtrit(freedom, threshold)) - float(special.stdtrit(freedom, 0.05))
    return math.exp(reach * float(np.median(levels.predicted)))
