"""Sends admin commands to an NVMe drive by the kernel's ioctl. Only commands that read are ever sent.

The descriptor may be of a controller (``/dev/nvme0``) or of a namespace (``/dev/nvme0n1``). Linux lets root send every
command, and others at most Identify. The kernel's own timeout applies: a shorter one would make it reset the drive.

Source: Linux, include/uapi/linux/nvme_ioctl.h and drivers/nvme/host/ioctl.c; NVM Express Base Specification 2.1,
"Status Field Definition" and the commands Get Features, Get Log Page and Identify.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from enum import IntEnum
from typing import Protocol

from iogauge.errors import IogaugeError

_ADMIN_COMMAND = 0xC0484E41
"""``NVME_IOCTL_ADMIN_CMD``: ``_IOWR('N', 0x41, struct nvme_passthru_cmd)``."""
_NAMESPACE_ID = 0x4E40
"""``NVME_IOCTL_ID``: ``_IO('N', 0x40)``."""
_COMMAND = struct.Struct("=BBHIIIQQII6III")
"""``struct nvme_passthru_cmd``: opcode, flags, a reserved field, namespace, command words 2 and 3, addresses of
metadata and data, their lengths, command words 10 to 15, timeout, result."""
_RESULT = struct.Struct("=I")

ALL_NAMESPACES = 0xFFFFFFFF


class Opcode(IntEnum):
    """The admin commands that may be sent: those that change nothing."""

    GET_LOG_PAGE = 0x02
    IDENTIFY = 0x06
    GET_FEATURES = 0x0A


class AdminError(IogaugeError):
    """A command did not succeed: the drive or the kernel refused it. ``hint`` says what to do."""


class Refused(AdminError):  # noqa: N818
    """The drive refused a command, with this status."""

    def __init__(self, name: str, status: int) -> None:
        super().__init__(f"the drive refused {name}: {status_text(status)}")
        self.status = status


class Admin(Protocol):
    """What answers admin commands: a drive, or a recording of one."""

    namespace_id: int
    """The namespace that the descriptor belongs to; 0: it belongs to a controller."""

    def identify(self, structure: int, namespace_id: int = 0) -> bytes:
        """Return the 4096 bytes of an Identify data structure, by its number (CNS). Raises AdminError."""
        ...

    def feature(self, feature: int, *, selector: int = 0, data_bytes: int = 0) -> tuple[int, bytes]:
        """Return the current value of a feature, 32 bits, and its data. Raises AdminError."""
        ...

    def log_page(self, page: int, size_bytes: int) -> bytes:
        """Return the first bytes of a log page, at most 4096 and a multiple of 4. Raises AdminError."""
        ...


class NvmeDevice:
    """An NVMe drive behind an open descriptor, which stays the caller's."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        try:
            self.namespace_id = fcntl.ioctl(fd, _NAMESPACE_ID)
        except OSError:
            self.namespace_id = 0

    def identify(self, structure: int, namespace_id: int = 0) -> bytes:
        """Return the 4096 bytes of an Identify data structure, by its number (CNS). Raises AdminError."""
        return self._send(Opcode.IDENTIFY, namespace_id, (structure,), 4096)[1]

    def feature(self, feature: int, *, selector: int = 0, data_bytes: int = 0) -> tuple[int, bytes]:
        """Return the current value of a feature, 32 bits, and its data. Raises AdminError.

        ``selector`` is command word 11, which some features need to say which of their values is meant.
        """
        return self._send(Opcode.GET_FEATURES, 0, (feature, selector), data_bytes)

    def log_page(self, page: int, size_bytes: int) -> bytes:
        """Return the first bytes of a log page, at most 4096 and a multiple of 4. Raises AdminError."""
        words = size_bytes // 4 - 1  # a 0's based number of 32-bit words
        return self._send(Opcode.GET_LOG_PAGE, ALL_NAMESPACES, (page | words << 16,), size_bytes)[1]

    def _send(
        self, opcode: Opcode, namespace_id: int, words: tuple[int, ...], size_bytes: int
    ) -> tuple[int, bytes]:
        """Send a command; return its result and the data that came back."""
        code = Opcode(opcode)  # raises ValueError for any command that is not on the list
        return send_admin(self._fd, code, namespace_id, words, bytes(size_bytes))


