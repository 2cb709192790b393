"""Changes settings: one after the other, each journalled before it is changed and read back after it."""

from __future__ import annotations

import errno
from collections.abc import Callable
from dataclasses import dataclass

from iogauge.machine.audit import CHECKS
from iogauge.machine.audit.subject import Subject
from iogauge.machine.tuning.door import Door, ForbiddenError
from iogauge.machine.tuning.journal import Entry, Journal
from iogauge.machine.tuning.profile import Profile, SettingValue
from iogauge.machine.tuning.settings import SETTINGS
from iogauge.machine.tuning.settings.setting import ImpossibleError, InapplicableError, Machine, Steps
from iogauge.machine.tuning.undo import reason
from iogauge.text.grid import labelled
from iogauge.text.numbers import counted

_CHECKS = {check.id: check for check in CHECKS}


@dataclass(frozen=True)
class Change:
    """A value that was changed and read back."""

    id: str
    place: str
    """A file's path on the machine, or the door's name of a process or a feature; of a held latency its file."""
    before: str
    after: str


@dataclass(frozen=True)
class Unavailable:
    """A setting that this machine cannot do, or not wholly."""

    id: str
    why: str


@dataclass
class Applied:
    """What came of the settings of a profile; each is in one list at least."""

    changes: tuple[Change, ...] = ()
    unavailable: tuple[Unavailable, ...] = ()
    """What this machine cannot do."""
    not_applicable: tuple[Unavailable, ...] = ()
    """What this machine, or a tuning without a drive, does not have."""
    already: tuple[str, ...] = ()
    """The ids of settings that had their value already."""

    @property
    def settings(self) -> tuple[str, ...]:
        """The ids of the settings that were changed."""
        return tuple(dict.fromkeys(change.id for change in self.changes))

    def summary(self) -> str:
        """Return how many settings were changed, in a sentence; below it which, and what could not be done, and why."""
        text = f"tuned: {counted(len(self.settings), 'setting')} changed"
        if self.already:
            text += f", {len(self.already)} as wanted already"
        if self.unavailable:
            text += f", {len(self.unavailable)} this machine cannot do"
        if self.not_applicable:
            text += f", {len(self.not_applicable)} not applicable"
        lines = [text]
        if self.settings:
            lines += labelled("changed", ", ".join(self.settings), width=16)
        for item in self.unavailable:
            lines += labelled("cannot do", f"{item.id}: {item.why}", width=16)
        if self.not_applicable:
            lines += labelled("not applicable", ", ".join(item.id for item in self.not_applicable), width=16)
        return "\n".join(lines)


def apply(
    profile: Profile,
    subject: Subject,
    door: Door,
    journal: Journal,
    result: Applied,
    *,
    hold: Callable[[int], object] | None,
) -> None:
    """Change the settings of a profile and add what came of them to ``result``.

    ``hold`` takes the descriptors that are to stay open; None: nothing can be held. Raises IogaugeError.
    """
    machine = Machine(subject, door, may_hold=hold is not None)
    ordered = sorted(profile.settings, key=lambda value: list(SETTINGS).index(value.id))
    before = _snapshot(ordered, machine)
    for value in ordered:
        if why := _CHECKS[value.id].excused(subject):
            result.not_applicable += (Unavailable(value.id, why),)
            continue
        try:
            steps = SETTINGS[value.id].plan(machine, value.wanted)
        except InapplicableError as error:
            result.not_applicable += (Unavailable(value.id, str(error)),)
        except (ImpossibleError, OSError, ForbiddenError) as error:
            result.unavailable += (Unavailable(value.id, _why(error)),)
        else:
            _change(value.id, steps, before, door, journal, result, hold)


def _snapshot(values: list[SettingValue], machine: Machine) -> dict[str, str]:
    """Return what the places of all settings hold now: changing one of them can change another."""
    before: dict[str, str] = {}
    for value in values:
        try:
            if _CHECKS[value.id].excused(machine.subject):
                continue
            for place, _ in SETTINGS[value.id].plan(machine, value.wanted).changes:
                before[place] = machine.door.read(place)
        except (InapplicableError, ImpossibleError, OSError, ForbiddenError):
            continue  # said when it is its turn
    return before


def _change(
    id_: str,
    steps: Steps,
    before: dict[str, str],
    door: Door,
    journal: Journal,
    result: Applied,
    hold: Callable[[int], object] | None,
) -> None:
    """Change the places of one setting, in order; what does not take is said, and put back."""
    entries: list[Entry] = []
    problems: list[str] = []
    for place, wanted in steps.changes:
        try:
            now = door.read(place)
        except (OSError, ForbiddenError) as error:
            problems.append(_why(error, id_))
            continue
        first = before.get(place, now)
        if first != wanted or now != wanted:
            entries.append(Entry(id_, place, first, wanted))
    if entries:
        journal.intend(entries)
    changes = len(result.changes)
    for entry in entries:
        if problem := _set(entry, door):
            problems.append(problem)
        else:
            journal.done(entry.place)
            result.changes += (Change(id_, entry.place, entry.before, entry.wanted),)
    if steps.hold_us is not None and hold is not None:
        try:
            hold(door.hold_latency(steps.hold_us))
            result.changes += (Change(id_, HELD, "", f"{steps.hold_us} us"),)
        except OSError as error:
            problems.append(_why(error, id_))
    if problems:
        total = len(steps.changes)
        part = f" ({len(problems)} of {total})" if len(problems) < total else ""
        result.unavailable += (Unavailable(id_, problems[0] + part),)
    elif len(result.changes) == changes:
        result.already += (id_,)


HELD = "/dev/cpu_dma_latency"
"""The file whose open descriptor keeps CPUs out of deep idle states; the kernel undoes it."""


def _set(entry: Entry, door: Door) -> str:
    """Set one place and read it back; return why it did not take."""
    try:
        if door.read(entry.place) != entry.wanted:
            door.write(entry.place, entry.wanted)
        after = door.read(entry.place)
        if after == entry.wanted:
            return ""
        if after != entry.before:
            door.write(entry.place, entry.before)
    except (OSError, ForbiddenError) as error:
        return _why(error, entry.id)
    return f"it takes {entry.wanted!r} without an error and stays {after!r}"


_REASONS = {
    ("interrupts.affinity", errno.EIO): "Linux manages these interrupts and lets nobody move them",
    ("pcie.aspm_policy", errno.EPERM): "the firmware keeps ASPM to itself",
    ("pcie.aspm_policy", errno.EACCES): "the firmware keeps ASPM to itself",
}
"""What an error of the kernel means for a setting."""


def _why(error: Exception, id_: str = "") -> str:
    number = error.errno if isinstance(error, OSError) else None
    return _REASONS.get((id_, number or 0)) or reason(error)
