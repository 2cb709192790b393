"""Opens a block device, after the checks that allow writing to it.

The device is first opened exclusively and then examined through that descriptor, so that nothing can mount it in
between. There are three reasons to refuse. *In use* (mounted, swap, held, attached) is never overridden. *Content* (a
signature) and *doubt* (it cannot be read) are overridden if ``--destroy`` names this device.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sys
from collections.abc import Collection

from iogauge.target.facts import facts_of, serials
from iogauge.target.handle import Target
from iogauge.target.namespace import character_number, open_namespace, real_path
from iogauge.target.noise import foreign_content
from iogauge.target.refusal import TargetRefused, refused_by_kernel
from iogauge.target.signatures import blkid_signatures, reader_of, signatures
from iogauge.target.users.locks import foreign_lock
from iogauge.target.users.openers import processes_with_open
from iogauge.target.users.sysfs import HOST, BlockDevice, Host, number_of
from iogauge.target.users.usage import Usage, Use
from iogauge.text.option import option

_BLKGETDISKSEQ = 0x80081280


def open_block(
    node: int,
    path: str,
    *,
    write: bool,
    destroy: Collection[str],
    commands: bool = False,
    host: Host = HOST,
) -> Target:
    """Open the block device whose node the descriptor ``node`` (O_PATH) holds; check it first if ``write``.

    Reading needs no check. ``commands`` also opens the character device that takes NVMe commands, after the same
    checks. Raises TargetRefused.
    """
    number = number_of(os.fstat(node).st_rdev)
    flags = (os.O_RDWR | os.O_EXCL if write else os.O_RDONLY) | os.O_CLOEXEC
    try:
        fd = os.open(f"/proc/self/fd/{node}", flags)
    except OSError as error:
        raise _unopened(path, error, number, write=write, host=host) from None
    try:
        notes = _clear(fd, path, number, destroy=destroy, host=host) if write else ()
        size_bytes = os.lseek(fd, 0, os.SEEK_END)
        if size_bytes == 0:
            raise refused_by_kernel(path, "using it", OSError(errno.ENOMEDIUM, ""))
        facts = facts_of(fd, path, size_bytes=size_bytes, host=host)
        namespace = None
        if commands:
            namespace = open_namespace(fd, path, _known(path, number, host), write=write)
        return Target(fd, facts=facts, writable=write, notes=notes, namespace=namespace)
    except OSError as error:
        os.close(fd)
        raise refused_by_kernel(path, "examining it", error) from None
    except BaseException:
        os.close(fd)
        raise


def _clear(fd: int, path: str, number: str, *, destroy: Collection[str], host: Host) -> tuple[str, ...]:
    """Return notes on the content that ``--destroy`` gives up. Raises TargetRefused if writing is not allowed."""
    device = _known(path, number, host)
    if not _describes(device, fd):
        raise TargetRefused(
            f"{path}: the device was replaced while it was being examined", hint="start again"
        )
    usage = Usage(host)
    if uses := usage.of_device(device):
        raise _in_use(path, uses)
    parts = {device.number, device.disk.number, *(part.number for part in device.partitions)}
    character = character_number(device.disk)
    if writers := processes_with_open(parts, host, write=True, characters={character} if character else ()):
        raise TargetRefused(
            f"{path}: it is in use: open for writing in {_listed(writers)}",
            hint=f"end that first; {_not_overridden()}",
        )
    if lock := foreign_lock(fd):
        raise TargetRefused(f"{path}: it is in use: {lock}", hint=f"end that use first; {_not_overridden()}")
    if uses := usage.of_backing_files(device):
        raise _in_use(path, uses)
    if device.text("ro") == "1":
        # Linux opens a read-only device for writing, and then fails every write.
        raise _read_only(path)
    content = _content(fd, device)
    named = names_device(destroy, path, device, host)
    if destroy and not named:
        raise TargetRefused(
            f"{path}: {option('destroy')} names {_listed(destroy)}, which is not this device: "
            f"{_identity(path, device)}",
            hint="check that this is the device you mean, then name it exactly, by serial number or path",
        )
    if content and not named:
        raise TargetRefused(
            f"{path}: it holds data: {_listed(content)} ({_identity(path, device)})",
            hint=f"if all of it may be lost, add {option('destroy', _confirmation(path, device, host))}",
        )
    return (f"{path}: overwriting {_listed(content)}, as {option('destroy')} allows",) if content else ()


def _known(path: str, number: str, host: Host) -> BlockDevice:
    device = BlockDevice.by_number(number, host)
    if device is None:
        raise TargetRefused(
            f"{path}: sysfs does not know device {number}, so iogauge cannot tell whether it is in use",
            hint=f"make {host.sys} visible here (mount -t sysfs sysfs {host.sys})",
        )
    return device


def _not_overridden() -> str:
    return f"{option('destroy')} does not apply to what is in use"


def names_device(destroy: Collection[str], path: str, device: BlockDevice, host: Host = HOST) -> bool:
    """Return whether ``destroy`` names this device: by a path to it, or by an identity that no other disk shares.

    Two disks can share a serial number (NVMe namespaces of one controller, cheap USB bridges). It names neither.
    """
    real = real_path(path, host)
    by_path = any(
        name == path or (name.startswith("/") and real_path(name, host) == real) for name in destroy
    )
    return by_path or names_serial(destroy, device, host)


def names_serial(destroy: Collection[str], device: BlockDevice, host: Host = HOST) -> bool:
    """Return whether ``destroy`` names this device by an identity that no other disk shares."""
    return not set(identities(device, host)).isdisjoint(destroy)


def identities(device: BlockDevice, host: Host = HOST) -> list[str]:
    """Return the identities of a device's disk that no other disk shares, the plain serial number first."""
    return [name for name in serials(device) if not _shared(name, device, host)]


