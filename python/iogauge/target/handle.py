"""An open target that has passed its checks: ``open_target`` returns it, and the engines use it.

It owns the descriptor. A block device opened for writing is held exclusively (O_EXCL), so that nobody can mount it
during the run. Engines open ``/proc/self/fd/FD`` again with their own flags. A target of NVMe commands also owns the
descriptor of its character device.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from types import TracebackType

from iogauge.schema import TargetFacts
from iogauge.target.namespace import Namespace


class Target:
    """A target that has passed its checks. As a context manager it closes the descriptor at its end."""

    def __init__(
        self,
        fd: int,
        *,
        facts: TargetFacts,
        writable: bool,
        notes: tuple[str, ...] = (),
        on_close: Callable[[int], None] | None = None,
        namespace: Namespace | None = None,
    ) -> None:
        self._fd = fd
        self._on_close = on_close
        self.facts = facts
        self.writable = writable
        self.namespace = namespace
        """How NVMe commands reach it; None: they do not."""
        self.notes = notes
        """Messages about content that --destroy gave up."""

    @property
    def fd(self) -> int:
        """The open descriptor. Raises ValueError once closed."""
        if self._fd < 0:
            raise ValueError(f"{self.facts.path}: the target is closed")
        return self._fd

    @property
    def size_bytes(self) -> int:
        """The size of the file or device when it was opened."""
        return self.facts.size_bytes

    def close(self) -> None:
        """Close the descriptor. A second call has no effect."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            if self._on_close is not None:
                self._on_close(fd)
            if self.namespace is not None:
                os.close(self.namespace.fd)
                # What commands wrote is not in the block device's cache.
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            # The kernel frees the descriptor even if close() reports an old write error (EIO). The engine has
            # already reported that error for its request.
            with contextlib.suppress(OSError):
                os.close(fd)

    def __enter__(self) -> Target:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
