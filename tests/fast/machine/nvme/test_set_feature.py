"""The door that sets two features of a drive: what it sends, and what it refuses to send."""

from __future__ import annotations

import ctypes
import fcntl
from pathlib import Path

import pytest

from iogauge.machine.nvme.set_feature import feature_value

TABLE = bytes(range(256))


class Drive:
    """Answers Get Features and Set Features as a drive does, from the commands that the kernel would pass on."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.features: dict[int, tuple[int, bytes]] = {0x08: (0x0103, b""), 0x0C: (1, TABLE)}
        self.commands: list[bytes] = []
        self.status = 0
        patch.setattr(fcntl, "ioctl", self.answer)

    def answer(self, _fd: int, _request: int, command: bytearray, _mutate: bool) -> int:
        """Carry out a command."""
        self.commands.append(bytes(command))
        address, size = int.from_bytes(command[24:32], "little"), int.from_bytes(command[36:40], "little")
        feature, number = (int.from_bytes(command[at : at + 4], "little") for at in (40, 44))
        if self.status:
            return self.status
        if command[0] == 0x09:
            self.features[feature] = (number, ctypes.string_at(address, size))
        else:
            number, data = self.features[feature]
            ctypes.memmove(address, data, size)
            command[68:72] = number.to_bytes(4, "little")
        return 0


@pytest.fixture
def drive(monkeypatch: pytest.MonkeyPatch) -> Drive:
    return Drive(monkeypatch)


@pytest.fixture
def device(tmp_path: Path) -> Path:
    """Return the path of a controller, of which only the descriptor is used."""
    path = tmp_path / "nvme0"
    path.touch()
    return path


def test_coalescing(drive: Drive, device: Path) -> None:
    assert feature_value(device, 0x08) == "0x103"
    assert feature_value(device, 0x08, "0x0") == "0x0"
    assert feature_value(device, 0x08, "0x103") == "0x103"


def test_sleeping_alone_comes_back_with_its_table(drive: Drive, device: Path) -> None:
    before = feature_value(device, 0x0C)
    assert before == f"on:{TABLE.hex()}"
    assert feature_value(device, 0x0C, "off") == "off"
    assert drive.features[0x0C] == (0, bytes(256))
    assert feature_value(device, 0x0C, before) == before
    assert drive.features[0x0C] == (1, TABLE)


def test_a_feature_is_never_saved(drive: Drive, device: Path) -> None:
    for feature, values in {0x08: ("0x0", "0xffff"), 0x0C: ("off", f"on:{'ff' * 256}")}.items():
        for value in values:
            feature_value(device, feature, value)
    words = [int.from_bytes(command[40:44], "little") for command in drive.commands]
    assert {command[0] for command in drive.commands} == {0x09, 0x0A}
    assert set(words) == {0x08, 0x0C}, "bit 31 would save it"


@pytest.mark.parametrize("feature", [0x02, 0x06, 0x10, 0x108, 0x80000008])
def test_no_other_feature_can_be_set(drive: Drive, device: Path, feature: int) -> None:
    with pytest.raises(ValueError, match="may not be set"):
        feature_value(device, feature, "0x0")
    assert drive.commands == []


@pytest.mark.parametrize(
    ("feature", "value"), [(0x08, "0x10000"), (0x08, "-0x1"), (0x08, "x"), (0x0C, "on:00"), (0x0C, "maybe")]
)
def test_no_other_value_is_sent(drive: Drive, device: Path, feature: int, value: str) -> None:
    with pytest.raises(ValueError, match=r"not a value|invalid literal"):
        feature_value(device, feature, value)
    assert drive.commands == []


def test_a_drive_that_refuses(drive: Drive, device: Path) -> None:
    drive.status = 0x4002
    with pytest.raises(OSError, match="the drive refused Get features: invalid field"):
        feature_value(device, 0x08)