def _describes(device: BlockDevice, fd: int) -> bool:
    """Return whether sysfs describes the disk behind the descriptor: only sequence numbers are never reused."""
    try:
        answer = fcntl.ioctl(fd, _BLKGETDISKSEQ, bytes(8))
    except OSError:
        return True  # Before Linux 5.15 there are none.
    return device.disk.text("diskseq") in (None, str(int.from_bytes(answer, sys.byteorder)))


def _shared(serial: str, device: BlockDevice, host: Host) -> bool:
    others = (other for other in BlockDevice.all(host) if not other.is_partition)
    return any(other.directory != device.disk.directory and serial in serials(other) for other in others)


def _content(fd: int, device: BlockDevice) -> list[str]:
    """Return the names of recognised content. The kernel's partitions count even if their table is gone."""
    size_bytes = os.lseek(fd, 0, os.SEEK_END)
    content = [f"partition {partition.name}" for partition in device.partitions]
    read = reader_of(fd)
    try:
        kinds = signatures(read, size_bytes)
        # blkid has other names for the same content, so it runs only if nothing was recognised here.
        content += kinds or blkid_signatures(fd)
        if not content and (at := foreign_content(read, size_bytes)) is not None:
            content.append(f"unrecognised content at byte {at} (neither zeros nor written by iogauge)")
    except OSError as error:
        return [*content, f"unknown content, since reading it failed ({os.strerror(error.errno or 0)})"]
    finally:
        # The check's reads must not serve the measurement from the page cache.
        with contextlib.suppress(OSError):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return content


def _unopened(path: str, error: OSError, number: str, *, write: bool, host: Host) -> TargetRefused:
    """Return why the device cannot be opened. "In use" comes before any other reason."""
    device = BlockDevice.by_number(number, host) if write else None
    if device is not None and (uses := Usage(host).of_device(device)):
        return _in_use(path, uses)
    if device is not None and error.errno == errno.EBUSY:
        return _busy(path, device, host)
    if device is not None and device.text("ro") == "1":
        return _read_only(path)
    if error.errno == errno.EPERM:
        return TargetRefused(
            f"{path}: opening it failed: {os.strerror(errno.EPERM)}",
            hint="a container needs the device among its allowed ones (docker run --device)",
        )
    return refused_by_kernel(path, "opening it", error)


def _busy(path: str, device: BlockDevice, host: Host) -> TargetRefused:
    programs = processes_with_open({device.number}, host)
    who = (
        f"open in {_listed(programs)}"
        if programs
        else "held by the kernel or by a program that we cannot see"
    )
    return TargetRefused(
        f"{path}: it cannot be opened exclusively: {who}",
        hint=f"end that use (a mount in another namespace, RAID, multipath, another test) first; {_not_overridden()}",
    )


def _read_only(path: str) -> TargetRefused:
    return TargetRefused(
        f"{path}: the device is read-only", hint=f"blockdev --setrw {path}, or choose another device"
    )


def _in_use(path: str, uses: list[Use]) -> TargetRefused:
    remedies = "; ".join(dict.fromkeys(use.remedy for use in uses[:3]))
    return TargetRefused(
        f"{path}: it is in use: {_listed([use.what for use in uses], most=3)}",
        hint=f"{remedies}; {_not_overridden()}",
    )


def _identity(path: str, device: BlockDevice) -> str:
    known = serials(device)
    return f"{real_path(path)}, {f'serial {known[0]}' if known else 'no serial number'}"


def _confirmation(path: str, device: BlockDevice, host: Host) -> str:
    for serial in serials(device)[:1]:
        if not _shared(serial, device, host) and not set(serial) & set(" '\"$\\"):
            return serial
    return real_path(path, host)


def _listed(things: Collection[str], *, most: int = 5) -> str:
    shown = list(things)[:most]
    return ", ".join(shown) + (f" and {len(things) - most} more" if len(things) > most else "")
