"""A filesystem of one file whose requests fail, hang or stop, when a test says so: FUSE's protocol, spoken directly.

Needs root (it mounts) and nothing else. The file is called ``data``. A request that hangs is answered when the
filesystem is unmounted: the kernel then aborts it. Layouts and numbers are those of the kernel's fuse.h, protocol 7.31.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
import threading
import time
from collections.abc import Iterator
from pathlib import Path

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC = (
    1,
    2,
    3,
    4,
    14,
    15,
    16,
    17,
    18,
    20,
)
SETXATTR, GETXATTR, FLUSH, INIT, INTERRUPT, DESTROY, BATCH_FORGET = 21, 22, 25, 26, 36, 38, 42
DIRECT_IO = 1
ROOT, FILE = 1, 2
HEADER = struct.Struct("<IIQQIIII")
MNT_DETACH = 2
COUNTED_BYTES = 8192

libc = ctypes.CDLL(None, use_errno=True)


class Unreliable:
    """The filesystem. Requests of 8 KiB are counted, and go wrong from the given one on; None: never.

    Others, such as a look at the file before a run, are always answered.
    """

    def __init__(self, mountpoint: Path, *, size_bytes: int = 64 << 20) -> None:
        self.mountpoint = mountpoint
        self.path = mountpoint / "data"
        self.size_bytes = size_bytes
        self.fail_after: int | None = None
        self.hang_after: int | None = None
        self.truncate_after: int | None = None
        self.unanswered: set[int] = set()
        """Kinds of requests that wait until ``answer`` is called, or for ever."""
        self._waiting: list[tuple[int, int, int, bytes]] = []
        self.hung = 0
        self.seen = 0
        self._fd = -1
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def mount(self) -> None:
        """Mount it and serve it from a thread of this process."""
        self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        failed = libc.mount(b"unreliable", bytes(self.mountpoint), b"fuse", 0, options.encode())
        if failed:
            raise OSError(ctypes.get_errno(), "mounting FUSE")
        self._thread.start()

    def unmount(self) -> None:
        """Abort what hangs and unmount."""
        libc.umount2(bytes(self.mountpoint), MNT_DETACH | 1)  # MNT_FORCE aborts requests.
        os.close(self._fd)
        self._thread.join(5)

    def answer(self) -> None:
        """Answer what waits, and from now on everything."""
        self.unanswered = set()
        for request in self._waiting:
            self._answer(*request)

    def _serve(self) -> None:
        while True:
            try:
                message = os.read(self._fd, (1 << 20) + (1 << 16))
            except OSError as error:
                if error.errno in (errno.ENODEV, errno.EBADF):
                    return
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                return
            _, opcode, unique, node, *_ = HEADER.unpack_from(message)
            with contextlib.suppress(OSError):
                self._answer(opcode, unique, node, message[HEADER.size :])

    def _answer(self, opcode: int, unique: int, node: int, body: bytes) -> None:
        if opcode in (FORGET, BATCH_FORGET, INTERRUPT):
            return
        if opcode in self.unanswered:
            self.hung += 1
            self._waiting.append((opcode, unique, node, body))
            return
        answer: bytes | int
        if opcode == INIT:
            answer = struct.pack("<IIIIHHIIHHI28x", 7, 31, 1 << 20, 0, 16, 12, 1 << 20, 1, 256, 0, 0)
        elif opcode == LOOKUP:
            is_data = body.rstrip(b"\0") == b"data"
            answer = (
                struct.pack("<QQQQII", FILE, 1, 0, 0, 0, 0) + self._attributes(FILE)
                if is_data
                else -errno.ENOENT
            )
        elif opcode in (GETATTR, SETATTR):
            answer = struct.pack("<QII", 0, 0, 0) + self._attributes(node)
        elif opcode == OPEN:
            answer = struct.pack("<QIi", 0, DIRECT_IO, 0)
        elif opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            trouble = self._trouble(size)
            if trouble is None:
                return
            answer = trouble or b"\x5a" * max(0, min(size, self.size_bytes - offset))
        elif opcode == WRITE:
            _, _, size = struct.unpack_from("<QQI", body)
            trouble = self._trouble(size)
            if trouble is None:
                return
            answer = trouble or struct.pack("<II", size, 0)
        elif opcode == STATFS:
            answer = struct.pack("<QQQQQIII28x", 1 << 30, 1 << 29, 1 << 29, 100, 50, 4096, 255, 4096)
        elif opcode in (RELEASE, FLUSH, FSYNC, DESTROY):
            answer = b""
        elif opcode in (SETXATTR, GETXATTR):
            answer = -errno.EOPNOTSUPP
        else:
            answer = -errno.ENOSYS
        error = answer if isinstance(answer, int) else 0
        data = b"" if isinstance(answer, int) else answer
        os.write(self._fd, struct.pack("<IiQ", 16 + len(data), error, unique) + data)

    def _trouble(self, size: int) -> int | None:
        """0: all is well. None: never answer. Otherwise the negative errno."""
        if size != COUNTED_BYTES:
            return 0
        self.seen += 1
        if self.truncate_after is not None and self.seen > self.truncate_after:
            self.size_bytes = 0
        if self.hang_after is not None and self.seen > self.hang_after:
            self.hung += 1
            return None
        return -errno.EIO if self.fail_after is not None and self.seen > self.fail_after else 0

    def _attributes(self, node: int) -> bytes:
        now = int(time.time())
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o644
        size = 4096 if node == ROOT else self.size_bytes
        times = (now, now, now, 0, 0, 0)
        return struct.pack(
            "<QQQQQQIIIIIIIIII",
            node,
            size,
            -(-size // 512),
            *times[:3],
            *times[3:],
            mode,
            1,
            0,
            0,
            0,
            4096,
            0,
        )


@contextlib.contextmanager
def unreliable(folder: Path, *, size_bytes: int = 64 << 20) -> Iterator[Unreliable]:
    """Mount one below ``folder`` for the length of a test."""
    mountpoint = folder / "mnt"
    mountpoint.mkdir()
    filesystem = Unreliable(mountpoint, size_bytes=size_bytes)
    filesystem.mount()
    try:
        yield filesystem
    finally:
        filesystem.unmount()
