"""Block devices to compare a target with: one in memory, and a loop device over the target itself.

What a layer of the kernel costs is seen by going through it and by not going through it. Both devices are made for one
run and taken down after it: a loop device over a target is a use of it, beside which nothing may be written, and memory
is not held for longer than it is needed. They keep their names over a review, wherever it is resumed, by symbolic links
under ``/run/iogauge``. What a killed process left behind, or somebody still had open, is taken down before the next one
begins.

It takes root, and a kernel with zram and loop devices. Nothing of a user's is written: the device in memory is new, and
the loop device is read only. Does not measure. Source: the kernel's documentation of zram; losetup(8).
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
"""Of the device in memory: more than the caches of most CPUs, and soon filled."""

_RUN = Path("/run/iogauge")
_CONTROL = Path("/sys/class/zram-control")
_BLOCK = Path("/sys/block")
_PATIENCE_S = 2.0
"""How long others, such as udev, may look at a device that is to be taken down."""


@dataclass(frozen=True)
class Layer:
    """A block device that can be set up beside a target."""

    kind: Literal["ram", "loop"]
    path: str
    """The same for the same target, always; it leads to the device while that stands."""
    over: str
    """The target's path."""
    missing: str = ""
    """Why it cannot be set up here; empty: it can, or nobody tried."""

    @property
    def title(self) -> str:
        """What it is, in words."""
        return "a device in memory" if self.kind == "ram" else "a loop device over the target"


def layers_over(path: str) -> tuple[Layer, Layer]:
    """Return the layers of a target. Nothing is set up, or tried.

    >>> [layer.path == again.path for layer, again in zip(layers_over("/dev/sda"), layers_over("/dev/sda"))]
    [True, True]
    """
    folder = _RUN / hashlib.sha256(path.encode()).hexdigest()[:12]
    return Layer("ram", str(folder / "ram"), path), Layer("loop", str(folder / "loop"), path)


def layers_of(target: TargetFacts) -> tuple[Layer, ...]:
    """Return the layers of a target, each set up once and taken down again; what cannot be says why.

    Of a drive model there are none.
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
    """Set a layer up, and take it down at the end. ``fill``: what is in memory is filled with random data first.

    Raises IogaugeError: it cannot be set up, or another process has set it up.
    """
    if os.geteuid() != 0:
        raise IogaugeError(f"{layer.title} takes root", hint="run the review as root")
    link = Path(layer.path)
    with contextlib.ExitStack() as stack:
        try:
            link.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_alone(link))
            if held := _take_down(link):
                raise IogaugeError(
                    f"{link.readlink()}: it stays from an earlier run, since it is in use",
                    hint=f"end what uses it: {held}",
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
    """Keep other processes from the layer, as long as this one lives, and leave no file behind."""
    path = link.with_suffix(".lock")
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who had it may have removed the file since it was opened here: then it keeps nobody out.
            theirs = os.fstat(lock.fileno()).st_nlink == 0
        except BlockingIOError:
            theirs = True
        if theirs:
            raise IogaugeError(f"{link}: another iogauge has it", hint="let the other review end first")
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
    """Write random data all over a device that was just made; what was never written is no data to be read."""
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
    """Let the layer's path lead to a device, and note which device of that name it is."""
    link.with_suffix(".diskseq").write_text(_diskseq(device))
    link.symlink_to(f"/dev/{device}")


def _diskseq(device: str) -> str:
    """Return what no other device gets before the machine starts again, and empty where the kernel has no such."""
    path = _BLOCK / device / "diskseq"
    return path.read_text().strip() if path.exists() else ""


def _take_down(link: Path) -> str:
    """Take down what a layer's path leads to, if it is still what was made; without one, nothing.

    Returns why it could not be: somebody has it open. The path then leads to it still, and the next start finds it.
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
    """Try to take a device down, and return why that is not possible; empty: it is gone."""
    if device.startswith("loop"):
        return _losetup("--detach", f"/dev/{device}")[1]
    try:
        (_BLOCK / device / "reset").write_text("1")
        (_CONTROL / "hot_remove").write_text(device.removeprefix("zram"))
    except OSError as error:
        return str(error)
    return ""


def _losetup(*options: str) -> tuple[str, str]:
    """Run losetup and return what it printed, and what it said was wrong; empty: nothing was."""
    made = subprocess.run(["losetup", *options], capture_output=True, text=True, check=False)
    said = made.stderr.strip().removeprefix("losetup: ") or f"exit status {made.returncode}"
    return made.stdout.strip(), f"losetup: {said}" if made.returncode else ""
