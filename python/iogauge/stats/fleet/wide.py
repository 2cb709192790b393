"""Slow models, firmwares, hosts and slots: findings that explain many drives at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from iogauge.stats.fleet.effects import Effects, MixedModel
from iogauge.stats.fleet.findings import BOUND, Finding, Suspect
from iogauge.stats.fleet.fleet import Drives
from iogauge.stats.fleet.products import Contrast, contrasts
from iogauge.stats.fleet.robust import benjamini_hochberg
from iogauge.text import numbers

SHARE = 0.1
"""Share of the false discovery rate that these findings have."""


def wide_findings(fleet: Drives, mixed: MixedModel, rate: float) -> list[Finding]:
    """Return what is slow at this false discovery rate, the widest first."""
    products = contrasts(fleet.scores, fleet.peers, mixed, fleet.judged, fleet.of_judged("host"))
    candidates = [
        *(_product(fleet, contrast) for contrast in products),
        *_places(fleet, mixed.hosts, Suspect.HOST),
        *_places(fleet, mixed.slots, Suspect.SLOT),
    ]
    if not candidates:
        return []
    q = np.minimum(benjamini_hochberg(np.array([candidate.p for candidate in candidates])) / SHARE, 1.0)
    findings = [
        replace(candidate, q=float(of_all))
        for candidate, of_all in zip(candidates, q, strict=True)
        if of_all <= rate
    ]
    widest = list(Suspect)
    return sorted(findings, key=lambda one: (widest.index(one.suspect), -one.ratio, one.name))


def _product(fleet: Drives, contrast: Contrast) -> Finding:
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
        f"the latency of its {contrast.drives} drives is {numbers.times(ratio, low, high)} that of {others}",
    )


def _places(fleet: Drives, effects: Effects, suspect: Suspect) -> Iterator[Finding]:
    """Return each tested host or slot as a finding, whether it is slow or not."""
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
            f"the latency of its {len(drives)} drives is {numbers.times(ratio, low, high)} that of like drives in "
            f"other {suspect}s",
        )
