"""Erases an NVMe drive: the commands Format NVM and Sanitize, and the log that shows how far a sanitize is.

This is the only door by which a drive's content is erased by command. ``execution.purging`` opens it, after ``target``
has cleared the namespace for writing. A format keeps the block format, metadata and protection of the namespace.

Source: NVM Express Base Specification 2.1, commands Format NVM and Sanitize, log page "Sanitize Status"; NVM Command
Set Specification 1.1, "Identify Namespace Data Structure" (FLBAS, DPS).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

from iogauge.machine.nvme.admin import Admin, NvmeDevice, send_admin
from iogauge.machine.nvme.fields import check_size, number

SANITIZE_LOG = 0x81
SANITIZE_LOG_BYTES = 512
_FORMAT_MS = 24 * 60 * 60 * 1000
"""A format answers when it is done, which takes minutes to hours. At a timeout the kernel resets the drive."""
_WHOLE = 1 << 16
_NO_ESTIMATE = 0xFFFFFFFF
_UNRESTRICTED = 1 << 3
"""After a failure the drive may be used again; otherwise it refuses I/O until a sanitize succeeds."""


class EraseOpcode(IntEnum):
    """The admin commands that this door may send."""

    FORMAT_NVM = 0x80
    SANITIZE = 0x84


class SecureErase(IntEnum):
    """What a format erases with (SES)."""

    USER_DATA = 1
    CRYPTO = 2


class SanitizeAction(IntEnum):
    """How a sanitize erases (SANACT)."""

    BLOCK = 2
    CRYPTO = 4


class SanitizeStatus(IntEnum):
    """What became of the latest sanitize (SSTAT)."""

    NEVER = 0
    DONE = 1
    RUNNING = 2
    FAILED = 3
    DONE_DEALLOCATED = 4


@dataclass(frozen=True)
class SanitizeState:
    """The sanitize log."""

    status: SanitizeStatus | None
    """None: a status that the specification does not have."""
    done_share: float
    """How much of a running sanitize is done, 0 to 1."""
    expected_s: dict[SanitizeAction, int]
    """How long the drive expects a sanitize to take; actions without an estimate are left out."""


class Eraser(Admin, Protocol):
    """What can be erased by command: a drive, or a recording of one."""

    def format_namespace(self, word: int) -> None:
        """Format the namespace by command word 10, and return when it is done. Raises AdminError."""
        ...

    def sanitize(self, action: SanitizeAction) -> None:
        """Start to sanitize the whole drive, all its namespaces. Raises AdminError."""
        ...


class NvmeEraser(NvmeDevice):
    """An NVMe namespace behind a descriptor that is open for writing, which stays the caller's."""

    def format_namespace(self, word: int) -> None:
        """Format the namespace by command word 10, and return when it is done. Raises AdminError."""
        if not self.namespace_id:
            raise ValueError("a format of no namespace would be one of the whole drive")
        send_admin(self._fd, EraseOpcode.FORMAT_NVM, self.namespace_id, (word,), timeout_ms=_FORMAT_MS)

    def sanitize(self, action: SanitizeAction) -> None:
        """Start to sanitize the whole drive, all its namespaces. Raises AdminError."""
        send_admin(self._fd, EraseOpcode.SANITIZE, 0, (SanitizeAction(action) | _UNRESTRICTED,))


def format_word(namespace: bytes, erase: SecureErase) -> int:
    """Return command word 10 of a format that keeps what Identify Namespace, 4096 bytes, says is in use.

    Raises MalformedError unless there are 4096 bytes.

    >>> namespace = bytearray(4096)
    >>> namespace[26], namespace[29] = 0b1_0011, 0b1_001  # format 3, metadata with the data; protection 1, in front
    >>> bin(format_word(bytes(namespace), SecureErase.USER_DATA))
    '0b1100110011'
    """
    check_size(namespace, 4096, "Identify Namespace structure")
    formats, in_use, protection = namespace[25] + 1, namespace[26], namespace[29]
    upper = in_use >> 5 & 3 if formats > 16 else 0
    return (
        in_use & 31  # the format's index, and whether its metadata lie with the data
        | (protection & 7) << 5
        | (protection >> 3 & 1) << 8
        | SecureErase(erase) << 9
        | upper << 12
    )


def namespaces(data: bytes) -> tuple[int, ...]:
    """Parse a list of namespaces (Identify, CNS 02h and 10h), 4096 bytes. Raises MalformedError.

    >>> namespaces(bytes([1, 0, 0, 0, 3]).ljust(4096, b"\\0"))
    (1, 3)
    """
    check_size(data, 4096, "list of namespaces")
    return tuple(name for at in range(0, 4096, 4) if (name := number(data, at, 4)))


def parse_sanitize(data: bytes) -> SanitizeState:
    """Parse log page 81h, 512 bytes. Raises MalformedError."""
    check_size(data, SANITIZE_LOG_BYTES, "sanitize log")
    status = number(data, 2, 2) & 7
    estimates = {SanitizeAction.BLOCK: number(data, 12, 4), SanitizeAction.CRYPTO: number(data, 16, 4)}
    return SanitizeState(
        status=SanitizeStatus(status) if status in tuple(SanitizeStatus) else None,
        done_share=number(data, 0, 2) / _WHOLE,
        expected_s={
            action: time_s for action, time_s in estimates.items() if time_s not in (0, _NO_ESTIMATE)
        },
    )
