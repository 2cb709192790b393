"""Who is compared with whom: drives of one model and firmware, or of one model where a firmware has few drives.

Models differ because they are different products, so a drive is judged by its own kind only. Where a kind has fewer
than five drives, its spread is not known, and its drives are not judged.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from iogauge.stats.fleet.observations import DriveObservations, Places

FEWEST_PEERS = 5
"""Drives of a kind, at least, that show what is usual for it."""


@dataclass(frozen=True, eq=False)
class Peers:
    """The kinds of drives by (model, firmware), and the kind of each drive; -1 where it has too few peers.

    A firmware of ``None`` stands for the rest of a model, whose firmwares have too few drives each.
    """

    kinds: tuple[tuple[str, str | None], ...]
    of_drive: Places
    merged: tuple[tuple[str, str], ...]
    """Models and firmwares that are judged with the rest of their model."""
    alone: tuple[tuple[str, int], ...]
    """Models with too few drives, and how many they have."""


def peers(observations: DriveObservations) -> Peers:
    """Return the kinds of a fleet's drives."""
    models = observations.of_drives(observations.model)
    firmwares = observations.of_drives(observations.firmware)
    by_both = Counter(zip(models, firmwares, strict=True))
    kind_of: dict[tuple[str, str], tuple[str, str | None]] = {
        (model, firmware): (model, firmware if count >= FEWEST_PEERS else None)
        for (model, firmware), count in by_both.items()
    }
    sizes: Counter[tuple[str, str | None]] = Counter()
    for both, count in by_both.items():
        sizes[kind_of[both]] += count
    for both, kind in kind_of.items():
        if sizes[kind] < FEWEST_PEERS:
            kind_of[both] = _largest(kind[0], sizes) or kind
    kinds = tuple(sorted({kind for kind in kind_of.values() if _judged(kind, sizes)}, key=str))
    places = {kind: place for place, kind in enumerate(kinds)}
    return Peers(
        kinds,
        np.array(
            [places.get(kind_of[both], -1) for both in zip(models, firmwares, strict=True)], dtype=np.intp
        ),
        merged=tuple(sorted(both for both, kind in kind_of.items() if kind[1] != both[1] and kind in places)),
        alone=tuple(sorted((kind[0], sizes[kind]) for kind in set(kind_of.values()) if kind not in places)),
    )


def _judged(kind: tuple[str, str | None], sizes: Counter[tuple[str, str | None]]) -> bool:
    return sizes[kind] >= FEWEST_PEERS


def _largest(model: str, sizes: Counter[tuple[str, str | None]]) -> tuple[str, str | None] | None:
    """Return the kind of a model with the most drives; None where all have too few."""
    own = [kind for kind in sizes if kind[0] == model and _judged(kind, sizes)]
    return max(own, key=lambda kind: (sizes[kind], str(kind)), default=None)
