"""Parses log pages: SMART and health (02h), the error log (01h), and firmware slots (03h).

Source: NVM Express Base Specification 2.1, log pages "Error Information", "SMART / Health Information" and "Firmware
Slot Information". Offsets count bytes from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.machine.nvme.admin import status_text
from iogauge.machine.nvme.fields import MalformedError, bits, celsius, check_size, number, reported, text
from iogauge.machine.nvme.identify import Controller

ERRORS = 0x01
SMART = 0x02
FIRMWARE = 0x03
PAGE_BYTES = 512
"""Size of SMART and of the firmware slots."""
ENTRY_BYTES = 64
TEMPERATURE_ALARM = "a temperature is beyond its threshold"
_DATA_UNIT_BYTES = 512_000
"""Data is counted in thousands of 512 bytes, rounded up."""
_NO_COMMAND = 0xFFFF


@dataclass(frozen=True)
class Smart:
    """SMART and health information over the life of the drive; None: not reported.

    Temperatures are in degrees Celsius. Numbers that a drive counts from zero are never None.
    """

    critical: tuple[str, ...]
    """What the drive itself calls critical, in words; empty: nothing."""
    temperature_C: int | None
    spare_percent: int
    spare_threshold_percent: int
    used_percent: int
    """The drive's estimate of the life used; 100: its rated endurance is used up. 255 means 255 or more."""
    read_bytes: int | None
    written_bytes: int | None
    read_commands: int
    write_commands: int
    busy_min: int
    """Minutes in which the controller had commands in its queues."""
    power_cycles: int
    power_on_h: int
    """Hours. Some drives leave out the time in non-operational states."""
    unsafe_shutdowns: int
    media_errors: int
    error_entries: int
    """Entries that the error log has had over the life of the drive."""
    warning_min: int | None
    """Minutes at or above the warning temperature."""
    critical_min: int | None
    sensors_C: tuple[int | None, ...]
    """Eight sensors; None: there is no such sensor."""
    light_throttles: int | None
    """How often the host's thermal management throttled lightly; None: never, or the drive does not count it."""
    heavy_throttles: int | None
    light_throttled_s: int | None
    heavy_throttled_s: int | None


@dataclass(frozen=True)
class ErrorEntry:
    """One entry of the error log."""

    number: int
    """Counted from 1 over the life of the drive."""
    status: str
    queue: int | None
    """The submission queue, 0 for admin commands; None: the error is not of one command."""
    command_id: int | None
    block: int
    """The first logical block, if the command had one."""
    namespace: int


@dataclass(frozen=True)
class FirmwareSlots:
    """The firmware slots. Slots count from 1; None: empty, or not reported."""

    active: int | None
    after_reset: int | None
    """The slot that becomes active at the next reset; None: the active one stays."""
    revisions: tuple[str | None, ...]


def interval_power_W(data: bytes) -> float | None:
    """Return the power that the drive measured over its last interval, in watts; None: it reports none.

    ``data`` are the SMART log's.
    """
    check_size(data, PAGE_BYTES, "SMART log")
    value, scale = number(data, 240, 2), data[242] & 3
    divisor = {1: 10_000, 2: 100}.get(scale)
    return value / divisor if value and divisor else None


def parse_smart(data: bytes, controller: Controller | None = None) -> Smart:
    """Parse log page 02h, 512 bytes. Raises MalformedError.

    ``controller`` says which temperatures the drive has limits for. Without a limit it does not count the time above.
    """
    check_size(data, PAGE_BYTES, "SMART log")
    warns = controller is None or None not in (controller.warning_C, controller.critical_C)
    criticises = controller is None or controller.critical_C is not None

    def counter(at: int) -> int:
        return number(data, at, 16)

    return Smart(
        critical=bits(data[0], _CRITICAL),
        temperature_C=celsius(number(data, 1, 2)),
        spare_percent=data[3],
        spare_threshold_percent=data[4],
        used_percent=data[5],
        read_bytes=reported(counter(32) * _DATA_UNIT_BYTES),
        written_bytes=reported(counter(48) * _DATA_UNIT_BYTES),
        read_commands=counter(64),
        write_commands=counter(80),
        busy_min=counter(96),
        power_cycles=counter(112),
        power_on_h=counter(128),
        unsafe_shutdowns=counter(144),
        media_errors=counter(160),
        error_entries=counter(176),
        warning_min=number(data, 192, 4) if warns else None,
        critical_min=number(data, 196, 4) if criticises else None,
        sensors_C=tuple(celsius(number(data, at, 2)) for at in range(200, 216, 2)),
        light_throttles=reported(number(data, 216, 4)),
        heavy_throttles=reported(number(data, 220, 4)),
        light_throttled_s=reported(number(data, 224, 4)),
        heavy_throttled_s=reported(number(data, 228, 4)),
    )


def parse_errors(data: bytes) -> tuple[ErrorEntry, ...]:
    """Parse log page 01h, 64 bytes an entry, the newest first. Raises MalformedError. Empty entries are left out."""
    if len(data) % ENTRY_BYTES:
        raise MalformedError(f"the error log has {len(data)} bytes, which is no multiple of {ENTRY_BYTES}")
    entries = (data[at : at + ENTRY_BYTES] for at in range(0, len(data), ENTRY_BYTES))
    return tuple(_error(entry) for entry in entries if number(entry, 0, 8))


def parse_firmware(data: bytes) -> FirmwareSlots:
    """Parse log page 03h, 512 bytes. Raises MalformedError."""
    check_size(data, PAGE_BYTES, "firmware slot log")
    return FirmwareSlots(
        active=reported(data[0] & 7),
        after_reset=reported(data[0] >> 4 & 7),
        revisions=tuple(text(data, at, 8) for at in range(8, 64, 8)),
    )


def _error(entry: bytes) -> ErrorEntry:
    queue, command_id = number(entry, 8, 2), number(entry, 10, 2)
    return ErrorEntry(
        number=number(entry, 0, 8),
        queue=None if queue == _NO_COMMAND else queue,
        command_id=None if command_id == _NO_COMMAND else command_id,
        status=status_text(number(entry, 12, 2) >> 1),  # bit 0 is the phase of the queue
        block=number(entry, 16, 8),
        namespace=number(entry, 24, 4),
    )


_CRITICAL = {
    3: "the media are read-only",
    2: "the drive is unreliable after errors of its media or inside it",
    0: "the spare capacity is below its threshold",
    4: "the backup of its volatile memory has failed",
    5: "the persistent memory region is read-only or unreliable",
    1: TEMPERATURE_ALARM,
}
"""Bits of the critical warning, the worst first."""
