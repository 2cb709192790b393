"""Sends ATA commands to a drive by the kernel's SCSI passthrough. Only commands that read are ever sent.

``ATA PASS-THROUGH (16)`` carries a command to a SATA drive, also through a USB bridge or a SAS adapter that translates.
Older bridges know only the form of 12 bytes, which has no room for 48-bit commands. Linux lets root alone send them.

Source: SCSI/ATA Translation 5 (SAT-5), "ATA PASS-THROUGH" and "ATA Status Return sense data descriptor"; ATA Command
Set 5 (ACS-5); Linux, include/scsi/sg.h and block/scsi_ioctl.c.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from iogauge.errors import IogaugeError

_SG_IO = 0x2285
_HEADER = struct.Struct("@iiBBHIPPPIIiPBBBBHHiII")
"""``struct sg_io_hdr``: interface, direction, lengths of the command and of the sense buffer, vectors, length of the
data; addresses of data, command and sense data; timeout in ms, flags, ids; statuses of SCSI and of the layers below,
length of the sense data, statuses of host and driver, bytes left, duration, information."""
_FROM_DRIVE, _NO_DATA = -3, -1
_TIMEOUT_MS = 15_000
_SENSE_BYTES = 64
_CHECK_CONDITION = 0x02
_ILLEGAL_REQUEST = 0x05

SECTOR_BYTES = 512


class Command(Enum):
    """The ATA commands that may be sent, by command and feature: those that change nothing."""

    IDENTIFY_DEVICE = (0xEC, 0x00)
    SMART_READ_DATA = (0xB0, 0xD0)
    SMART_READ_THRESHOLDS = (0xB0, 0xD1)
    SMART_RETURN_STATUS = (0xB0, 0xDA)
    READ_LOG_EXT = (0x2F, 0x00)
    CHECK_POWER_MODE = (0xE5, 0x00)

    @property
    def title(self) -> str:
        """The name as people read it."""
        return self.name.replace("_", " ")


_SIGNATURE = 0xC24F00
"""Blocks that every SMART command names."""
_FAILING = 0xF42C
"""What the middle and upper block numbers become if SMART predicts a failure."""
_HEALTHY = 0xC24F


class AtaError(IogaugeError):
    """A command did not succeed: the drive, what lies before it, or the kernel refused it."""


@dataclass(frozen=True)
class Registers:
    """What a command without data returns."""

    count: int
    block: int
    """The lower 24 bits."""


class AtaCommands(Protocol):
    """What answers ATA commands: a drive, or a recording of one."""

    def data(self, command: Command, *, block: int = 0) -> bytes:
        """Return the 512 bytes that a command reads. Raises AtaError."""
        ...

    def registers(self, command: Command) -> Registers:
        """Return what a command without data answers. Raises AtaError."""
        ...


class AtaDevice:
    """A drive behind an open descriptor, which stays the caller's."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def data(self, command: Command, *, block: int = 0) -> bytes:
        """Return the 512 bytes that a command reads. Raises AtaError."""
        code, feature = Command(command).value  # raises ValueError for any command that is not on the list
        if code == 0xB0:
            block = _SIGNATURE
        if command is Command.READ_LOG_EXT:
            return self._send(command, _cdb16(code, feature, block, extended=True))[0]
        try:
            return self._send(command, _cdb16(code, feature, block))[0]
        except _UnknownFormError:
            return self._send(command, _cdb12(code, feature, block))[0]

    def registers(self, command: Command) -> Registers:
        """Return what a command without data answers. Raises AtaError."""
        code, feature = Command(command).value
        block = _SIGNATURE if code == 0xB0 else 0
        sense = self._send(command, _cdb16(code, feature, block, data=False))[1]
        return parse_sense(sense, command.title)

    def _send(self, command: Command, cdb: bytes) -> tuple[bytes, bytes]:
        """Send a command; return its data and the sense data."""
        wants_data = bool(cdb[2] & 3)
        size = SECTOR_BYTES if wants_data else 0
        data, sense = ctypes.create_string_buffer(size), ctypes.create_string_buffer(_SENSE_BYTES)
        request = ctypes.create_string_buffer(cdb, len(cdb))
        header = bytearray(
            _HEADER.pack(
                ord("S"), _FROM_DRIVE if wants_data else _NO_DATA, len(cdb), _SENSE_BYTES, 0, size,
                ctypes.addressof(data) if wants_data else 0, ctypes.addressof(request), ctypes.addressof(sense),
                _TIMEOUT_MS, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
            )
        )  # fmt: skip
        try:
            fcntl.ioctl(self._fd, _SG_IO, header, True)
        except OSError as error:
            raise _kernel_error(command.title, error) from None
        fields = _HEADER.unpack(header)
        status, length, host, left = fields[13], fields[16], fields[17], fields[19]
        answer = sense.raw[: min(length, _SENSE_BYTES)]
        if host:
            raise AtaError(f"the controller did not carry out {command.title}: host status {host}")
        if wants_data and status == _CHECK_CONDITION and _key(answer) == _ILLEGAL_REQUEST:
            raise _UnknownFormError(
                f"{command.title} was refused: what lies before the drive does not know it"
            )
        if wants_data and (status or left):
            raise AtaError(
                f"the drive refused {command.title}" if status else f"{command.title} was cut short"
            )
        return data.raw, answer


