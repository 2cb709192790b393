"""The search for the most load that keeps a limit. Pure: trials in, the next trial or the end out.

The search assumes that more load never makes latencies shorter. A trial's outcome is that of its figures' intervals:
met, missed, or not shown. The search first brackets the limit between a load that meets it and one that misses it, in
large steps, and then halves the bracket. A load that shows nothing lies close to the limit, or its trial is too
short for an interval. It runs again, ``LONGER`` times as long. If that shows nothing either, the search narrows the
bracket on both sides of it. It ends when neighbours are as close as requested, or after ``MOST_TRIALS``.

Where neighbouring seconds correlate strongly, that trial may be too short for an interval, too. That does not mean that
the limit is close. So the load runs once more, ``LONGER`` times as long again. If two loads need longer trials, all
later trials are as long.

A disturbance can make a load miss the limit for a while, and a burst, such as a cloud disk's credits, can make one meet
it for a while. So before the search ends, the loads at both ends of the bracket run again, ``LONGER`` times as long,
unless they did. If one shows something else then, the search goes on; and if a load met the limit only for a short
trial, all further trials are long. If nothing is shown at ``MOST_UNDECIDED`` loads and none meets the limit, the search
tries no lower ones: it is not the load that decides there.

If a drive is not monotone, the lowest load that misses the limit ends the bracket, whatever higher loads do.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from iogauge.stats.limits import Outcome

LONGER = 4
"""A load whose trial shows nothing runs again, this many times as long."""
MOST_EFFORT = LONGER**2
"""The longest trial, as a multiple of the usual length."""
MOST_TRIALS = 32
MOST_UNDECIDED = 3
"""Below this many loads at which nothing is shown, no lower one is tried."""
ENOUGH_TOO_SHORT = 2
"""After so many loads whose trials were too short, later loads begin with the longer trial."""
CLIMB = 4
"""A bracket without an end moves by this factor."""


@dataclass(frozen=True)
class Trial:
    """One run at a load. ``effort`` is its length, as a multiple of the usual one."""

    at: float
    outcome: Outcome
    effort: int = 1
    too_short: bool = False
    """Whether it shows nothing because a figure has no closed interval, which a longer trial may give it."""


@dataclass(frozen=True)
class Next:
    """A load that is to be tried."""

    at: float
    effort: int = 1


@dataclass(frozen=True, kw_only=True)
class Range:
    """The loads that a search may try."""

    least: float
    most: float
    first: float
    """The load of the first trial."""
    precision: float
    """The search ends when the bracket's upper end exceeds its lower end by at most this share."""
    grain: float
    """Loads are multiples of this."""


@dataclass(frozen=True)
class Bracket:
    """What the trials say so far."""

    holds: float | None
    """The highest load that meets the limit below ``breaks``; None: none does."""
    breaks: float | None
    """The lowest load that misses the limit; None: none does."""
    undecided: tuple[Trial, ...]
    """The longest trial of each load between them whose outcome is not shown; the lowest load first."""
    reversed_at: tuple[float, ...] = ()
    """Loads above ``breaks`` that meet the limit: the drive, or what disturbed it, is not monotone."""


def bracket_of(trials: Sequence[Trial]) -> Bracket:
    """Return what trials say. Of several trials at one load, the longest counts.

    >>> bracket_of([Trial(4, Outcome.MET), Trial(16, Outcome.MISSED), Trial(8, Outcome.NOT_SHOWN)]).holds
    4
    """
    longest: dict[float, Trial] = {}
    for trial in sorted(trials, key=lambda trial: trial.effort):
        longest[trial.at] = trial
    missed = [trial.at for trial in longest.values() if trial.outcome is Outcome.MISSED]
    breaks = min(missed, default=None)
    met = sorted(trial.at for trial in longest.values() if trial.outcome is Outcome.MET)
    below = [at for at in met if breaks is None or at < breaks]
    holds = max(below, default=None)
    undecided = sorted(
        (
            trial
            for at, trial in longest.items()
            if trial.outcome not in (Outcome.MET, Outcome.MISSED)
            and (holds is None or at > holds)
            and (breaks is None or at < breaks)
        ),
        key=lambda trial: trial.at,
    )
    return Bracket(holds, breaks, tuple(undecided), tuple(at for at in met if at not in below))


