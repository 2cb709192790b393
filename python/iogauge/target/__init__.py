"""Opens targets: drives, files and drive models. Nothing else in iogauge decides whether a target may be written.

``open_target`` opens a block device or a regular file and refuses whatever could destroy data. The target stays open
during the run; a block device to be written is held exclusively.

- *In use* (mounted, swap, held by device-mapper or md, behind a loop device, opened exclusively by another program):
  always refused. ``--destroy`` allows content to be lost, not a running system to be damaged.
- *Holds data* (signature, partition table, a file that iogauge did not make): refused unless ``destroy`` names exactly
  this target: by path, or for a device by a serial number that no other disk shares.
- *Not a target* (directory, pipe, socket, character device): refused. ``commands`` takes the character device of an
  NVMe namespace, and has the refusals of its block device.

Source: fio #1550, #1007 and #1637 (targets that hold partitions or file systems).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Collection

from iogauge.schema import State
from iogauge.target.block import open_block
from iogauge.target.file import create_file, open_file
from iogauge.target.handle import Target
from iogauge.target.modelled import ModelTarget, is_model, open_model
from iogauge.target.namespace import Namespace, block_device_of
from iogauge.target.refusal import TargetRefused, refused_by_kernel
from iogauge.text.option import option

__all__ = ["ModelTarget", "Namespace", "Target", "TargetRefused", "is_model", "open_target"]

_KINDS: tuple[tuple[Callable[[int], bool], str, str], ...] = (
    (stat.S_ISDIR, "a directory", "name a file in it, or the block device below it"),
    (
        stat.S_ISCHR,
        "a character device",
        "use the block device (/dev/nvme0n1, not /dev/nvme0), or for /dev/ng0n1 ioengine=io_uring_cmd",
    ),
    (stat.S_ISFIFO, "a pipe", "name a block device or a regular file"),
    (stat.S_ISLNK, "a symbolic link that leads in a circle", "name the block device or the file itself"),
    (stat.S_ISSOCK, "a socket", "name a block device or a regular file"),
)


def open_target(
    path: str,
    *,
    write: bool,
    size_bytes: int | None = None,
    destroy: Collection[str] = (),
    readonly: bool = False,
    on_message: Callable[[str], None] | None = None,
    state: State = "as-is",
    commands: bool = False,
) -> Target:
    """Open the block device or file at ``path``, for writing only after all checks; or load a drive model.

    A missing file is created with ``size_bytes`` of random data, for reading too. A smaller file is extended if iogauge
    made it. Devices ignore ``size_bytes``. ``destroy`` holds the serial numbers and paths whose content may be lost.
    ``readonly`` refuses to create or extend a file. ``on_message`` takes messages about long work and about content
    that ``destroy`` gave up. ``state`` is the state in which a model's flash starts its runs; real targets ignore it.
    ``commands`` also opens the way of NVMe commands to a namespace, which its character device may name, too.
    This call blocks if the target hangs; call ``answering`` first.

    A device that is already open for writing is refused, even if this process opened it.

    Raises TargetRefused, which names the reason and a remedy. A KeyboardInterrupt during the layout of a file passes
    through; the file is kept, and the next call continues the layout.

    >>> import tempfile, os
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_target(os.path.join(folder, "new.bin"), write=True, size_bytes=1 << 20) as target:
    ...         target.size_bytes, target.writable, target.facts.kind
    (1048576, True, 'file')
    """
    if is_model(path):
        return open_model(path, state=state)
    say = on_message or (lambda _: None)
    real_path = _resolve(path, commands=commands)
    try:
        node = os.open(real_path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        if commands:
            raise _no_namespace(path, "there is no such device") from None
        if readonly:
            raise _not_laid_out(path, "there is no such file") from None
        return create_file(real_path, path, write=write, size_bytes=size_bytes, say=say)
    except OSError as error:
        raise refused_by_kernel(path, "opening it", error) from None
    try:
        mode = os.fstat(node).st_mode
        if stat.S_ISBLK(mode):
            target = open_block(node, path, write=write, destroy=destroy, commands=commands)
        elif commands:
            raise _no_namespace(path, "this is no NVMe namespace")
        elif stat.S_ISREG(mode):
            if readonly and (size_bytes or 0) > os.fstat(node).st_size:
                raise _not_laid_out(path, f"the file is smaller than {size_bytes} bytes")
            target = open_file(
                node, real_path, path, write=write, size_bytes=size_bytes, destroy=destroy, say=say
            )
        else:
            kind, hint = next(
                ((kind, hint) for test, kind, hint in _KINDS if test(mode)), ("of an unknown kind", "")
            )
            raise TargetRefused(f"{path}: it is {kind}, not a block device or a file", hint=hint or None)
    finally:
        os.close(node)
    for note in target.notes:
        say(note)
    return target


def _no_namespace(path: str, reason: str) -> TargetRefused:
    return TargetRefused(
        f"{path}: io_uring_cmd sends NVMe commands, and {reason}",
        hint="name a namespace (/dev/ng0n1, /dev/nvme0n1), or use ioengine=io_uring",
    )


def _not_laid_out(path: str, reason: str) -> TargetRefused:
    return TargetRefused(
        f"{path}: {reason}, and {option('readonly', True)} keeps it from being laid out",
        hint=f"run the job once without {option('readonly', True)}, or name a file that is large enough",
    )


def _resolve(path: str, *, commands: bool) -> str:
    """Resolve all symbolic links; the last part of the path may be missing.

    For ``commands``, the character device of a namespace leads to its block device.
    """
    if not path or "\0" in path:
        raise TargetRefused(f"{path!r}: not a path", hint="name a block device or a file")
    try:
        path.encode()
    except UnicodeEncodeError:
        raise TargetRefused(
            f"{path!r}: its name is not UTF-8, so results cannot record it",
            hint="name it by a symbolic link with a UTF-8 name",
        ) from None
    try:
        real = os.path.realpath(path)
    except OSError as error:
        raise refused_by_kernel(path, "resolving it", error) from None
    device = block_device_of(real) if commands else None
    return f"/dev/{device.name}" if device else real
