"""The rungs of a ladder on this machine: which of them it can set, and setting one while a step runs.

Whether a setting can be changed shows only when it is tried: Linux refuses some when they are written. So a new ladder
sets each rung once, for a moment, before it is planned. A plan alone tries nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from iogauge.catalog.ladders import PUBLISHED, Ladder, LadderRung, load_ladder
from iogauge.errors import IogaugeError
from iogauge.library.audit import subject_of
from iogauge.machine.tuning import Profile, SettingValue, Tuning, tuned
from iogauge.machine.tuning.settings import SETTINGS
from iogauge.schema import Rung, TargetFacts
from iogauge.suites.suite import LadderRequest
from iogauge.text import numbers
from iogauge.workload.suggest import closest

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class LadderOptions:
    """Which ladder is measured, and how."""

    rungs: str = PUBLISHED
    """The name of a ladder, or the path of a TOML file with rungs."""
    one_at_a_time: bool = False
    """Whether each rung has its own settings alone."""
    reads_only: bool = False
    """Whether nothing is written to the target."""


def ladder_of(
    options: LadderOptions, target: TargetFacts, *, say: Say | None, program: str | None = None
) -> LadderRequest:
    """Return the ladder for a target; with ``say``, each rung is set on a real one once, to see if it can be.

    ``program`` runs the steps instead of iogauge, and sets no rung. Raises IogaugeError for a file that holds no
    ladder, for a setting that there is not, or a value that it cannot have.
    """
    ladder = load_ladder(options.rungs)
    check(ladder)
    missing: dict[str, str] = {}
    if program is not None:
        missing = {rung.name: f"{program} runs the steps, and cannot set it" for rung in ladder.rung}
    elif target.modelled is None and say is not None:
        ladder, missing = settable(ladder, options, target.path, say)
    return LadderRequest(
        ladder=ladder, one_at_a_time=options.one_at_a_time, reads_only=options.reads_only, missing=missing
    )


def check(ladder: Ladder) -> None:
    """Raise IogaugeError for a setting that there is not, or a value that it cannot have."""
    for rung in ladder.rung:
        for id_, wanted in _alternatives(rung):
            if id_ not in SETTINGS:
                near = closest(id_, SETTINGS)
                raise IogaugeError(
                    f"rung {rung.name!r}: there is no setting {id_!r}",
                    hint=f"did you mean {near}?" if near else f"settings: {', '.join(SETTINGS)}",
                )
            if not SETTINGS[id_].accepts(wanted):
                raise IogaugeError(
                    f"rung {rung.name!r}: {id_} cannot be {wanted!r}", hint=f"it is {SETTINGS[id_].values}"
                )


def settable(ladder: Ladder, options: LadderOptions, path: str, say: Say) -> tuple[Ladder, dict[str, str]]:
    """Set each rung once, and undo it; return the ladder with the settings that there are, and why rungs are missing.

    A rung whose settings hold already is missing too: it would be the rung below once more.
    """
    rungs, missing = [], {}
    below: dict[str, str] = {}
    for rung in ladder.rung:
        own = _alternatives(rung)
        wanted = {**({} if options.one_at_a_time else below), **dict(own)}
        try:
            with _applied(rung.name, wanted, path, say) as tuning:
                settings, why = _settings_of(rung, tuning, below={} if options.one_at_a_time else below)
        except IogaugeError as error:
            settings, why = rung.settings, str(error)
        if why:
            missing[rung.name] = why
        else:
            below |= {id_: str(value) for id_, value in settings.items()}
        rungs.append(rung.model_copy(update={"settings": settings}))
    return ladder.model_copy(update={"rung": tuple(rungs)}), missing


def _settings_of(
    rung: LadderRung, tuning: Tuning, *, below: Mapping[str, str]
) -> tuple[dict[str, str | int], str]:
    """Return a rung's settings with one id of each alternative, and why the machine cannot have them; empty: it can."""
    refused = {item.id: item.why for item in (*tuning.unavailable, *tuning.not_applicable)}
    settings: dict[str, str | int] = {}
    for ids, value in rung.settings.items():
        names = ids.split("/")
        able = next((id_ for id_ in names if id_ not in refused), None)
        if able is None:
            return rung.settings, "; ".join(f"{id_}: {refused[id_]}" for id_ in names)
        settings[able] = value
    held = {id_: str(value) for id_, value in settings.items()}
    if all(below.get(id_) == value or id_ in tuning.already for id_, value in held.items()):
        return settings, "it changes nothing: the machine is so already"
    return settings, ""


def _alternatives(rung: LadderRung) -> list[tuple[str, str]]:
    """Return every id of a rung's settings with its wanted value."""
    return [(id_, str(value)) for ids, value in rung.settings.items() for id_ in ids.split("/")]


@contextlib.contextmanager
def tuned_as(rung: Rung, path: str, *, on_message: Say) -> Iterator[None]:
    """Set the machine as a rung wants it while the context lasts, for the target ``path``.

    Raises IogaugeError if a setting that could be changed when the ladder was planned cannot be changed now.
    """
    wanted = {id_: str(value) for id_, value in rung.settings.items()}
    with _applied(rung.name, wanted, path, on_message) as tuning:
        refused = [f"{item.id}: {item.why}" for item in (*tuning.unavailable, *tuning.not_applicable)]
        if refused:
            raise IogaugeError(
                f"{rung.name} cannot be set now: {numbers.listed(refused)}",
                hint="begin a new ladder, which finds out what this machine can do",
            )
        yield


@contextlib.contextmanager
def _applied(name: str, wanted: Mapping[str, str], path: str, say: Say) -> Iterator[Tuning]:
    """Tune the machine while the context lasts; of its messages only what was not put back is shown."""
    profile = Profile(name, name, "", tuple(SettingValue(id_, value) for id_, value in wanted.items()))
    with tuned(profile, subject_of(path), on_message=lambda _: None) as tuning:
        yield tuning
    for item in tuning.left:
        say(f"warning: {item.id} was not put back: {item.why}")
