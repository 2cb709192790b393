"""Parses the values of features that decide latency and power.

Source: NVM Express Base Specification 2.1, command Set Features: command word 11 and the data of each feature.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from iogauge.machine.nvme.fields import celsius, check_size, number, reported

APST_BYTES = 256
HOST_MEMORY_BYTES = 4096
UNDER_THRESHOLD = 1 << 20
"""Command word 11 for the lower threshold; 0 means the upper one. Both of the composite temperature."""
_PAGE_BYTES = 4096
"""Linux sets every controller's memory page to 4 KiB."""
_NO_UPPER_LIMIT = 0xFFFF


class Feature(IntEnum):
    """Feature identifiers."""

    POWER_MANAGEMENT = 0x02
    TEMPERATURE_THRESHOLD = 0x04
    WRITE_CACHE = 0x06
    QUEUES = 0x07
    COALESCING = 0x08
    APST = 0x0C
    HOST_MEMORY = 0x0D
    THERMAL_MANAGEMENT = 0x10
    NON_OPERATIONAL = 0x11


@dataclass(frozen=True)
class PowerManagement:
    """The power state that the host chose."""

    state: int
    workload_hint: int | None
    """The workload that the host announced, 1 or 2."""


@dataclass(frozen=True)
class Thresholds:
    """Temperatures beyond which the drive reports an event, in degrees Celsius; None: no limit."""

    over_C: int | None
    under_C: int | None


@dataclass(frozen=True)
class Queues:
    """The numbers of I/O queues that the drive has given the host."""

    submission: int
    completion: int


@dataclass(frozen=True)
class Coalescing:
    """The drive may delay an interrupt until so many completions wait, for at most so long. 0 us: it delays none."""

    completions: int
    time_us: int


@dataclass(frozen=True)
class IdleTransition:
    """From a state, after so much idle time, the drive enters another one by itself."""

    from_state: int
    to_state: int
    idle_ms: int


@dataclass(frozen=True)
class Apst:
    """Autonomous Power State Transition: which states the drive enters by itself."""

    enabled: bool
    transitions: tuple[IdleTransition, ...]


@dataclass(frozen=True)
class HostMemory:
    """The memory that the host lends the drive."""

    enabled: bool
    size_bytes: int | None
    pieces: int | None


@dataclass(frozen=True)
class ThermalManagement:
    """Temperatures at which the drive throttles, in degrees Celsius; None: it does not at the host's wish."""

    light_C: int | None
    heavy_C: int | None


@dataclass(frozen=True)
class Features:
    """The features of a drive; None: the drive does not have it, or it could not be read."""

    power: PowerManagement | None = None
    thresholds: Thresholds | None = None
    write_cache: bool | None = None
    """Whether the volatile write cache is on."""
    queues: Queues | None = None
    coalescing: Coalescing | None = None
    apst: Apst | None = None
    host_memory: HostMemory | None = None
    thermal: ThermalManagement | None = None
    permissive: bool | None = None
    """Whether background work may exceed the power of a non-operational state."""


def parse_power(value: int) -> PowerManagement:
    """Parse feature 02h.

    >>> parse_power(0b001_00011)
    PowerManagement(state=3, workload_hint=1)
    """
    return PowerManagement(value & 31, reported(value >> 5 & 7))


def parse_thresholds(over: int, under: int) -> Thresholds:
    """Parse feature 04h, read once for each threshold.

    >>> parse_thresholds(343, 0), parse_thresholds(0xFFFF, 273)
    (Thresholds(over_C=70, under_C=None), Thresholds(over_C=None, under_C=0))
    """
    upper = over & 0xFFFF
    return Thresholds(None if upper == _NO_UPPER_LIMIT else celsius(upper), celsius(under & 0xFFFF))


def parse_queues(value: int) -> Queues:
    """Parse feature 07h, whose numbers are 0's based.

    >>> parse_queues(0x0003_0007)
    Queues(submission=8, completion=4)
    """
    return Queues((value & 0xFFFF) + 1, (value >> 16 & 0xFFFF) + 1)


def parse_coalescing(value: int) -> Coalescing:
    """Parse feature 08h: a 0's based number of completions, and a time in units of 100 us.

    >>> parse_coalescing(0x0207)
    Coalescing(completions=8, time_us=200)
    """
    return Coalescing((value & 0xFF) + 1, 100 * (value >> 8 & 0xFF))


def parse_apst(value: int, data: bytes) -> Apst:
    """Parse feature 0Ch: a bit, and for each of 32 states where it leads and after how many idle milliseconds.

    Raises MalformedError unless there are 256 bytes.
    """
    check_size(data, APST_BYTES, "table of APST")
    entries = ((state, number(data, 8 * state, 8)) for state in range(APST_BYTES // 8))
    return Apst(
        bool(value & 1),
        tuple(
            IdleTransition(state, entry >> 3 & 31, idle_ms)
            for state, entry in entries
            if (idle_ms := entry >> 8 & 0xFFFFFF)
        ),
    )


def parse_host_memory(value: int, data: bytes) -> HostMemory:
    """Parse feature 0Dh. Raises MalformedError unless there are 4096 bytes."""
    check_size(data, HOST_MEMORY_BYTES, "attributes of the host memory buffer")
    enabled = bool(value & 1)
    if not enabled:
        return HostMemory(enabled=False, size_bytes=None, pieces=None)
    return HostMemory(enabled, reported(number(data, 0, 4) * _PAGE_BYTES), reported(number(data, 12, 4)))


def parse_thermal(value: int) -> ThermalManagement:
    """Parse feature 10h: two temperatures in kelvins, of which zero is off.

    >>> parse_thermal(343 << 16 | 353)
    ThermalManagement(light_C=70, heavy_C=80)
    """
    return ThermalManagement(celsius(value >> 16 & 0xFFFF), celsius(value & 0xFFFF))
