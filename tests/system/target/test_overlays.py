"""A file of an overlay and the same file in a layer below: use of one is use of the other. Needs root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.refusals import Attach, allowed, detach, refused_always, sh

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(shutil.which("losetup") is None, reason="needs losetup"),
    pytest.mark.skipif(not Path("/dev/loop-control").exists(), reason="needs loop devices"),
    pytest.mark.skipif("overlay" not in Path("/proc/filesystems").read_text(), reason="needs overlayfs"),
]


@dataclass
class Image:
    """One image, as the overlay and as its upper layer have it."""

    merged: Path
    upper: Path


@pytest.fixture(params=["one filesystem", "two filesystems"])
def image(
    request: pytest.FixtureRequest, disk: str, mount: Callable[..., Path], tmp_path: Path, undo: ExitStack
) -> Image:
    # An overlay may lie on no other overlay, which the temporary directory may be.
    sh("mkfs.ext4", "-q", disk)
    base = mount(disk)
    lower = base / "lower"
    if request.param == "two filesystems":
        lower = tmp_path / "lower"
        lower.mkdir()
        sh("mount", "-t", "tmpfs", "tmpfs", str(lower))
        undo.callback(subprocess.run, ["umount", str(lower)], check=False)
    merged = tmp_path / "merged"
    for folder in (lower, base / "upper", base / "work", merged):
        folder.mkdir(exist_ok=True)
    options = f"lowerdir={lower},upperdir={base}/upper,workdir={base}/work"
    sh("mount", "-t", "overlay", "overlay", "-o", options, str(merged))
    undo.callback(subprocess.run, ["umount", str(merged)], check=False)
    sh("truncate", "-s", "4M", str(merged / "disk.img"))
    return Image(merged / "disk.img", base / "upper" / "disk.img")


@pytest.mark.parametrize("behind", ["merged", "upper"])
def test_a_loop_device_over_one_is_a_use_of_the_other(
    image: Image, behind: str, attach: Attach, mount: Callable[..., Path]
) -> None:
    backing, target = image.merged, image.upper
    if behind == "upper":
        backing, target = target, backing
    assert os.path.samestat(backing.stat(), target.stat()) is False
    device = attach(backing)
    name = Path(device).name
    refused_always(target, f"loop device {name} is attached to it")
    sh("mkfs.ext4", "-q", device)
    point = mount(device)
    refused_always(target, f"{name} over it is mounted at {point}")
    other = attach(target)
    refused_always(other, f"{name} over it is mounted at {point}")
    detach(other)
    sh("umount", str(point))
    detach(device)
    allowed(target, destroy=(str(target),))
