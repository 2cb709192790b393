"""What a setting is: which places of the door it changes on this machine, and to what."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from iogauge.machine.audit.subject import Subject
from iogauge.machine.tuning.door import Door


class ImpossibleError(Exception):
    """This machine cannot do it; the message says why."""


class InapplicableError(Exception):
    """This machine has no such setting, which was read, too; the message says why."""


@dataclass(frozen=True)
class Machine:
    """What a setting is planned on."""

    subject: Subject
    door: Door
    may_hold: bool
    """Whether the owner stays, so that it can hold a descriptor."""


@dataclass(frozen=True)
class Steps:
    """What is to be done, in order."""

    changes: tuple[tuple[str, str], ...] = ()
    """Places and the values that they get."""
    hold_us: int | None = None
    """The idle latency to hold; None: nothing is held."""


Plan = Callable[[Machine, str], Steps]
"""Returns the steps to a value. Raises ImpossibleError, InapplicableError and OSError."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One setting that can be changed and put back."""

    id: str
    values: str
    """In words: what it can be."""
    accepts: Callable[[str], bool]
    plan: Plan


def one_of(*words: str) -> Callable[[str], bool]:
    """Accept these words."""
    return lambda value: value in words


def matching(pattern: str) -> Callable[[str], bool]:
    """Accept what matches wholly."""
    return lambda value: re.fullmatch(pattern, value) is not None


def up_to(most: int) -> Callable[[str], bool]:
    """Accept whole numbers from 0 to ``most``."""
    return lambda value: value.isascii() and value.isdecimal() and int(value) <= most


def files(pattern: str, *, words: dict[str, str] | None = None) -> Plan:
    """Plan to write one value to every file of a pattern, such as ``{queue}/scheduler`` or ``sys/module/*/x``.

    ``words`` translates the profile's words into the file's. Without any such file it is impossible.
    """

    def plan(machine: Machine, wanted: str) -> Steps:
        value = words[wanted] if words else wanted
        return to_all(machine, matches(machine.subject, pattern), value)

    return plan


def matches(subject: Subject, pattern: str) -> list[Path]:
    """Return the files of a pattern, cpu2 before cpu10."""
    first, _, rest = pattern.partition("/")
    bases: dict[str, Path | None] = {
        "sys": subject.host.sys,
        "proc": subject.host.proc,
        "{queue}": subject.drive.directory / "queue" if subject.drive else None,
        "{pci}": subject.pci,
        "{nvme}": subject.nvme,
        "{ata}": subject.ata_port,
    }
    base = bases[first]
    if base is None:
        raise ImpossibleError("the drive's directory is not known")
    return sorted(base.glob(rest), key=lambda path: [int(part) for part in re.findall(r"\d+", str(path))])


def to_all(machine: Machine, paths: Iterable[Path], value: str) -> Steps:
    """Return the steps that write one value to files. Raises ImpossibleError if there is none."""
    changes = tuple((machine.door.place_of(path), value) for path in paths)
    if not changes:
        raise ImpossibleError("no such file")
    return Steps(changes)
