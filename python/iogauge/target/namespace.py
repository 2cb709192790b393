"""Finds the character device of an NVMe namespace, which takes commands, and opens it beside the block device.

Commands bypass the block layer: the kernel refuses none of them because a namespace is mounted. So the gate of a
namespace is that of its block device, which stays open exclusively as long as commands write (``block.open_block``).

The two devices are children of the same controller or subsystem, with the same number after the last ``n``. Their
names may differ in the first number, and names are reused: so both are asked for their namespace identifier, too.

Source: Linux' drivers/nvme/host (nvme_add_ns_cdev, nvme_alloc_ns), include/uapi/linux/nvme_ioctl.h; NVM Command Set
Specification 1.0, 3.2.4 (a command counts its blocks in 16 bits).
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from iogauge.target.refusal import TargetRefused, refused_by_kernel
from iogauge.target.users.sysfs import HOST, BlockDevice, Host, names_in, number_of, read_text

_NVME_IOCTL_ID = 0x4E40
_NVME_IOCTL_IO_CMD = 0xC0484E43
_READ = 0x02
_MOST_BLOCKS = 1 << 16
_OTHERWISE = "use ioengine=io_uring"


@dataclass(frozen=True, kw_only=True)
class Namespace:
    """The open character device of a namespace, and what its commands must know."""

    fd: int
    nsid: int
    block_bytes: int
    """Bytes of a logical block."""
    largest_bytes: int
    """The most that one command may move: the drive's limit (MDTS) and the driver's."""


def real_path(path: str, host: Host = HOST) -> str:
    """Return the path without symbolic links; for a namespace's character device, that of its block device."""
    real = os.path.realpath(path)
    device = block_device_of(real, host)
    return f"/dev/{device.name}" if device else real


def block_device_of(path: str, host: Host = HOST) -> BlockDevice | None:
    """Return the block device of the namespace whose character device is at ``path``; None if it is not one."""
    try:
        status = host.stat(path)
    except (OSError, ValueError):
        return None
    if not stat.S_ISCHR(status.st_mode):
        return None
    link = host.sys / "dev" / "char" / number_of(status.st_rdev)
    if not link.exists():
        return None
    character = link.resolve()
    number = _number(character.name, "ng")
    blocks = (BlockDevice.by_name(name, host) for name in _beside(character, "nvme", number))
    return next((block for block in blocks if block), None)


def character_number(device: BlockDevice) -> str | None:
    """Return ``major:minor`` of the character device of a namespace, by its disk; None if it has none."""
    folder = _character(device)
    return read_text(folder / "dev") if folder else None


def open_namespace(block_fd: int, path: str, device: BlockDevice, *, write: bool) -> Namespace:
    """Open the character device of the namespace whose block device is open and cleared as ``block_fd``.

    It reads one block by a command, to know before a run whether commands are allowed. Raises TargetRefused.
    """
    folder = _character(device)
    if device.is_partition:
        raise TargetRefused(
            f"{path}: it is a partition, and NVMe commands (io_uring_cmd) reach whole namespaces only",
            hint=f"{_OTHERWISE}, or name the whole namespace /dev/{device.disk.name}",
        )
    if folder is None:
        raise TargetRefused(
            f"{path}: io_uring_cmd sends NVMe commands, and {device.name} is no NVMe namespace with a character "
            "device",
            hint=f"{_OTHERWISE}, or an NVMe drive on Linux 5.19 or later",
        )
    _refuse_metadata(path, device)
    node = f"/dev/{folder.name}"
    flags = (os.O_RDWR if write else os.O_RDONLY) | os.O_CLOEXEC
    try:
        fd = os.open(node, flags)
    except OSError as error:
        raise refused_by_kernel(node, "opening it", error) from None
    try:
        status = os.fstat(fd)
        nsid = fcntl.ioctl(fd, _NVME_IOCTL_ID)
        is_it = stat.S_ISCHR(status.st_mode) and number_of(status.st_rdev) == read_text(folder / "dev")
        named = os.stat(path)  # noqa: PTH116 (of a name as it was given)
        is_named = not stat.S_ISCHR(named.st_mode) or named.st_rdev == status.st_rdev
        if not (is_it and is_named) or nsid != fcntl.ioctl(block_fd, _NVME_IOCTL_ID):
            raise TargetRefused(
                f"{path}: {node} is not the character device of its namespace", hint="see ls -l /dev/ng*"
            )
        namespace = Namespace(
            fd=fd,
            nsid=nsid,
            block_bytes=(block_bytes := _positive(path, device, "queue/logical_block_size")),
            largest_bytes=min(
                1024 * _positive(path, device, "queue/max_hw_sectors_kb"), _MOST_BLOCKS * block_bytes
            ),
        )
        _try_command(namespace, node)
        if write:
            # Pages written through the block device must not be written back over what commands write.
            os.fsync(block_fd)
        return namespace
    except OSError as error:
        os.close(fd)
        raise refused_by_kernel(node, "examining it", error) from None
    except BaseException:
        os.close(fd)
        raise


