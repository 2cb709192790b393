"""Reads all that a SATA drive says of itself, as far as the drive, what lies before it, and the kernel allow.

Only what IDENTIFY DEVICE says the drive has is asked for. CHECK POWER MODE comes first: no other command says whether
the drive was asleep, and some of the others wake it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from iogauge.errors import IogaugeError
from iogauge.machine.ata import smart, statistics
from iogauge.machine.ata.command import AtaCommands, Command, parse_health, parse_power_mode
from iogauge.machine.ata.identity import AtaIdentity, parse_identity, words_of
from iogauge.machine.ata.smart import Attribute
from iogauge.machine.ata.statistics import Statistics
from iogauge.machine.unread import Unread

T = TypeVar("T")


@dataclass(frozen=True)
class AtaAnswers:
    """What a SATA drive answers. What could not be read, or what the drive does not have, is None."""

    identity: AtaIdentity | None = None
    power_mode: str | None = None
    """In words, such as ``active or idle``."""
    healthy: bool | None = None
    """Whether SMART predicts no failure."""
    attributes: tuple[Attribute, ...] | None = None
    statistics: Statistics | None = None


def read_answers(drive: AtaCommands) -> tuple[AtaAnswers, list[Unread]]:
    """Ask a drive. Return its answers, and what could not be read with the reason."""
    unread: list[Unread] = []

    def attempt(name: str, read: Callable[[], T]) -> T | None:
        try:
            return read()
        except IogaugeError as error:
            unread.append(Unread(name, str(error), error.hint))
            return None

    power_mode = attempt(
        "the power mode", lambda: parse_power_mode(drive.registers(Command.CHECK_POWER_MODE))
    )
    identity = attempt(
        "IDENTIFY DEVICE", lambda: parse_identity(words_of(drive.data(Command.IDENTIFY_DEVICE)))
    )
    if identity is None:
        return AtaAnswers(power_mode=power_mode), unread
    healthy = attributes = counters = None
    if identity.smart:
        healthy = attempt(
            "SMART's verdict", lambda: parse_health(drive.registers(Command.SMART_RETURN_STATUS))
        )
        thresholds = attempt("SMART's thresholds", lambda: drive.data(Command.SMART_READ_THRESHOLDS))
        attributes = attempt(
            "SMART", lambda: smart.parse_attributes(drive.data(Command.SMART_READ_DATA), thresholds)
        )
    if identity.logs:
        counters = attempt("the statistics", lambda: _statistics(drive, identity.sector_bytes))
    return AtaAnswers(identity, power_mode, healthy, attributes, counters), unread


def _statistics(drive: AtaCommands, sector_bytes: int) -> Statistics:
    def page(number: int) -> bytes:
        return drive.data(Command.READ_LOG_EXT, block=number << 8 | statistics.LOG)

    listed = statistics.parse_pages(page(0))
    wanted = listed & {statistics.GENERAL, statistics.TEMPERATURE, statistics.SOLID_STATE}
    return statistics.parse_statistics(
        {number: page(number) for number in sorted(wanted)}, sector_bytes=sector_bytes
    )
