"""Slow models, firmwares, hosts and slots: findings that explain many drives at once, by their mean or their tail."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from iogauge.stats.fleet import families
from iogauge.stats.fleet.effects import Effects
from iogauge.stats.fleet.findings import BOUND, Finding, Suspect
from iogauge.stats.fleet.fleet import Drives
from iogauge.stats.fleet.products import Contrast, contrasts
from iogauge.stats.fleet.robust import benjamini_hochberg
from iogauge.text import numbers

SHARE = 0.1
"""Share of the false discovery rate that these findings have."""
TAIL = "p99 "
"""The tail (``batches.TAIL``) as findings write it before the word latency."""


def wide_findings(mean: Drives, tail: Drives, rate: float) -> list[Finding]:
    """Return what is slow at this false discovery rate, the widest first."""
    by_mean, by_tail = _candidates(mean, ""), _candidates(tail, TAIL)
    # Whatever has a tail has a mean.
    keys = [*by_mean]
    if not keys:
        return []
    both = families.MEAN + families.TAIL
    mean_p = families.weighted(np.array([by_mean[key].p for key in keys]), families.MEAN / both)
    tail_p = families.weighted(
        np.array([by_tail[key].p if key in by_tail else 1.0 for key in keys]), families.TAIL / both
    )
    p = np.minimum(mean_p, tail_p)
    q = np.minimum(benjamini_hochberg(p) / SHARE, 1.0)
    most_p = float(np.max(p[q <= rate], initial=0.0))
    findings = []
    for place in np.flatnonzero(q <= rate).tolist():
        candidate, of_tail = by_mean[keys[place]], by_tail.get(keys[place])
        if of_tail is not None and families.is_in_tail(
            mean_p=float(mean_p[place]),
            tail_p=float(tail_p[place]),
            most_p=most_p,
            mean_high=candidate.high,
            tail_low=of_tail.low,
        ):
            candidate = replace(of_tail, in_tail=True)
        findings.append(replace(candidate, p=float(p[place]), q=float(q[place])))
    widest = list(Suspect)
    return sorted(findings, key=lambda one: (widest.index(one.suspect), -one.ratio, one.name))


def _candidates(fleet: Drives, of: str) -> Mapping[tuple[Suspect, str], Finding]:
    """Return all that is tested by one figure, slow or not. ``of``: what to write before the word latency."""
    mixed = fleet.mixed
    if mixed is None:
        return {}
    products = contrasts(fleet.scores, fleet.peers, mixed, fleet.judged, fleet.of_judged("host"))
    candidates = [
        *(_product(fleet, contrast, of) for contrast in products),
        *_places(fleet, mixed.hosts, Suspect.HOST, of),
        *_places(fleet, mixed.slots, Suspect.SLOT, of),
    ]
    return {(candidate.suspect, candidate.name): candidate for candidate in candidates}


def _product(fleet: Drives, contrast: Contrast, of: str) -> Finding:
    ratio, low, high = np.exp(contrast.value + contrast.error * np.array([0.0, -BOUND, BOUND])).tolist()
    of_model = contrast.firmware is None
    others = "the other models" if of_model else f"other firmware of {contrast.model}"
    return Finding(
        Suspect.MODEL if of_model else Suspect.FIRMWARE,
        contrast.model if of_model else f"{contrast.model} {contrast.firmware}",
        ratio,
        low,
        high,
        contrast.p,
        1.0,
        fleet.where(model=contrast.model, firmware=contrast.firmware),
        f"the {of}latency of its {contrast.drives} drives is {numbers.times(ratio, low, high)} that of {others}",
    )


def _places(fleet: Drives, effects: Effects, suspect: Suspect, of: str) -> Iterator[Finding]:
    """Yield each tested host or slot as a finding, whether it is slow or not."""
    if not effects.tested.any():
        return
    values, errors, p_values = effects.beside_others()
    names = [name for name, tested in zip(effects.names, effects.tested, strict=True) if tested]
    for name, value, error, p in zip(names, values, errors, p_values, strict=True):
        ratio, low, high = (math.exp(value + side * BOUND * error) for side in (0, -1, 1))
        drives = fleet.where(**{str(suspect): name})
        yield Finding(
            suspect,
            name,
            ratio,
            low,
            high,
            float(p),
            1.0,
            drives,
            f"the {of}latency of its {len(drives)} drives is {numbers.times(ratio, low, high)} that of like drives in "
            f"other {suspect}s",
        )