class _Command(ctypes.Structure):
    """``struct nvme_passthru_cmd``."""

    _fields_ = (
        ("opcode", ctypes.c_uint8),
        ("flags", ctypes.c_uint8),
        ("reserved", ctypes.c_uint16),
        ("nsid", ctypes.c_uint32),
        ("cdw2", ctypes.c_uint32),
        ("cdw3", ctypes.c_uint32),
        ("metadata", ctypes.c_uint64),
        ("address", ctypes.c_uint64),
        ("metadata_length", ctypes.c_uint32),
        ("data_length", ctypes.c_uint32),
        ("cdw10_to_15", ctypes.c_uint32 * 6),
        ("timeout_ms", ctypes.c_uint32),
        ("result", ctypes.c_uint32),
    )


def _try_command(namespace: Namespace, node: str) -> None:
    """Read the first block by a command. An error of the drive's is the run's to count; one of the kernel's is not."""
    buffer = ctypes.create_string_buffer(namespace.block_bytes)
    command = _Command(
        opcode=_READ,
        nsid=namespace.nsid,
        address=ctypes.addressof(buffer),
        data_length=namespace.block_bytes,
    )
    try:
        fcntl.ioctl(namespace.fd, _NVME_IOCTL_IO_CMD, command)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EPERM):
            raise TargetRefused(
                f"{node}: the kernel lets this user send no commands to it",
                hint="run as root (CAP_SYS_ADMIN), or let the user open it on Linux 6.2 or later; "
                f"or {_OTHERWISE}",
            ) from None
        raise


def _refuse_metadata(path: str, device: BlockDevice) -> None:
    """Refuse a namespace whose blocks have metadata: each command would have to carry it."""
    bytes_each = device.text("metadata_bytes")
    kind = device.text("integrity/format")
    if (bytes_each or "0") != "0" or (bytes_each is None and kind not in (None, "none")):
        raise TargetRefused(
            f"{path}: its blocks are formatted with metadata, which io_uring_cmd here does not carry",
            hint=f"{_OTHERWISE}, or format the namespace without metadata (nvme format)",
        )


def _positive(path: str, device: BlockDevice, attribute: str) -> int:
    text = device.text(attribute)
    if not text or not text.isdecimal() or not int(text):
        raise TargetRefused(
            f"{path}: sysfs does not say {attribute} of {device.name}, which NVMe commands need",
            hint=f"{_OTHERWISE}, or look at {device.directory}",
        )
    return int(text)


def _character(device: BlockDevice) -> Path | None:
    """Return the directory in sysfs of a namespace's character device."""
    names = _beside(device.directory, "ng", _number(device.name, "nvme"))
    return device.directory.parent / names[0] if names else None


def _beside(directory: Path, prefix: str, number: str | None) -> list[str]:
    """Return the names in the same directory with the prefix and number of a namespace."""
    return [
        name for name in names_in(directory.parent) if number is not None and _number(name, prefix) == number
    ]


def _number(name: str, prefix: str) -> str | None:
    """Return the number of a namespace in the name of its device.

    >>> _number("nvme0n1", "nvme"), _number("ng3n12", "ng"), _number("nvme0c1n1", "nvme"), _number("sda", "nvme")
    ('1', '12', None, None)
    """
    match = re.fullmatch(rf"{prefix}\d+n(\d+)", name)
    return match[1] if match else None
