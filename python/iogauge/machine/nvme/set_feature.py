"""Changes two features of an NVMe controller until it is reset: interrupt coalescing (08h) and sleeping alone (0Ch).

This is a door of its own beside ``admin``, which only reads. It sends Get Features and Set Features for these two, and
never sets the save bit: a reset of the controller brings the drive's own values back.

Source: NVM Express Base Specification 2.1, "Set Features command" (command word 10: the feature in bits 7:0, save in
bit 31), "Interrupt Coalescing" and "Autonomous Power State Transition" (command word 11 bit 0 enables it; its table has
256 bytes).
"""

from __future__ import annotations

import errno
import os
from enum import IntEnum
from pathlib import Path

from iogauge.machine.nvme.admin import AdminError, send_admin

COALESCING = 0x08
APST = 0x0C
_TABLE_BYTES = 256
_DATA_BYTES = {COALESCING: 0, APST: _TABLE_BYTES}
"""Every feature that may be set, and the bytes that go with it."""


class FeatureOpcode(IntEnum):
    """The admin commands that this door may send."""

    SET_FEATURES = 0x09
    GET_FEATURES = 0x0A


def feature_value(device: Path, feature: int, value: str | None = None) -> str:
    """Return the value of a feature as text, after setting it to ``value`` if there is one.

    Coalescing is a number such as ``0x0``; APST is ``off``, or ``on:`` with its table as hexadecimal digits. Raises
    OSError if the controller cannot be opened or refuses, ValueError for a feature that may not be set.
    """
    if feature not in _DATA_BYTES:
        raise ValueError(f"feature {feature:#04x} may not be set")
    descriptor = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if value is not None:
            number, data = _parsed(feature, value)
            _set(descriptor, feature, number, data)
        number, data = _get(descriptor, feature)
    except AdminError as error:
        raise OSError(errno.EIO, str(error)) from None
    finally:
        os.close(descriptor)
    return _text(feature, number, data)


def _get(descriptor: int, feature: int) -> tuple[int, bytes]:
    return send_admin(descriptor, FeatureOpcode.GET_FEATURES, 0, (feature,), bytes(_DATA_BYTES[feature]))


def _set(descriptor: int, feature: int, number: int, data: bytes) -> None:
    # Command word 10 is the feature alone: bit 31, which would save the value in the drive, stays clear.
    send_admin(descriptor, FeatureOpcode.SET_FEATURES, 0, (feature & 0xFF, number), data)


def _text(feature: int, number: int, data: bytes) -> str:
    if feature == APST:
        # A drive may forget its table when it is switched off; what it holds then does not count.
        return f"on:{data.hex()}" if number & 1 else "off"
    return f"{number & 0xFFFF:#x}"


def _parsed(feature: int, value: str) -> tuple[int, bytes]:
    """Return command word 11 and the data of a value. Raises ValueError."""
    if feature == COALESCING:
        number = int(value, 16)
        if not 0 <= number <= 0xFFFF:
            raise ValueError(f"{value}: not a value of interrupt coalescing")
        return number, b""
    if value == "off":
        return 0, bytes(_TABLE_BYTES)
    word, _, digits = value.partition(":")
    table = bytes.fromhex(digits)
    if word != "on" or len(table) != _TABLE_BYTES:
        raise ValueError(f"{value[:20]}: not a value of APST")
    return 1, table
