"""Says when a drive throttled, or was so warm that it may have, from the samples of a run.

A drive counts only the throttling that the host's thermal management asked for (HCTM). What it does by itself shows
only in its temperature. So the counters prove that a drive throttled. A temperature from its warning temperature on, or
its own alarm, says that it may have.

Source: NVM Express Base Specification 2.1, "Thermal management" and log page "SMART / Health Information".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from iogauge.schema import DriveSamples

Heat = Literal["throttled", "hot"]

_THROTTLING = ("light_throttles", "heavy_throttles", "light_throttled_s", "heavy_throttled_s")
_WARMTH = ("warning_min", "critical_min")


@dataclass(frozen=True)
class Spell:
    """A time in which a drive throttled, or was hot. Times count from the start of the stage."""

    heat: Heat
    stage: int
    start_ns: int
    end_ns: int

    @property
    def duration_s(self) -> float:
        """How long it lasted."""
        return (self.end_ns - self.start_ns) / 1e9


def spells(samples: DriveSamples) -> list[Spell]:
    """Return when the drive throttled or was hot, in order; neighbours of the same kind are one.

    A sample speaks for the time since the one before it.
    """
    joined: list[Spell] = []
    for spell in _spells(samples):
        last = joined[-1] if joined else None
        if last and (last.heat, last.stage, last.end_ns) == (spell.heat, spell.stage, spell.start_ns):
            joined[-1] = Spell(spell.heat, spell.stage, last.start_ns, spell.end_ns)
        else:
            joined.append(spell)
    return joined


def _spells(samples: DriveSamples) -> Iterator[Spell]:
    grown, warmed = _growth(samples, _THROTTLING), _growth(samples, _WARMTH)
    temperatures, alarms = samples.column("temperature_C"), samples.column("temperature_alarm")
    limit_C = samples.warning_C if samples.warning_C is not None else samples.critical_C
    for here in range(1, len(samples.at_ns)):
        temperature_C = temperatures[here]
        beyond = limit_C is not None and temperature_C is not None and temperature_C >= limit_C
        heat: Heat | None = (
            "throttled" if grown[here] else "hot" if beyond or alarms[here] or warmed[here] else None
        )
        stage, end_ns = samples.stage[here], samples.at_ns[here]
        start_ns = max(samples.at_ns[here - 1], 0) if samples.stage[here - 1] == stage else 0
        if heat and end_ns > start_ns:
            yield Spell(heat, stage, start_ns, end_ns)


def _growth(samples: DriveSamples, names: tuple[str, ...]) -> list[bool]:
    """Return for each sample whether any of these counters grew since the one before it. Zero is "not reported"."""
    grown = [False] * len(samples.at_ns)
    for name in names:
        values = [value or 0 for value in samples.column(name)]
        for here in range(1, len(values)):
            grown[here] |= values[here] > values[here - 1]
    return grown


def summary(samples: DriveSamples) -> str | None:
    """Return what the warning says of a drive that throttled or was hot; None if it was neither.

    >>> samples = DriveSamples(
    ...     device="nvme0n1", warning_C=75, stage=(0,) * 4, at_ns=tuple(second * 10**9 for second in (-1, 20, 32, 60)),
    ...     columns={"temperature_C": (50, 70, 78, 77), "light_throttled_s": (0, 0, 12, 12)},
    ... )
    >>> summary(samples)
    'the drive throttled for 12 s of 60 s, and was hot for 28 s more, at up to 78 C'
    """
    times_s = {
        heat: sum(spell.duration_s for spell in spells(samples) if spell.heat == heat) for heat in _ORDER
    }
    if not any(times_s.values()):
        return None
    whole_s = sum(_lengths_s(samples))
    highest = max((value for value in samples.column("temperature_C") if value is not None), default=None)
    at = "" if highest is None else f", at up to {highest:.0f} C"
    if not times_s["throttled"]:
        limit = "" if samples.warning_C is None else f" (from {samples.warning_C:.0f} C on)"
        return f"the drive was hot{limit} for {times_s['hot']:.3g} s of {whole_s:.3g} s{at}, and may have throttled"
    more = f", and was hot for {times_s['hot']:.3g} s more" if times_s["hot"] else ""
    return f"the drive throttled for {times_s['throttled']:.3g} s of {whole_s:.3g} s{more}{at}"


def _lengths_s(samples: DriveSamples) -> Iterator[float]:
    """Yield how long the samples cover each stage."""
    for stage in set(samples.stage):
        ends = [at_ns for at_ns, its in zip(samples.at_ns, samples.stage, strict=True) if its == stage]
        yield max(*ends, 0) / 1e9


_ORDER: tuple[Heat, ...] = ("throttled", "hot")