def next_trial(trials: Sequence[Trial], loads: Range) -> Next | None:
    """Return the load to try next; None: the search has ended.

    >>> loads = Range(least=1, most=256, first=8, precision=0.02, grain=1)
    >>> next_trial([], loads), next_trial([Trial(8, Outcome.MET)], loads)
    (Next(at=8, effort=1), Next(at=32, effort=1))
    >>> next_trial([Trial(8, Outcome.MET), Trial(9, Outcome.MISSED)], loads)
    Next(at=9, effort=4)
    """
    if len(trials) >= MOST_TRIALS:
        return None
    if not trials:
        return Next(_rounded(loads.first, loads))
    bracket = bracket_of(trials)
    chosen = _narrower(bracket, loads) or _confirmation(bracket, trials)
    return chosen and replace(chosen, effort=max(chosen.effort, _least_effort(trials)))


def _least_effort(trials: Sequence[Trial]) -> int:
    """Return the effort that all further trials have at least."""
    too_short = Counter(trial.effort for trial in trials if trial.too_short)
    needed = [effort * LONGER for effort, loads in too_short.items() if loads >= ENOUGH_TOO_SHORT]
    return min(max([LONGER if _bursts(trials) else 1, *needed]), MOST_EFFORT)


def _bursts(trials: Sequence[Trial]) -> bool:
    """Return whether a load met the limit for a short trial, and missed it for a long one."""
    short = {trial.at for trial in trials if trial.effort < LONGER and trial.outcome is Outcome.MET}
    return any(
        trial.at in short and trial.effort >= LONGER and trial.outcome is Outcome.MISSED for trial in trials
    )


def _confirmation(bracket: Bracket, trials: Sequence[Trial]) -> Next | None:
    """Return a longer trial of a load that ends the bracket; None: there were such trials of both ends."""
    confirmed = {trial.at for trial in trials if trial.effort >= LONGER}
    for load in (bracket.breaks, bracket.holds):
        if load is not None and load not in confirmed:
            return Next(load, LONGER)
    return None


def _narrower(bracket: Bracket, loads: Range) -> Next | None:
    """Return a trial that narrows the bracket; None: it is as narrow as requested, or as the range allows."""
    if _narrow(bracket.holds, bracket.breaks, loads):
        return None
    for trial in bracket.undecided:
        if trial.effort < (MOST_EFFORT if trial.too_short else LONGER):
            return Next(trial.at, trial.effort * LONGER)
    undecided = [trial.at for trial in bracket.undecided]
    above = _between(undecided[-1] if undecided else bracket.holds, bracket.breaks, loads)
    below = None
    if bracket.holds is not None or len(undecided) < MOST_UNDECIDED:
        below = _between(bracket.holds, undecided[0] if undecided else bracket.breaks, loads)
    at = below if above is None else above
    return None if at is None else Next(at)


def _between(low: float | None, high: float | None, loads: Range) -> float | None:
    """Return a load between two neighbours; None: they are close enough, or the range ends there.

    ``low`` None: no load tried is as low; ``high`` None: none is as high.
    """
    if high is None:
        assert low is not None  # there are trials
        return None if low >= _rounded(loads.most, loads) else _rounded(min(low * CLIMB, loads.most), loads)
    if low is None:
        return (
            None if high <= _rounded(loads.least, loads) else _rounded(max(high / CLIMB, loads.least), loads)
        )
    if _narrow(low, high, loads):
        return None
    middle = _rounded(math.sqrt(low * high), loads)
    return middle if low < middle < high else None


def _narrow(low: float | None, high: float | None, loads: Range) -> bool:
    """Return whether two loads are as close as requested, or as their grain allows."""
    if low is None or high is None:
        return False
    return high <= low * (1 + loads.precision) or high - low <= loads.grain


def _rounded(load: float, loads: Range) -> float:
    """Return a load with three digits, as a multiple of the grain.

    >>> _rounded(579_632, Range(least=1, most=1e6, first=1, precision=0.02, grain=4))
    580000
    """
    digit = float(10 ** max(math.floor(math.log10(load)) - 2, 0))
    return max(round(round(load / digit) * digit / loads.grain), 1) * loads.grain
