"""How warm a drive was in each interval of a run, and whether it throttled, from the samples of the run."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from iogauge.machine.samples.throttling import Heat, Spell, spells
from iogauge.results.run import Run
from iogauge.schema import DriveSamples
from iogauge.stats.moments import Moment

_COVERED = 0.5
"""A spell belongs to an interval if it covers this share of the shorter of the two."""


@dataclass(frozen=True)
class Warmth:
    """One interval: the temperature of the warmest drive, and the worst that its samples say of it."""

    temperature_C: float | None
    heat: Heat | None


def warmth(run: Run) -> list[Warmth]:
    """Return the warmth of each moment of a run, in order; unknown where no sample was taken yet."""
    drives = [_Course(samples) for samples in run.record.drive_samples]
    return [
        Warmth(
            max(
                (known for drive in drives if (known := drive.temperature_C(stage, moment)) is not None),
                default=None,
            ),
            _worst({heat for drive in drives for heat in drive.heats(stage, moment)}),
        )
        for stage, moment in _staged(run)
    ]


class _Course:
    """The samples of one drive, in the order of time within each stage."""

    def __init__(self, samples: DriveSamples) -> None:
        self._temperatures: dict[int, list[tuple[int, float]]] = defaultdict(list)
        self._spells: dict[int, list[Spell]] = defaultdict(list)
        values = samples.column("temperature_C")
        for stage, at_ns, value in zip(samples.stage, samples.at_ns, values, strict=True):
            if value is not None:
                self._temperatures[stage].append((at_ns, value))
        for spell in spells(samples):
            self._spells[spell.stage].append(spell)

    def temperature_C(self, stage: int, moment: Moment) -> float | None:
        """Return the latest temperature that was read in a stage until the end of a moment."""
        known = self._temperatures[stage]
        place = bisect_right(known, moment.end_s * 1e9, key=lambda entry: entry[0])
        return known[place - 1][1] if place else None

    def heats(self, stage: int, moment: Moment) -> Iterator[Heat]:
        """Yield what the spells say that cover a moment."""
        known = self._spells[stage]
        for spell in known[bisect_right(known, moment.start_s * 1e9, key=lambda spell: spell.end_ns) :]:
            if spell.start_ns >= moment.end_s * 1e9:
                return
            if _covers(spell, moment):
                yield spell.heat


def limit_C(runs: Iterable[Run]) -> float | None:
    """Return the lowest temperature from which a drive of these runs warns; None if none says one."""
    limits = (samples.warning_C for run in runs for samples in run.record.drive_samples)
    return min((limit for limit in limits if limit is not None), default=None)


def _staged(run: Run) -> Iterator[tuple[int, Moment]]:
    """Yield each moment with its stage. Moments come stage by stage, and time begins anew with each."""
    stages = iter(run.measured_stages)
    stage, before_s = next(stages, 0), 0.0
    for moment in run.figures.moments:
        if moment.start_s < before_s:
            stage = next(stages, stage)
        before_s = moment.start_s
        yield stage, moment


def _covers(spell: Spell, moment: Moment) -> bool:
    shared_s = min(spell.end_ns / 1e9, moment.end_s) - max(spell.start_ns / 1e9, moment.start_s)
    return shared_s >= _COVERED * min(spell.duration_s, moment.end_s - moment.start_s)


def _worst(heats: Collection[Heat]) -> Heat | None:
    return "throttled" if "throttled" in heats else "hot" if heats else None
