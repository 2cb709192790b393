"""Profiles: which settings a tuning changes, to what, and who says so.

A profile is a TOML file. ``profiles/`` has the ones that come with iogauge; a user's own is named by its path::

    title = "Quiet CPUs"
    source = "my own measurements"

    [settings]
    cpu.governor = "performance"
    block.scheduler = { value = "none", source = "kernel documentation" }
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pydantic

from iogauge.errors import IogaugeError, UsageError
from iogauge.machine.tuning.settings import SETTINGS
from iogauge.text import invalid
from iogauge.workload.suggest import closest
from iogauge.workload.toml import load_toml

_FOLDER = Path(__file__).with_name("profiles")


@dataclass(frozen=True)
class SettingValue:
    """One setting of a profile."""

    id: str
    """As the audit names it: ``cpu.governor``."""
    wanted: str
    """In the words of docs/tuning.md; mostly as the kernel's file has it."""
    source: str = ""


@dataclass(frozen=True)
class Profile:
    """A list of settings with a name."""

    name: str
    title: str
    source: str
    settings: tuple[SettingValue, ...]


class _Setting(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    value: pydantic.StrictInt | pydantic.StrictStr
    source: pydantic.StrictStr = ""


class _File(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    title: pydantic.StrictStr
    source: pydantic.StrictStr = ""
    settings: dict[str, dict[str, _Setting | pydantic.StrictInt | pydantic.StrictStr]]


def profile_names() -> tuple[str, ...]:
    """Return the names of the profiles that come with iogauge."""
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def load_profile(name_or_path: str) -> Profile:
    """Return a profile of iogauge by its name, or a user's own by the path of its file.

    Raises UsageError for a name that there is not, IogaugeError for a file that is not a profile.

    >>> load_profile("latency").settings[0].id
    'load.irqbalance'
    """
    if name_or_path in profile_names():
        return _load(_FOLDER / f"{name_or_path}.toml")
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        return _load(Path(name_or_path))
    near = closest(name_or_path, profile_names())
    raise UsageError(
        f"no profile {name_or_path!r}",
        hint=f"did you mean {near}?"
        if near
        else f"use one of {', '.join(profile_names())}, or the path of a file",
    )


def _load(path: Path) -> Profile:
    try:
        file = _File.model_validate(load_toml(path))
    except pydantic.ValidationError as error:
        raise _invalid(path, error) from None
    values = [
        _value(path, f"{group}.{name}", setting)
        for group, members in file.settings.items()
        for name, setting in members.items()
    ]
    if not values:
        raise IogaugeError(f"{path}: has no settings", hint='add, for example: cpu.governor = "performance"')
    return Profile(path.stem, file.title, file.source, tuple(values))


def _value(path: Path, id_: str, setting: _Setting | int | str) -> SettingValue:
    if not isinstance(setting, _Setting):
        setting = _Setting(value=setting)
    kind = SETTINGS.get(id_)
    if kind is None:
        near = closest(id_, SETTINGS)
        raise IogaugeError(
            f"{path}: no setting {id_!r}",
            hint=f"did you mean {near}?" if near else f"settings: {', '.join(SETTINGS)}",
        )
    wanted = str(setting.value)
    if not kind.accepts(wanted):
        raise IogaugeError(f"{path}: {id_} cannot be {wanted!r}", hint=f"it is {kind.values}")
    return SettingValue(id_, wanted, setting.source)


def _invalid(path: Path, error: pydantic.ValidationError) -> IogaugeError:
    first = error.errors()[0]
    place = [str(part) for part in first["loc"]]
    if place[:1] == ["settings"] and len(place) > 3:
        place = place[:3]
        return IogaugeError(
            f"{path}: {'.'.join(place[1:])} must be text, a whole number, or a value with its source",
            hint='write, for example: cpu.governor = { value = "performance", source = "..." }',
        )
    return IogaugeError(
        f"{path}: {'.'.join(place)} {invalid.reason(first)}",
        hint="a profile has a title, a source and [settings]; see docs/tuning.md",
    )
