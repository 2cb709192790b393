"""Erases an NVMe namespace by a format, or an NVMe drive by a sanitize, if nothing else would be lost by it.

``target`` has cleared the namespace and holds it exclusively. Here, the drive must also be named by a serial number (a
path can come to name another drive), must say that it can, and must have no other namespace that would be erased too.
What cannot be read is a refusal.
"""

from __future__ import annotations

import contextlib
import fcntl
import re
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from iogauge.errors import IogaugeError
from iogauge.machine.nvme import identify
from iogauge.machine.nvme.admin import AdminError, Refused
from iogauge.machine.nvme.erase import (
    SANITIZE_LOG,
    SANITIZE_LOG_BYTES,
    Eraser,
    NvmeEraser,
    SanitizeAction,
    SanitizeState,
    SanitizeStatus,
    SecureErase,
    format_word,
    namespaces,
    parse_sanitize,
)
from iogauge.target import Target, TargetRefused
from iogauge.target.block import identities, names_serial
from iogauge.target.users.sysfs import HOST, BlockDevice, Host
from iogauge.text import numbers
from iogauge.text.option import option

By = Literal["format", "sanitize"]
Say = Callable[[str], None]

_BLKFLSBUF = 0x1261
"""``_IO(0x12, 97)``: drops what the page cache holds of a device."""
_POLL_S = 1.0
_INVALID_FIELD = 0x002
_STATUS_BITS = 0x7FF
_ACTIVE, _ALLOCATED = 0x02, 0x10
"""Identify: namespaces of this controller, and of the whole drive."""


@dataclass(frozen=True)
class Erasure:
    """A format or a sanitize that has passed all checks."""

    path: str
    by: By
    drive: Eraser
    format_by: tuple[SecureErase, ...] = ()
    """What to erase with, the preferred first."""
    action: SanitizeAction = SanitizeAction.BLOCK

    def run(self, say: Say, *, wait: Callable[[float], None] = time.sleep) -> str:
        """Erase, and return what was done as a clause. ``wait`` waits between two looks at a sanitize.

        Raises AdminError, and KeyboardInterrupt after a message that a sanitize continues in the drive.
        """
        return self._format(say) if self.by == "format" else self._sanitize(say, wait)

    def _format(self, say: Say) -> str:
        say(f"{self.path}: formatting, which may take minutes; Ctrl-C does not stop it")
        namespace = self.drive.identify(identify.NAMESPACE, self.drive.namespace_id)
        *preferred, last = self.format_by
        for erase in preferred:
            try:
                self.drive.format_namespace(format_word(namespace, erase))
            except Refused as refused:
                if refused.status & _STATUS_BITS != _INVALID_FIELD:
                    raise
            else:
                return _formatted(erase)
        self.drive.format_namespace(format_word(namespace, last))
        return _formatted(last)

    def _sanitize(self, say: Say, wait: Callable[[float], None]) -> str:
        look = f"'nvme sanitize-log {self.path}' shows how far it is"
        if expected_s := _state(self.drive).expected_s.get(self.action):
            say(f"{self.path}: sanitizing, which the drive expects to take {numbers.clock_time(expected_s)}")
        else:
            say(f"{self.path}: sanitizing")
        self.drive.sanitize(self.action)
        shown = 0
        try:
            while (state := _state(self.drive)).status is SanitizeStatus.RUNNING:
                if (tenths := int(10 * state.done_share)) > shown:
                    shown = tenths
                    say(f"{self.path}: sanitizing, {10 * tenths} % done")
                wait(_POLL_S)
        except KeyboardInterrupt:
            say(
                f"{self.path}: the sanitize continues in the drive, which refuses I/O until it is done; {look}"
            )
            raise
        except AdminError as error:
            raise IogaugeError(
                f"{self.path}: whether the sanitize is done is unknown: {error}",
                hint=f"it continues in the drive; {look}",
            ) from None
        if state.status not in (SanitizeStatus.DONE, SanitizeStatus.DONE_DEALLOCATED):
            raise IogaugeError(
                f"{self.path}: the drive did not complete the sanitize",
                hint=f"'nvme sanitize-log {self.path}' says what it reports, and dmesg what the kernel saw",
            )
        return f"sanitized ({'block' if self.action is SanitizeAction.BLOCK else 'crypto'} erase)"