def send_admin(
    descriptor: int,
    opcode: IntEnum,
    namespace_id: int,
    words: tuple[int, ...],
    data: bytes = b"",
    *,
    timeout_ms: int = 0,
) -> tuple[int, bytes]:
    """Send one admin command; return its result and its data afterwards.

    Only for the doors that say which commands may be sent: ``NvmeDevice``, ``set_feature`` and ``erase``. ``words`` are
    command words 10 to 15, as far as they are not zero. ``timeout_ms`` 0 is the kernel's own, mostly a minute. Raises
    AdminError, and Refused if the drive itself refuses.
    """
    buffer = (ctypes.c_char * len(data)).from_buffer_copy(data)
    words += (0,) * (6 - len(words))
    address = ctypes.addressof(buffer) if data else 0
    command = bytearray(
        _COMMAND.pack(opcode, 0, 0, namespace_id, 0, 0, 0, address, 0, len(data), *words, timeout_ms, 0)
    )
    name = opcode.name.replace("_", " ").capitalize()
    try:
        status = fcntl.ioctl(descriptor, _ADMIN_COMMAND, command, True)
    except OSError as error:
        raise _kernel_error(name, error) from None
    if status:
        raise Refused(name, status)
    return _RESULT.unpack_from(command, _COMMAND.size - _RESULT.size)[0], buffer.raw


def _kernel_error(name: str, error: OSError) -> AdminError:
    hints = {
        errno.EACCES: "run as root",
        errno.EPERM: "run as root",
        errno.ENOTTY: "the kernel has no NVMe commands for this device",
        errno.ENODEV: "the drive has gone: look at dmesg",
        errno.EINTR: "the drive did not answer: look at dmesg",
    }
    reason = os.strerror(error.errno) if error.errno else str(error)
    return AdminError(
        f"the kernel refused {name}: {reason}", hint=hints.get(error.errno or 0, "look at dmesg")
    )


def status_text(status: int) -> str:
    """Return an NVMe status in words. Bits 7:0 are the code and bits 10:8 its type.

    >>> status_text(0x4002), status_text(0x109), status_text(0x7C1)
    ('invalid field in the command', 'invalid log page', 'vendor specific status C1h')
    """
    kind, code = status >> 8 & 7, status & 0xFF
    if words := _STATUS.get((kind, code)):
        return words
    return f"{_KINDS.get(kind, 'reserved')} status {code:02X}h"


_KINDS = {0: "generic", 1: "command specific", 2: "media", 3: "path", 7: "vendor specific"}
_STATUS = {
    (0, 0x00): "success",
    (0, 0x01): "invalid command",
    (0, 0x02): "invalid field in the command",
    (0, 0x04): "data transfer error",
    (0, 0x05): "aborted because of a power loss",
    (0, 0x06): "internal error",
    (0, 0x07): "aborted by request",
    (0, 0x08): "aborted because its queue was deleted",
    (0, 0x0B): "invalid namespace or format",
    (0, 0x0C): "command sequence error",
    (0, 0x15): "operation denied",
    (0, 0x1C): "a sanitize operation has failed",
    (0, 0x1D): "a sanitize operation is in progress",
    (0, 0x20): "the namespace is write protected",
    (0, 0x21): "interrupted: try again",
    (0, 0x22): "transient transport error",
    (0, 0x24): "the media are not ready",
    (0, 0x80): "block number out of range",
    (0, 0x81): "capacity exceeded",
    (0, 0x82): "the namespace is not ready",
    (0, 0x83): "reservation conflict",
    (0, 0x84): "a format is in progress",
    (1, 0x09): "invalid log page",
    (1, 0x0A): "invalid format",
    (1, 0x1D): "a self-test is in progress",
    (2, 0x80): "write fault",
    (2, 0x81): "unrecovered read error",
    (2, 0x82): "guard check error",
    (2, 0x83): "application tag check error",
    (2, 0x84): "reference tag check error",
    (2, 0x85): "compare failure",
    (2, 0x86): "access denied",
    (2, 0x87): "deallocated or unwritten block",
    (3, 0x00): "internal path error",
    (3, 0x60): "controller path error",
    (3, 0x70): "host path error",
    (3, 0x71): "aborted by the host",
}
"""Status by type and code: as far as reading, or an error log, meets them."""