class _UnknownFormError(AtaError):
    """The form of the command was refused, not the command."""


def _cdb16(code: int, feature: int, block: int, *, extended: bool = False, data: bool = True) -> bytes:
    """Return ATA PASS-THROUGH (16): one block from the drive, or else no data but the registers."""
    protocol, flags = (4, 0x0E) if data else (3, 0x20)
    low = block & 0xFF, block >> 8 & 0xFF, block >> 16 & 0xFF
    return bytes(
        [
            0x85,
            protocol << 1 | extended,
            flags,
            0,
            feature,
            0,
            int(data),
            0,
            low[0],
            0,
            low[1],
            0,
            low[2],
            0,
            code,
            0,
        ]
    )


def _cdb12(code: int, feature: int, block: int) -> bytes:
    """Return ATA PASS-THROUGH (12): one block from the drive."""
    return bytes(
        [0xA1, 4 << 1, 0x0E, feature, 1, block & 0xFF, block >> 8 & 0xFF, block >> 16 & 0xFF, 0, code, 0, 0]
    )


def _key(sense: bytes) -> int:
    """Return the sense key of either format; 0 where there is none."""
    if len(sense) < 3:
        return 0
    return (sense[1] if sense[0] & 0x7F in (0x72, 0x73) else sense[2]) & 0xF


def parse_sense(sense: bytes, name: str) -> Registers:
    """Return the registers of an answer: a descriptor, or the fixed format. Raises AtaError if they are not in it."""
    if len(sense) >= 22 and sense[0] & 0x7F == 0x72 and sense[8] == 0x09:
        error_bit, count = sense[21] & 1, sense[13]
        block = sense[15] | sense[17] << 8 | sense[19] << 16
    elif len(sense) >= 14 and sense[0] & 0x7F == 0x70 and sense[12:14] == b"\x00\x1d":
        error_bit, count = sense[4] & 1, sense[6]
        block = sense[9] | sense[10] << 8 | sense[11] << 16
    else:
        raise AtaError(f"{name} was answered without its registers")
    if error_bit:
        raise AtaError(f"the drive refused {name}")
    return Registers(count, block)


def parse_health(registers: Registers) -> bool:
    """Return whether SMART predicts no failure. Raises AtaError for an answer that says neither."""
    verdict = registers.block >> 8
    if verdict not in (_HEALTHY, _FAILING):
        raise AtaError("SMART RETURN STATUS was answered with neither of its two verdicts")
    return verdict == _HEALTHY


def parse_power_mode(registers: Registers) -> str:
    """Return the power mode in words.

    >>> parse_power_mode(Registers(0xFF, 0)), parse_power_mode(Registers(0x00, 0)), parse_power_mode(Registers(0x7, 0))
    ('active or idle', 'standby', 'reserved mode 07h')
    """
    return _MODES.get(registers.count, f"reserved mode {registers.count:02X}h")


_MODES = {
    0x00: "standby",
    0x01: "standby_y",
    0x40: "active, non-volatile cache off",
    0x41: "active, non-volatile cache on",
    0x80: "idle",
    0x81: "idle_a",
    0x82: "idle_b",
    0x83: "idle_c",
    0xFF: "active or idle",
}


def _kernel_error(name: str, error: OSError) -> AtaError:
    hints = {
        errno.EACCES: "run as root",
        errno.EPERM: "run as root",
        errno.ENOTTY: "the kernel passes no ATA commands to this device",
        errno.EINVAL: "the kernel passes no ATA commands to this device",
        errno.ENODEV: "the drive has gone: look at dmesg",
    }
    reason = os.strerror(error.errno) if error.errno else str(error)
    return AtaError(f"the kernel refused {name}: {reason}", hint=hints.get(error.errno or 0, "look at dmesg"))
