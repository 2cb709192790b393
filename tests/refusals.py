"""What the tests of refusals share: devices of their own, and what a refusal must say."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from iogauge.target import Target, TargetRefused, open_target

IMAGE_BYTES = 32 << 20
Attach = Callable[..., str]


def sh(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"
    return done.stdout.strip()


def detach(device: str) -> None:
    """Detach a loop device, and wait until nobody else who looked at it keeps it attached."""
    sh("losetup", "-d", device)
    backing = Path(f"/sys/block/{Path(device).name}/loop/backing_file")
    while backing.exists():
        time.sleep(0.01)


def add_partition(disk: str, undo: contextlib.ExitStack, *, number: int = 1, start: int = 2048) -> str:
    """Tell the kernel of a partition without a table: not every kernel reads tables."""
    sh("addpart", disk, str(number), str(start), "20480")
    undo.callback(subprocess.run, ["delpart", disk, str(number)], capture_output=True, check=False)
    return f"{disk}p{number}"


def refused(
    path: str | Path, *, size_bytes: int | None = None, destroy: tuple[str, ...] = ()
) -> TargetRefused:
    with pytest.raises(TargetRefused) as caught:
        open_target(str(path), write=True, size_bytes=size_bytes, destroy=destroy).close()
    return caught.value


def refused_always(path: str | Path, what: str) -> None:
    """In use: refused, and destroy changes nothing."""
    error = refused(path)
    assert "in use" in str(error)
    assert what in str(error)
    assert error.hint
    assert "destroy does not apply" in error.hint
    assert what in str(refused(path, destroy=(str(path), os.path.realpath(path))))


def allowed(path: str | Path, *, size_bytes: int | None = None, destroy: tuple[str, ...] = ()) -> Target:
    with open_target(str(path), write=True, size_bytes=size_bytes, destroy=destroy) as target:
        assert target.writable
        assert os.pwrite(target.fd, bytes(4096), 0) == 4096
    return target
