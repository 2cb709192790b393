"""A drive read from images: what is requested of it, what comes out, and what it refuses."""

from __future__ import annotations

import errno
import fcntl

import pytest

from iogauge.machine.nvme import admin
from iogauge.machine.nvme.admin import AdminError, NvmeDevice, Opcode
from iogauge.machine.nvme.health import problems
from iogauge.machine.nvme.identify import parse_controller
from iogauge.machine.nvme.logs import parse_smart
from iogauge.machine.nvme.read import read_nvme
from tests import nvme_images as images


def test_qemus_drive() -> None:
    nvme, unread = read_nvme(images.recorded())
    assert unread == []
    assert nvme.controller is not None
    assert nvme.namespace is not None
    assert nvme.smart is not None
    assert nvme.firmware is not None
    assert (nvme.controller.model, nvme.controller.serial) == ("QEMU NVMe Ctrl", "N1")
    (state,) = nvme.controller.power_states
    assert (state.max_W, state.entry_us, state.exit_us, state.operational) == (25.0, 16, 4, True)
    assert (nvme.controller.warning_C, nvme.controller.critical_C) == (70, 100)
    assert nvme.namespace.size_bytes == 1 << 30
    assert (nvme.smart.temperature_C, nvme.smart.used_percent) == (50, 0)
    assert nvme.features.queues is not None
    assert nvme.features.queues.submission == 64
    assert nvme.features.write_cache is True
    assert nvme.features.apst is None
    assert nvme.errors == ()
    assert nvme.firmware.revisions[0] == "1.0"


def test_a_drive_with_everything() -> None:
    nvme, unread = read_nvme(images.laptop())
    assert unread == []
    values = vars(nvme.features)
    assert [name for name, value in values.items() if value is None] == []
    assert nvme.features.write_cache is False
    assert nvme.features.permissive is True
    assert nvme.errors is not None
    assert len(nvme.errors) == 2


def test_no_feature_is_read_that_the_drive_does_not_have() -> None:
    """A drive may add an entry to its error log for every command that it refuses."""
    drive = images.recorded()
    read_nvme(drive)
    assert {request for request in drive.requests if request.startswith("feature")} == {
        f"feature {number:02x}h" for number in (2, 4, 6, 7, 8)
    }


def test_what_is_refused_is_named_and_the_rest_is_there() -> None:
    drive = images.laptop()
    del drive.logs[2], drive.features[12, 0]
    nvme, unread = read_nvme(drive)
    assert [item.what for item in unread] == ["SMART", "APST"]
    assert unread[0].why == "the drive refused Get log page: invalid log page"
    assert nvme.smart is None
    assert nvme.features.apst is None
    assert nvme.controller is not None


def test_a_damaged_answer_is_named() -> None:
    drive = images.laptop()
    drive.structures[1] = b"\xff" * 4096
    nvme, unread = read_nvme(drive)
    assert nvme.controller is None
    assert [item.what for item in unread] == ["Identify Controller"]
    assert nvme.smart is not None


def test_a_controller_has_no_namespace_of_its_own() -> None:
    drive = images.laptop()
    drive.namespace_id = 0
    nvme, unread = read_nvme(drive)
    assert nvme.namespace is None
    assert unread == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"critical_warning": 1}, ["the spare capacity is below its threshold"]),
        ({"avail_spare": 9}, ["the spare capacity is below its threshold"]),
        ({"critical_warning": 1, "avail_spare": 9}, ["the spare capacity is below its threshold"]),
        ({"media_errors": 1}, ["data could not be recovered once"]),
        ({"media_errors": 1200}, ["data could not be recovered 1,200 times"]),
        ({"percent_used": 100}, ["100 % of its rated endurance is used"]),
        ({"temperature": 358}, ["it is at 85 C, and its warning temperature is 85 C"]),
        ({"temperature": 370}, ["it is at 97 C, and its critical temperature is 95 C"]),
    ],
)
def test_what_is_wrong(fields: dict[str, int], expected: list[str]) -> None:
    drive = images.laptop(**fields)
    controller = parse_controller(drive.structures[1])
    assert problems(parse_smart(drive.logs[2], controller), controller) == expected


def test_the_worst_comes_first() -> None:
    drive = images.laptop(critical_warning=0b111111, media_errors=1)
    first, *_, last = problems(parse_smart(drive.logs[2]))
    assert first == "the media are read-only"
    assert last == "data could not be recovered once"


def test_only_commands_that_read_can_be_sent() -> None:
    assert {code.value for code in Opcode} == {0x02, 0x06, 0x0A}
    with pytest.raises(ValueError, match=r"0x80|128"):
        NvmeDevice(0)._send(0x80, 1, (), 0)  # type: ignore[arg-type]  # Format NVM


def test_a_command_is_laid_out_as_the_kernel_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = []

    def ioctl(fd: int, request: int, command: bytearray | None = None, mutate: bool = False) -> int:
        if command is None:
            return 3
        commands.append(bytes(command))
        command[68:72] = (99).to_bytes(4, "little")
        return 0

    monkeypatch.setattr(fcntl, "ioctl", ioctl)
    drive = NvmeDevice(5)
    assert drive.namespace_id == 3
    assert drive.log_page(2, 512) == bytes(512)
    assert drive.feature(4, selector=1 << 20) == (99, b"")
    page, feature = commands
    assert len(page) == 72
    assert (page[0], page[4:8]) == (0x02, b"\xff" * 4)
    assert int.from_bytes(page[36:40], "little") == 512
    # The page's number, and the number of words less one in the upper half.
    assert int.from_bytes(page[40:44], "little") == 127 << 16 | 2
    assert page[64:68] == bytes(4), "the kernel's own timeout applies"
    assert (feature[0], int.from_bytes(feature[40:44], "little")) == (0x0A, 4)
    assert int.from_bytes(feature[44:48], "little") == 1 << 20


@pytest.mark.parametrize(
    ("result", "message", "hint"),
    [
        (OSError(errno.EACCES, "x"), "the kernel refused Identify: Permission denied", "run as root"),
        (OSError(errno.EIO, "x"), "the kernel refused Identify: Input/output error", "look at dmesg"),
        (0x4002, "the drive refused Identify: invalid field in the command", None),
    ],
)
def test_a_refused_command_is_an_error_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, result: OSError | int, message: str, hint: str | None
) -> None:
    def ioctl(*_: object) -> int:
        if isinstance(result, OSError):
            raise result
        return result

    monkeypatch.setattr(admin.fcntl, "ioctl", ioctl)
    with pytest.raises(AdminError) as caught:
        NvmeDevice(5).identify(1)
    assert (str(caught.value), caught.value.hint) == (message, hint)
