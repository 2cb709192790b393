"""The drives of a fleet: what is known of each, and how slow it is beside its kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from iogauge.stats.fleet.effects import MixedModel, fit
from iogauge.stats.fleet.observations import DriveObservations, Floats, Truths
from iogauge.stats.fleet.peers import Peers, peers
from iogauge.stats.fleet.scores import Scores, scores

NOUNS = ("model", "firmware", "host", "slot")


@dataclass(frozen=True, eq=False)
class Drives:
    """All drives by name, in one order, and how slow each is by one figure: its mean latency, or its tail.

    ``columns`` has for each of ``NOUNS`` one name for each drive.
    """

    names: tuple[str, ...]
    columns: Mapping[str, Sequence[str]]
    peers: Peers
    scores: Scores
    judged: Truths
    """Whether a drive has enough peers, and enough requests for the figure."""
    mixed: MixedModel | None
    """What judged drives share by host and slot; None if there are none."""

    def of_judged(self, noun: str) -> list[str]:
        """Return the hosts, models, ... of the judged drives."""
        return [name for name, judged in zip(self.columns[noun], self.judged, strict=True) if judged]

    def where(self, **places: str | None) -> tuple[str, ...]:
        """Return the drives of a host, model, ...; None stands for any."""
        return tuple(
            drive
            for number, drive in enumerate(self.names)
            if all(name is None or self.columns[noun][number] == name for noun, name in places.items())
        )


def drives(observations: DriveObservations) -> tuple[Drives, Drives]:
    """Return the drives of a fleet, compared with their peers by their mean latency, and by its tail."""
    kinds = peers(observations)
    columns = {noun: observations.of_drives(getattr(observations, noun)) for noun in NOUNS}
    mean, tail = (
        _compared(observations, kinds, columns, figure)
        for figure in (observations.mean_ns, observations.tail_ns)
    )
    return mean, tail


def _compared(
    observations: DriveObservations, kinds: Peers, columns: Mapping[str, Sequence[str]], figure: Floats
) -> Drives:
    levels = scores(observations, kinds, figure)
    judged = ~np.isnan(levels.value)
    plain = Drives(observations.drives, columns, kinds, levels, judged, None)
    if not judged.any():
        return plain
    mixed = fit(
        levels.value[judged],
        levels.error[judged],
        host=plain.of_judged("host"),
        slot=plain.of_judged("slot"),
        model=plain.of_judged("model"),
    )
    return Drives(observations.drives, columns, kinds, levels, judged, mixed)
