"""ATA commands as the kernel gets them: only those that read, laid out by the standard, and errors with a reason."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import struct
from collections.abc import Callable

import pytest

from iogauge.machine.ata.command import AtaDevice, AtaError, Command

Reply = Callable[[bytes], "tuple[int, bytes, bytes, int, int]"]
"""Takes the command; returns the SCSI status, the data, the sense data, the host's status, and the bytes left."""

ILLEGAL = bytes([0x72, 0x05, 0x20, 0])
VERDICT = bytes([0x72, 1, 0, 0x1D, 0, 0, 0, 14, 9, 12, 0, 0, 0, 0x80, 0, 0, 0, 0x4F, 0, 0xC2, 0, 0x50])


def answered(monkeypatch: pytest.MonkeyPatch, reply: Reply) -> list[bytes]:
    """Let the kernel answer so; return the commands that it gets."""
    commands: list[bytes] = []

    def ioctl(fd: int, request: int, header: bytearray, mutate: bool) -> int:
        assert (fd, request, mutate) == (5, 0x2285, True)
        interface, direction, length, sense_length = struct.unpack_from("=iiBB", header)
        size, data_at, command_at, sense_at = (
            struct.unpack_from("=I", header, 12)[0],
            *struct.unpack_from("=QQQ", header, 16),
        )
        assert (interface, sense_length) == (ord("S"), 64)
        assert (direction, size) in ((-3, 512), (-1, 0))
        commands.append(ctypes.string_at(command_at, length))
        status, data, sense, host, left = reply(commands[-1])
        ctypes.memmove(sense_at, sense, len(sense))
        if size:
            ctypes.memmove(data_at, data, min(len(data), size))
        header[64], header[67] = status, len(sense)
        struct.pack_into("=HHi", header, 68, host, 0, left)
        return 0

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    return commands


def test_only_commands_that_read_can_be_sent() -> None:
    assert {command.value for command in Command} == {
        (0xEC, 0x00),  # IDENTIFY DEVICE
        (0xB0, 0xD0),  # SMART READ DATA
        (0xB0, 0xD1),  # SMART READ THRESHOLDS
        (0xB0, 0xDA),  # SMART RETURN STATUS
        (0x2F, 0x00),  # READ LOG EXT
        (0xE5, 0x00),  # CHECK POWER MODE
    }
    for code in range(256):
        for send in (AtaDevice(-1).data, AtaDevice(-1).registers):
            with pytest.raises(ValueError, match="is not a valid Command"):
                send((code, 0xD2))  # type: ignore[arg-type]


def test_a_read_is_laid_out_by_the_standard(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = answered(monkeypatch, lambda _: (0, b"\x07" * 512, b"", 0, 0))
    drive = AtaDevice(5)
    assert drive.data(Command.SMART_READ_DATA) == b"\x07" * 512
    drive.data(Command.READ_LOG_EXT, block=0x0704)
    assert commands == [
        bytes.fromhex("85 08 0e 00 d0 00 01 00 00 00 4f 00 c2 00 b0 00"),
        bytes.fromhex("85 09 0e 00 00 00 01 00 04 00 07 00 00 00 2f 00"),
    ]


def test_registers_come_in_the_sense_data(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = answered(monkeypatch, lambda _: (2, b"", VERDICT, 0, 0))
    assert AtaDevice(5).registers(Command.CHECK_POWER_MODE).count == 0x80
    assert AtaDevice(5).registers(Command.SMART_RETURN_STATUS).block == 0xC24F00
    assert commands == [
        bytes.fromhex("85 06 20 00 00 00 00 00 00 00 00 00 00 00 e5 00"),
        bytes.fromhex("85 06 20 00 da 00 00 00 00 00 4f 00 c2 00 b0 00"),
    ]


def test_an_older_bridge_gets_the_shorter_form(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = answered(
        monkeypatch,
        lambda command: (2, b"", ILLEGAL, 0, 0) if command[0] == 0x85 else (0, b"\x07" * 512, b"", 0, 0),
    )
    assert AtaDevice(5).data(Command.SMART_READ_DATA) == b"\x07" * 512
    assert commands[1] == bytes.fromhex("a1 08 0e d0 01 00 4f c2 00 b0 00 00")
    with pytest.raises(
        AtaError, match="READ LOG EXT was refused: what lies before the drive does not know it"
    ):
        AtaDevice(5).data(Command.READ_LOG_EXT)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ((2, b"", bytes([0x72, 0x0B, 0, 0]), 0, 0), "the drive refused SMART READ DATA"),
        ((2, b"", ILLEGAL, 0, 0), "does not know it"),
        ((2, b"", b"", 0, 0), "the drive refused SMART READ DATA"),
        ((0, b"", b"", 3, 0), "did not carry out SMART READ DATA: host status 3"),
        ((0, b"", b"", 0, 8), "SMART READ DATA was cut short"),
    ],
)
def test_an_answer_that_is_none_is_an_error(
    monkeypatch: pytest.MonkeyPatch, reply: tuple[int, bytes, bytes, int, int], message: str
) -> None:
    answered(monkeypatch, lambda _: reply)
    with pytest.raises(AtaError, match=message):
        AtaDevice(5).data(Command.SMART_READ_DATA)


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.EPERM, "run as root"),
        (errno.ENOTTY, "the kernel passes no ATA commands to this device"),
        (errno.EIO, "look at dmesg"),
    ],
)
def test_what_the_kernel_refuses_has_a_hint(monkeypatch: pytest.MonkeyPatch, number: int, hint: str) -> None:
    def ioctl(*_: object) -> int:
        raise OSError(number, "x")

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    with pytest.raises(AtaError, match="the kernel refused IDENTIFY DEVICE") as caught:
        AtaDevice(5).data(Command.IDENTIFY_DEVICE)
    assert caught.value.hint == hint
