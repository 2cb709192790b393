"""Finds the files below an overlay: its layers hold the same bytes under other device and inode numbers.

A layer is found by the path that it was mounted with. A layer whose path does not exist here, such as a container's, is
missed. Source: the kernel's Documentation/filesystems/overlayfs.rst.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import PurePath

from iogauge.target.users.mounts import FileId, Mount, all_mounts, mounts_of
from iogauge.target.users.sysfs import Host, number_of


class Overlays:
    """The mounted overlays of every visible mount namespace."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._own = mounts_of(host)
        self._overlays = [mount for mount in all_mounts(host) if mount.kind == "overlay"]

    def files_below(self, path: str, device: int) -> frozenset[FileId]:
        """Return the files that hold the bytes of the file at ``path`` in the layers below it.

        ``device`` is the file's ``st_dev``. Empty if the file lies in no overlay.
        """
        files: set[FileId] = set()
        waiting = [(path, device)]
        while waiting:
            for below in self._layers(*waiting.pop()):
                try:
                    status = self._host.stat(below)
                except (OSError, ValueError):
                    continue
                file = (status.st_dev, status.st_ino)
                if stat.S_ISREG(status.st_mode) and file not in files:
                    files.add(file)
                    # A layer may lie in an overlay itself.
                    waiting.append((below, status.st_dev))
        return frozenset(files)

    def _layers(self, path: str, device: int) -> Iterator[str]:
        """Yield, for each overlay of a file, its path in the topmost layer that has it."""
        for mount in self._of(path, device):
            inside = PurePath(path).relative_to(mount.point)
            for layer in _directories(mount):
                below = f"{layer}{mount.root.rstrip('/')}/{inside}"
                try:
                    self._host.stat(below)
                except (OSError, ValueError):
                    continue
                yield below
                break

    def _of(self, path: str, device: int) -> list[Mount]:
        """Return the overlays that may hold a file: by path among our mounts, by number in every namespace."""
        around = [mount for mount in self._own if PurePath(path).is_relative_to(mount.point)]
        # The last mount at a point hides the others.
        nearest = max(around, key=lambda mount: len(PurePath(mount.point).parts), default=None)
        here = [mount for mount in around if nearest and mount.point == nearest.point][-1:]
        elsewhere = [
            mount
            for mount in self._overlays
            if mount.number == number_of(device) and PurePath(path).is_relative_to(mount.point)
        ]
        return [*(mount for mount in here if mount.kind == "overlay"), *elsewhere]


def _directories(overlay: Mount) -> Iterator[str]:
    """Yield the directories of an overlay's layers, the uppermost first. Relative paths cannot be resolved here."""
    for name in ("upperdir", "lowerdir+", "lowerdir"):
        for option in overlay.options:
            key, _, value = option.partition("=")
            if key == name:
                yield from (part for part in value.split(":") if part.startswith("/"))
