"""Sets up block devices to compare a target with: one in memory, and a loop device over the target.

The cost of a kernel layer is the difference between going through it and going around it. Both devices exist for one
run only: a loop device is a use of its target and forbids writing to it, and memory should not be held for longer.
Symbolic links under ``/run/iogauge`` keep their names the same when a review is resumed. A device that a killed process
left behind, or that another program kept open, is removed before the next one is set up.

The setup needs root and a kernel with zram and loop devices. It writes no user data: the device in memory is new, and
the loop device is read-only. Source: the kernel's documentation of zram; losetup(8).
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from iogauge.errors import IogaugeError
from iogauge.schema import TargetFacts
from iogauge.target.noise import noise
from iogauge.target.refusal import refused_by_kernel

RAM_BYTES = 128 << 20
"""Size of the device in memory: larger than the caches of most CPUs, and quickly filled."""

_RUN = Path("/run/iogauge")
_CONTROL = Path("/sys/class/zram-control")
_BLOCK = Path("/sys/block")
_PATIENCE_S = 2.0
"""How long other programs, such as udev, may keep a device open that is to be removed."""


@dataclass(frozen=True)
class Layer:
    """A block device that can be set up to compare a target with."""

    kind: Literal["ram", "loop"]
    path: str
    """A symbolic link to the device while it exists; always the same for the same target."""
    over: str
    """The target's path."""
    missing: str = ""
    """Why it cannot be set up here; empty: it can, or that was not tried."""

    @property
    def title(self) -> str:
        """What it is, in words."""
        return "a device in memory" if self.kind == "ram" else "a loop device over the target"


def layers_over(path: str) -> tuple[Layer, Layer]:
    """Return the layers of a target without setting them up.

    >>> [layer.path == again.path for layer, again in zip(layers_over("/dev/sda"), layers_over("/dev/sda"))]
    [True, True]
    """
    folder = _RUN / hashlib.sha256(path.encode()).hexdigest()[:12]
    return Layer("ram", str(folder / "ram"), path), Layer("loop", str(folder / "loop"), path)


def layers_of(target: TargetFacts) -> tuple[Layer, ...]:
    """Return the layers of a target, with the reason for any that cannot be set up: each is tried once.

    A drive model has no layers.
    """
    return () if target.modelled else tuple(_tried(layer) for layer in layers_over(target.path))


def _tried(layer: Layer) -> Layer:
    try:
        with standing(layer, fill=False):
            return layer
    except IogaugeError as error:
        return replace(layer, missing=str(error))


@contextlib.contextmanager
def standing(layer: Layer, *, fill: bool = True) -> Iterator[None]:
    """Set a layer up, and remove it at the end. ``fill`` fills a device in memory with random data first.

    Raises IogaugeError if it cannot be set up or another process has set it up.
    """
    if os.geteuid() != 0:
        raise IogaugeError(f"{layer.title} needs root", hint="run the review as root")
    link = Path(layer.path)
    with contextlib.ExitStack() as stack:
        try:
            link.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_alone(link))
            if held := _take_down(link):
                raise IogaugeError(
                    f"{link.readlink()}: it is left from an earlier run and cannot be removed: {held}",
                    hint="end the program that uses it",
                )
            stack.callback(_take_down, link)
            if layer.kind == "ram":
                _make_ram(link, fill=fill)
            else:
                _make_loop(link, layer.over)
        except OSError as error:
            raise refused_by_kernel(layer.title, "setting it up", error) from None
        yield


@contextlib.contextmanager
def _alone(link: Path) -> Iterator[None]:
    """Lock the layer against other processes; the lock ends with this process and leaves no file behind."""
    path = link.with_suffix(".lock")
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The last owner may have removed the file after it was opened here. Then the lock excludes nobody.
            theirs = os.fstat(lock.fileno()).st_nlink == 0
        except BlockingIOError:
            theirs = True
        if theirs:
            raise IogaugeError(f"{link}: another iogauge is using it", hint="let the other review end first")
        try:
            yield
        finally:
            path.unlink()
            with contextlib.suppress(OSError):
                link.parent.rmdir()  # The other layer may stand.


def _make_ram(link: Path, *, fill: bool) -> None:
    if not _CONTROL.is_dir():
        raise IogaugeError("this kernel has no zram", hint="load it: modprobe zram")
    device = f"zram{(_CONTROL / 'hot_add').read_text().strip()}"
    _remember(link, device)
    (_BLOCK / device / "disksize").write_text(str(RAM_BYTES))
    if fill:
        _fill(f"/dev/{device}")


def _fill(path: str) -> None:
    """Write random data to all of a new device, because reads of unwritten blocks mean nothing."""
    fd = os.open(path, os.O_WRONLY | os.O_EXCL | os.O_CLOEXEC)
    try:
        at = 0
        while at < RAM_BYTES:
            at += os.pwrite(fd, noise(1, at, RAM_BYTES), at)
        os.fsync(fd)
    finally:
        os.close(fd)


def _make_loop(link: Path, over: str) -> None:
    device, wrong = _losetup("--find", "--show", "--read-only", "--direct-io=on", os.path.realpath(over))
    if wrong:
        raise IogaugeError(wrong, hint="load it: modprobe loop")
    _remember(link, Path(device).name)


def _remember(link: Path, device: str) -> None:
    """Link the layer's path to a device, and store the device's sequence number."""
    link.with_suffix(".diskseq").write_text(_diskseq(device))
    link.symlink_to(f"/dev/{device}")


def _diskseq(device: str) -> str:
    """Return the device's sequence number, unique until the machine reboots; empty if the kernel has none."""
    path = _BLOCK / device / "diskseq"
    return path.read_text().strip() if path.exists() else ""


def _take_down(link: Path) -> str:
    """Remove the device of a layer's path, if there is one and it is still the one that was set up.

    Returns why it could not be removed: another program has it open. The path then stays for the next attempt.
    """
    if not link.is_symlink():
        return ""
    device = link.readlink().name
    noted = link.with_suffix(".diskseq")
    if noted.exists() and noted.read_text() == _diskseq(device) and (_BLOCK / device).exists():
        patience = time.monotonic() + _PATIENCE_S
        while held := _held(device):
            if time.monotonic() >= patience:
                return held
            time.sleep(0.02)
    link.unlink()
    noted.unlink(missing_ok=True)
    return ""


def _held(device: str) -> str:
    """Try to remove a device. Return why that is not possible; empty: it is gone."""
    if device.startswith("loop"):
        return _losetup("--detach", f"/dev/{device}")[1]
    try:
        (_BLOCK / device / "reset").write_text("1")
        (_CONTROL / "hot_remove").write_text(device.removeprefix("zram"))
    except OSError as error:
        return str(error)
    return ""


def _losetup(*options: str) -> tuple[str, str]:
    """Run losetup. Return its output and its error message, which is empty on success."""
    made = subprocess.run(["losetup", *options], capture_output=True, text=True, check=False)
    said = made.stderr.strip().removeprefix("losetup: ") or f"exit status {made.returncode}"
    return made.stdout.strip(), f"losetup: {said}" if made.returncode else ""
