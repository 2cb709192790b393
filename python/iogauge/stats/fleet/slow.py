"""Which drives are slow, which hosts, slots, firmwares and models, and which of these it is.

A drive is compared with its peers (``peers.py``): its level over all positions (``scores.py``), less what its host and
slot share (``effects.py``), beside the spread between healthy drives; and the events in which it is slow beside its own
level (``bound.py``). The level is that of its mean latency, and that of its tail. Wide causes are judged first, by
both. The drives of a slow host are then compared with each other, so a slow host is one finding and not one for each of
its drives.

All findings together have one false discovery rate, by Benjamini and Hochberg. A tenth of it goes to models, firmwares,
hosts and slots, which have many drives each and need little; the rest to drives. A drive has three chances to be found,
so its p is weighted: six tenths for its mean, three for its tail, one for its events (``families.py``). If nothing is
wrong, the chance of any finding is at most the rate.

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
from iogauge.stats.fleet import families, wide
from iogauge.stats.fleet.aliases import cannot_tell, without_tails
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
EVENTS = 1 - families.MEAN - families.TAIL
"""Weight of a drive's events; the levels of its mean and its tail have the rest."""
_ONE_IN = 100
"""One drive in so many is slow, for ``detectable``."""


def slow(observations: DriveObservations, *, rate: float = RATE) -> SlowDrives:
    """Return which drives are slow, and which hosts, slots, firmwares and models.

    ``rate`` is the false discovery rate of all findings together, 0 < rate < 1; ValueError for another.
    """
    if not 0 < rate < 1:
        raise ValueError(f"a false discovery rate of {rate} is not between 0 and 1")
    fleet, tails = drives(observations)
    unsure = cannot_tell(fleet.columns, fleet.peers, fleet.mixed)
    if fleet.mixed is None:
        return SlowDrives((), unsure, _points(fleet, tails, observations, None, {}), rate, None, None, None)
    shared = wide.wide_findings(fleet, tails, rate)
    levels = _levels(fleet, fleet.mixed, shared)
    unsure = (*unsure, *without_tails(fleet, tails))
    of_tails = (
        _Levels.unknown(len(fleet.names)) if tails.mixed is None else _levels(tails, tails.mixed, shared)
    )
    verdict = _verdict(fleet, levels, of_tails, slow_times(observations, fleet.peers))
    single = _drive_findings(fleet, levels, of_tails, verdict, rate)
    causes = {drive: finding for finding in (*shared[::-1], *single) for drive in finding.drives}
    return SlowDrives(
        (*shared, *single),
        unsure,
        _points(fleet, tails, observations, verdict, causes),
        rate,
        drive_spread=float(np.median(fleet.mixed.between)),
        host_spread=fleet.mixed.hosts.spread if fleet.mixed.hosts.tested.any() else None,
        detectable=_detectable(levels, rate),
    )


@dataclass(frozen=True, eq=False)
class _Levels:
    """Of all drives: the logarithm of the latency beside its host's other drives, its standard error, and p.

    Of drives that are not judged, p is 1, and the others are NaN.
    """

    value: Floats
    error: Floats
    predicted: Floats
    """Standard deviation of ``value`` if the drive is healthy."""
    freedom: Floats
    p: Floats

    @classmethod
    def unknown(cls, number: int) -> _Levels:
        """Return those of drives of which none is judged."""
        nothing = np.full(number, np.nan)
        return cls(nothing, nothing, nothing, nothing, np.ones(number))

    def interval(self, number: int) -> tuple[float, float, float]:
        """Return a drive's latency as a multiple of that of its host's other drives, and the bounds of that."""
        value, error = float(self.value[number]), float(self.error[number])
        return math.exp(value), math.exp(value - BOUND * error), math.exp(value + BOUND * error)


def _levels(fleet: Drives, mixed: MixedModel, shared: list[Finding]) -> _Levels:
    """Compare the judged drives with the other drives of their kind, host and slot."""
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
    p = upper_tail(value / predicted, mixed.freedom)
    known = value, np.sqrt(variance), predicted, mixed.freedom, p
    return _Levels(*(_of_all(fleet, column, 1.0 if column is p else np.nan) for column in known))


def _of_all(fleet: Drives, judged: Floats, other: float) -> Floats:
    """Return a column of the judged drives as one of all drives, with ``other`` for those that are not judged."""
    column = np.full(len(fleet.names), other)
    column[fleet.judged] = judged
    return column


