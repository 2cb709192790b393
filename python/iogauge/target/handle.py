"""An open target that was cleared: what ``open_target`` hands out, and what the engines are given.

Owns the descriptor. For a block device opened for writing it is exclusive (O_EXCL) as long as it lives, so that
nothing can be mounted on the device meanwhile; engines open ``/proc/self/fd/FD`` again with flags of their own.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from types import TracebackType

from iogauge.schema import TargetFacts


class Target:
    """A cleared target. A context manager: leaving it closes the descriptor."""

    def __init__(
        self,
        fd: int,
        *,
        facts: TargetFacts,
        writable: bool,
        notes: tuple[str, ...] = (),
        on_close: Callable[[int], None] | None = None,
    ) -> None:
        self._fd = fd
        self._on_close = on_close
        self.facts = facts
        self.writable = writable
        self.notes = notes
        """What was let pass and why, in words: a signature overridden by --destroy."""

    @property
    def fd(self) -> int:
        """The open descriptor. Raises ValueError once closed."""
        if self._fd < 0:
            raise ValueError(f"{self.facts.path}: the target is closed")
        return self._fd

    @property
    def size_bytes(self) -> int:
        """Size of the whole file or device when it was opened."""
        return self.facts.size_bytes

    def close(self) -> None:
        """Close the descriptor. Again has no effect."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        try:
            if self._on_close is not None:
                self._on_close(fd)
        finally:
            # The kernel lets go of the descriptor even where close() reports an old write error (EIO);
            # engines have reported that error on the request itself.
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
