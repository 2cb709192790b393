"""The door to tracefs: an instance of its own, in which nothing of other programs' tracing is seen or changed.

Its buffers and switches go when it is removed, at the latest when the next command of root begins (``remove_left``):
``Instance`` holds a file of it open, so the kernel refuses to remove it while its process lives, and nothing else tells
a dead one from a live one. As the process dies, the kernel itself switches the recording off (``free_buffer`` with
``disable_on_free``).

Source: the kernel's Documentation/trace/ftrace.rst, "Instances" and "free_buffer".
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from iogauge.errors import IogaugeError

MOUNTS = (Path("/sys/kernel/tracing"), Path("/sys/kernel/debug/tracing"))
_PREFIX = "iogauge-"
_ATTEMPTS = 10
"""To make an instance: until it is held, another process may take it for one that was left."""


def mounted(places: tuple[Path, ...] = MOUNTS) -> Path:
    """Return where tracefs is mounted. Raises IogaugeError if it is not, or if only root may use it."""
    for place in places:
        if os.access(place / "instances", os.W_OK):
            return place
    if os.geteuid() != 0:
        raise IogaugeError("only root may trace requests", hint="run it as root")
    raise IogaugeError(
        f"tracefs is not mounted at {places[0]}, or the kernel lacks tracing",
        hint=f"mount -t tracefs tracefs {places[0]}",
    )


class Instance:
    """An instance of tracefs, which exists until ``close``; a context manager."""

    def __init__(self, root: Path) -> None:
        """Make it. First remove the instances of processes that died. Raises IogaugeError if it cannot be made."""
        self._directory = root / "instances" / f"{_PREFIX}{os.getpid()}"
        try:
            remove_left(root)
            self._hold = self._made()
            try:
                self.write("tracing_on", "0")
                self.write("options/disable_on_free", "1")
            except BaseException:
                os.close(self._hold)
                raise
        except BaseException as error:
            with contextlib.suppress(OSError):
                self._directory.rmdir()
            if isinstance(error, OSError):
                raise refused(error) from None
            raise

    def _made(self) -> int:
        """Make the directory, and return the descriptor that holds it. Raises OSError."""
        for _ in range(_ATTEMPTS - 1):
            self._directory.mkdir()
            try:
                return os.open(self._directory / "free_buffer", os.O_WRONLY)
            except OSError as error:
                # Its name is gone, or only what it stands for.
                if error.errno not in (errno.ENOENT, errno.ENODEV):
                    raise
            with contextlib.suppress(OSError):
                self._directory.rmdir()
        self._directory.mkdir()
        return os.open(self._directory / "free_buffer", os.O_WRONLY)

    def __enter__(self) -> Instance:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def write(self, name: str, text: str) -> None:
        """Write a control file. Raises OSError."""
        descriptor = os.open(self._directory / name, os.O_WRONLY)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def read(self, name: str) -> str:
        """Return the text of a file. Raises OSError."""
        return (self._directory / name).read_text()

    def has(self, name: str) -> bool:
        """Return whether there is such a file."""
        return (self._directory / name).exists()

    def cpus(self) -> list[str]:
        """Return the names of the CPUs' directories in ``per_cpu``."""
        return sorted(path.name for path in (self._directory / "per_cpu").iterdir())

    def open_pages(self, cpu: str) -> int:
        """Return a descriptor from which the pages of one CPU's buffer can be read without waiting."""
        return os.open(self._directory / "per_cpu" / cpu / "trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)

    def close(self) -> None:
        """Stop the recording and remove the instance. Descriptors of ``open_pages`` must be closed."""
        os.close(self._hold)
        with contextlib.suppress(OSError):
            self._directory.rmdir()


def remove_left(root: Path) -> None:
    """Remove instances whose processes died. The kernel refuses it (EBUSY) for those of processes that live."""
    for directory in instances(root):
        with contextlib.suppress(OSError):
            directory.rmdir()


def instances(root: Path) -> Iterator[Path]:
    """Yield the instances of iogauge, of any process."""
    yield from sorted((root / "instances").glob(f"{_PREFIX}*"))


def refused(error: OSError) -> IogaugeError:
    """Return the error of a tracefs that refused something."""
    return IogaugeError(f"the kernel refused to trace: {error}", hint="see dmesg")
