"""Erasing commands are laid out as the specification has them, keep the block format, and are the only two."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.machine.nvme.erase import (
    EraseOpcode,
    NvmeEraser,
    SanitizeAction,
    SanitizeStatus,
    SecureErase,
    format_word,
    namespaces,
    parse_sanitize,
)
from tests.nvme_images import namespace

HOURS_MS = 60 * 60 * 1000


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the commands that the kernel gets; every descriptor is of namespace 3."""
    commands: list[bytes] = []

    def ioctl(fd: int, request: int, command: bytearray | None = None, mutate: bool = False) -> int:
        if command is None:
            return 3
        commands.append(bytes(command))
        return 0

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    return commands


def test_a_format_is_of_one_namespace_and_may_take_hours(sent: list[bytes]) -> None:
    NvmeEraser(5).format_namespace(0x200)
    (command,) = sent
    assert (command[0], int.from_bytes(command[4:8], "little")) == (0x80, 3)
    assert int.from_bytes(command[40:44], "little") == 0x200
    assert int.from_bytes(command[64:68], "little") >= 12 * HOURS_MS, (
        "the kernel resets the drive at a timeout"
    )


def test_a_sanitize_leaves_a_way_out_after_a_failure(sent: list[bytes]) -> None:
    NvmeEraser(5).sanitize(SanitizeAction.CRYPTO)
    (command,) = sent
    assert command[0] == 0x84
    assert int.from_bytes(command[40:44], "little") == 0b1100  # crypto erase, unrestricted exit


def test_nothing_else_can_be_sent(sent: list[bytes]) -> None:
    assert {code.value for code in EraseOpcode} == {0x80, 0x84}
    with pytest.raises(ValueError, match="3"):
        NvmeEraser(5).sanitize(3)  # type: ignore[arg-type]  # overwrite, which wears flash
    assert sent == []


def test_a_format_of_no_namespace_would_be_one_of_all() -> None:
    # A descriptor that is no NVMe drive's has no namespace.
    with Path(os.devnull).open() as null, pytest.raises(ValueError, match="whole drive"):
        NvmeEraser(null.fileno()).format_namespace(0x200)


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({}, 0x200),
        ({"nlbaf": 1, "flbas": 1}, 0x201),
        ({"nlbaf": 4, "flbas": 0x14, "dps": 0}, 0x214),  # metadata with the data
        ({"nlbaf": 4, "flbas": 4, "dps": 0b1011}, 0x200 | 1 << 8 | 3 << 5 | 4),  # protection 3, in front
        ({"nlbaf": 33, "flbas": 0x42}, 0x200 | 2 << 12 | 2),  # format 34
        ({"nlbaf": 3, "flbas": 0x62}, 0x202),  # reserved bits of a drive with few formats
    ],
)
def test_a_format_keeps_the_block_format(fields: dict[str, int], word: int) -> None:
    assert format_word(namespace(**fields), SecureErase.USER_DATA) == word
    assert format_word(namespace(**fields), SecureErase.CRYPTO) == word + 0x200


def sanitize_log(status: int, done: int = 0xFFFF, *, block_s: int = 0, crypto_s: int = 0) -> bytes:
    data = bytearray(512)
    data[0:2], data[2:4] = done.to_bytes(2, "little"), status.to_bytes(2, "little")
    data[12:16], data[16:20] = block_s.to_bytes(4, "little"), crypto_s.to_bytes(4, "little")
    return bytes(data)


def test_the_sanitize_log() -> None:
    running = parse_sanitize(sanitize_log(0b10_00001_010, 0x4000, block_s=90, crypto_s=0xFFFFFFFF))
    assert (running.status, running.done_share) == (SanitizeStatus.RUNNING, 0.25)
    assert running.expected_s == {SanitizeAction.BLOCK: 90}
    assert parse_sanitize(sanitize_log(0)).status is SanitizeStatus.NEVER
    assert parse_sanitize(sanitize_log(4)).status is SanitizeStatus.DONE_DEALLOCATED
    assert parse_sanitize(sanitize_log(7)).status is None
    for data in (bytes(511), b""):
        with pytest.raises(IogaugeError):
            parse_sanitize(data)
        with pytest.raises(IogaugeError):
            format_word(data, SecureErase.USER_DATA)
        with pytest.raises(IogaugeError):
            namespaces(data)