def _slow(effects: Effects, suspect: Suspect, names: set[tuple[Suspect, str]]) -> Truths:
    return np.array([(suspect, name) in names for name in effects.names])


@dataclass(frozen=True, eq=False)
class _Verdict:
    """Of all drives: the weighted p of mean and tail, p of all, its q, whether it is that of events, and the events."""

    mean_p: Floats
    tail_p: Floats
    p: Floats
    q: Floats
    at_times: Truths
    times: Times


def _verdict(fleet: Drives, levels: _Levels, tails: _Levels, times: Times) -> _Verdict:
    mean = families.weighted(levels.p, families.MEAN)
    tail = families.weighted(tails.p, families.TAIL)
    events = families.weighted(times.p, EVENTS)
    p = np.minimum(np.minimum(mean, tail), events)
    q = np.ones(len(p))
    q[fleet.judged] = np.minimum(benjamini_hochberg(p[fleet.judged]) / (1 - wide.SHARE), 1.0)
    return _Verdict(mean, tail, p, q, events < np.minimum(mean, tail), times)


def _drive_findings(
    fleet: Drives, levels: _Levels, tails: _Levels, verdict: _Verdict, rate: float
) -> list[Finding]:
    """Return the slow drives, the slowest first."""
    findings = []
    slow_ones = fleet.judged & (verdict.q <= rate)
    most_p = float(np.max(verdict.p[slow_ones], initial=0.0))
    for number in np.flatnonzero(slow_ones).tolist():
        at_times = bool(verdict.at_times[number])
        of_mean, of_tail = levels.interval(number), tails.interval(number)
        in_tail = not at_times and families.is_in_tail(
            mean_p=float(verdict.mean_p[number]),
            tail_p=float(verdict.tail_p[number]),
            most_p=most_p,
            mean_high=of_mean[2],
            tail_low=of_tail[1],
        )
        if at_times:
            value, error = float(verdict.times.value[number]), float(verdict.times.error[number])
            ratio, low, high = (math.exp(value + side * BOUND * error) for side in (0, -1, 1))
        else:
            ratio, low, high = of_tail if in_tail else of_mean
        text = numbers.times(ratio, low, high)
        if at_times:
            why = _why_at_times(verdict.times, number, text)
        elif in_tail:
            why = f"slow tail: {text} the {wide.TAIL}latency of its peers, and {numbers.times(*of_mean)} their mean"
        else:
            why = f"slow throughout: {text} the latency of its peers"
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
                why,
                host=fleet.columns["host"][number],
                at_times=at_times,
                in_tail=in_tail,
            )
        )
    return sorted(findings, key=lambda finding: (-finding.ratio, finding.name))


def _why_at_times(times: Times, number: int, ratio: str) -> str:
    """Return the reason of the finding of a drive that is slow at times."""
    events = numbers.counted(int(times.events[number]), "event")
    return (
        f"slow at times: {ratio} its own usual latency in {times.share[number]:.1%} of its time, in {events}"
    )


def _points(
    fleet: Drives,
    tails: Drives,
    observations: DriveObservations,
    verdict: _Verdict | None,
    causes: Mapping[str, Finding],
) -> tuple[DrivePoint, ...]:
    iops = _relative_iops(fleet, observations)
    bounds = fleet.scores.value[:, None] + BOUND * fleet.scores.error[:, None] * np.array([0.0, -1.0, 1.0])
    points = []
    for number, drive in enumerate(fleet.names):
        judged = bool(fleet.judged[number])
        ratio, low, high = np.exp(bounds[number]).tolist() if judged else (None, None, None)
        cause = causes.get(drive)
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
                suspect=cause.suspect if cause else None,
                tail_ratio=math.exp(tails.scores.value[number]) if tails.judged[number] else None,
                in_tail=cause.in_tail if cause else False,
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
    number = int(np.sum(~np.isnan(levels.value)))
    slow_drives = max(1.0, number / _ONE_IN)
    threshold = rate * (1 - wide.SHARE) * families.MEAN * slow_drives / number
    freedom = float(np.nanmedian(levels.freedom))
    reach = -float(special.stdtrit(freedom, threshold)) - float(special.stdtrit(freedom, 0.05))
    return math.exp(reach * float(np.nanmedian(levels.predicted)))