def erasure_of(target: Target, by: By, *, destroy: Collection[str], host: Host = HOST) -> Erasure:
    """Return the erasure of a target that is open for writing. Raises TargetRefused."""
    path = target.facts.path
    discard = option("purge_by", "discard")
    device = BlockDevice.by_name(target.facts.device or "", host) if target.facts.kind == "block" else None
    if device is None or not re.fullmatch(r"nvme\d+n\d+", device.disk.name):
        raise no_namespace(path, by)
    if device.is_partition:
        raise TargetRefused(
            f"{path}: it cannot be purged by {by}, which would erase all of {device.disk.name}, of which it is a part",
            hint=f"name the whole namespace (/dev/{device.disk.name}), or {discard}",
        )
    if not names_serial(destroy, device, host):
        known = identities(device, host)
        raise TargetRefused(
            f"{path}: to purge it by {by}, {option('destroy')} must name the drive by its serial number, not by a path",
            hint=f"if all of it may be lost, add {option('destroy', known[0])}"
            if known
            else f"the drive has no serial number of its own: choose {discard}",
        )
    return checked(path, by, NvmeEraser(target.fd))


def no_namespace(path: str, by: By) -> TargetRefused:
    """Return the refusal of a target that is no NVMe namespace."""
    return TargetRefused(
        f"{path}: it cannot be purged by {by}: only an NVMe namespace can",
        hint=f"choose another target (/dev/nvme0n1), or {option('purge_by', 'discard')}",
    )


def checked(path: str, by: By, drive: Eraser) -> Erasure:
    """Return the erasure of a drive that offers it and has nothing else to lose. Raises TargetRefused."""
    discard = option("purge_by", "discard")
    try:
        if not drive.namespace_id:
            raise AdminError("the kernel does not say which namespace it is")
        controller = identify.parse_controller(drive.identify(identify.CONTROLLER))
        others = _other_namespaces(drive, controller)
        state = _state(drive) if by == "sanitize" and controller.sanitize else None
    except IogaugeError as error:
        raise TargetRefused(
            f"{path}: it cannot be purged by {by}: whether that is safe cannot be read: {error}",
            hint=error.hint or f"choose {discard}",
        ) from None
    offered = "format" in controller.admin_commands if by == "format" else bool(_action(controller.sanitize))
    if not offered:
        overwrites = by == "sanitize" and identify.OVERWRITE in controller.sanitize
        reason = "sanitizes by overwriting alone, which wears it" if overwrites else f"does not offer a {by}"
        other = f"{option('purge_by', 'format')} or " if "format" in controller.admin_commands else ""
        raise TargetRefused(
            f"{path}: it cannot be purged by {by}: the drive {reason}", hint=f"choose {other}{discard}"
        )
    if others and (
        by == "sanitize" or {identify.FORMATS_ALL, identify.ERASES_ALL} & set(controller.format_attributes)
    ):
        raise TargetRefused(
            f"{path}: it cannot be purged by {by}: the drive would also erase its "
            f"{'namespaces' if len(others) > 1 else 'namespace'} {numbers.listed([str(other) for other in others])}",
            hint=f"choose {discard}, or delete those namespaces first (nvme delete-ns)",
        )
    if state is not None and state.status is SanitizeStatus.RUNNING:
        raise TargetRefused(
            f"{path}: a sanitize is running already", hint=f"'nvme sanitize-log {path}' shows how far it is"
        )
    crypto = (SecureErase.CRYPTO,) if identify.ERASES_BY_KEY in controller.format_attributes else ()
    return Erasure(
        path,
        by,
        drive,
        format_by=(SecureErase.USER_DATA, *crypto),
        action=_action(controller.sanitize) or SanitizeAction.BLOCK,
    )


def drop_cache(target: Target) -> None:
    """Drop what the page cache holds of an erased device."""
    with contextlib.suppress(OSError):
        fcntl.ioctl(target.fd, _BLKFLSBUF)


def _other_namespaces(drive: Eraser, controller: identify.Controller) -> list[int]:
    """Return the numbers of the drive's other namespaces. Raises AdminError if they cannot be read."""
    if controller.namespaces == 1:
        return []
    lists = [_ACTIVE, *([_ALLOCATED] if "namespace management" in controller.admin_commands else [])]
    known = {name for kind in lists for name in namespaces(drive.identify(kind))}
    return sorted(known - {drive.namespace_id})


def _action(offered: Collection[str]) -> SanitizeAction | None:
    """Return how to sanitize; None: the drive offers nothing but overwriting, which wears flash."""
    if identify.BLOCK_ERASE in offered:
        return SanitizeAction.BLOCK
    return SanitizeAction.CRYPTO if identify.CRYPTO_ERASE in offered else None


def _state(drive: Eraser) -> SanitizeState:
    return parse_sanitize(drive.log_page(SANITIZE_LOG, SANITIZE_LOG_BYTES))


def _formatted(erase: SecureErase) -> str:
    return f"formatted ({'user data' if erase is SecureErase.USER_DATA else 'crypto'} erase)"
