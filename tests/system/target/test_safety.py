"""One test for each thing that must not be written, on real loop and zram devices. Needs root.

Every device and file here is made by the test; of the machine's own disk only the refusal is asked for.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from iogauge.target import TargetRefused, open_target
from iogauge.target.users.sysfs import BlockDevice, number_of
from iogauge.target.users.usage import Usage
from tests.refusals import IMAGE_BYTES, Attach, add_partition, allowed, refused, refused_always, sh

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(shutil.which("losetup") is None, reason="needs losetup"),
    pytest.mark.skipif(not Path("/dev/loop-control").exists(), reason="needs loop devices"),
]

# --- What may be written, so that the refusals below mean something ------------------------------------------


def test_a_blank_device_is_cleared_and_held_exclusively(disk: str) -> None:
    with open_target(disk, write=True) as target:
        assert target.size_bytes == IMAGE_BYTES
        assert target.facts.kind == "block"
        assert target.facts.device == Path(disk).name
        with pytest.raises(OSError, match="busy"):
            os.close(os.open(disk, os.O_RDONLY | os.O_EXCL))
        # The engines open the descriptor again, with flags of their own.
        os.close(os.open(f"/proc/self/fd/{target.fd}", os.O_RDWR | os.O_DIRECT))
    os.close(os.open(disk, os.O_RDONLY | os.O_EXCL))


def test_nothing_can_be_mounted_on_an_open_target(disk: str, tmp_path: Path) -> None:
    sh("mkfs.ext4", "-q", disk)
    with open_target(disk, write=True, destroy=(disk,)):
        done = subprocess.run(["mount", disk, str(tmp_path)], capture_output=True, check=False)
        assert done.returncode != 0


def test_a_blank_zram_is_cleared(zram: str) -> None:
    allowed(zram)


def test_reading_needs_no_clearance(disk: str, mount: Callable[..., Path]) -> None:
    sh("mkfs.ext4", "-q", disk)
    mount(disk)
    with open_target(disk, write=False) as target:
        assert not target.writable
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.pwrite(target.fd, b"x", 0)


# --- In use: never overridden --------------------------------------------------------------------------------


def test_a_mounted_device(disk: str, mount: Callable[..., Path]) -> None:
    sh("mkfs.ext4", "-q", disk)
    point = mount(disk)
    refused_always(disk, f"it is mounted at {point}")


def test_a_mount_in_another_namespace(disk: str, tmp_path: Path, undo: contextlib.ExitStack) -> None:
    sh("mkfs.ext4", "-q", disk)
    other = undo.enter_context(
        subprocess.Popen(
            ["unshare", "-m", "sh", "-c", f"mount {disk} {tmp_path} && echo mounted && read _"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    )
    assert other.stdout
    assert other.stdin
    undo.callback(other.stdin.close)
    assert other.stdout.readline() == b"mounted\n"
    refused_always(disk, f"it is mounted at {tmp_path}")


def test_a_mount_that_was_detached_but_lives_on(disk: str, mount: Callable[..., Path]) -> None:
    sh("mkfs.ext4", "-q", disk)
    point = mount(disk)
    with (point / "held").open("w"):
        sh("umount", "-l", str(point))
        error = refused(disk, destroy=(disk,))
        assert "cannot be opened exclusively" in str(error)


def test_a_disk_whose_partition_is_mounted(
    disk: str, mount: Callable[..., Path], undo: contextlib.ExitStack
) -> None:
    partition = add_partition(disk, undo)
    sh("mkfs.ext4", "-q", partition)
    point = mount(partition)
    refused_always(disk, f"its partition {Path(partition).name} is mounted at {point}")
    refused_always(partition, f"it is mounted at {point}")


def test_a_partition_of_a_disk_mounted_as_a_whole(
    disk: str, mount: Callable[..., Path], undo: contextlib.ExitStack
) -> None:
    sh("mkfs.ext4", "-q", disk)
    point = mount(disk)
    partition = add_partition(disk, undo)
    refused_always(partition, f"the whole disk {Path(disk).name} is mounted at {point}")


def test_a_partition_beside_a_mounted_one_is_free(
    disk: str, mount: Callable[..., Path], undo: contextlib.ExitStack
) -> None:
    used = add_partition(disk, undo)
    free = add_partition(disk, undo, number=2, start=2048 + 20480)
    sh("mkfs.ext4", "-q", used)
    mount(used)
    allowed(free)


@pytest.mark.skipif(shutil.which("mkswap") is None, reason="needs mkswap")
class TestSwap:
    def test_a_loop_device(self, disk: str, undo: contextlib.ExitStack) -> None:
        self._swap_on(disk, undo)
        refused_always(disk, "it is used as swap")

    def test_a_zram(self, zram: str, undo: contextlib.ExitStack) -> None:
        self._swap_on(zram, undo)
        refused_always(zram, "it is used as swap")
        sh("swapoff", zram)
        assert "it holds data: swap" in str(refused(zram))
        allowed(zram, destroy=(zram,))

    def test_a_disk_whose_partition_is_swapped_to(self, disk: str, undo: contextlib.ExitStack) -> None:
        partition = add_partition(disk, undo)
        self._swap_on(partition, undo)
        refused_always(disk, f"its partition {Path(partition).name} is used as swap")

    def test_a_swap_file_and_a_loop_device_over_it(
        self, tmp_path: Path, attach: Attach, undo: contextlib.ExitStack
    ) -> None:
        path = tmp_path / "swap.bin"
        path.write_bytes(bytes(8 << 20))
        path.chmod(0o600)
        sh("mkswap", str(path))
        device = attach(path)
        sh("swapon", str(path))
        undo.callback(sh, "swapoff", str(path))
        assert "it is used as swap" in str(refused(path))
        assert "it is used as swap" in str(refused(path, destroy=(str(path),)))
        refused_always(device, "its backing file is used as swap")

    def _swap_on(self, device: str, undo: contextlib.ExitStack) -> None:
        sh("mkswap", device)
        sh("swapon", device)
        undo.callback(subprocess.run, ["swapoff", device], capture_output=True, check=False)


def test_a_device_that_another_process_holds(disk: str, undo: contextlib.ExitStack) -> None:
    holder = undo.enter_context(
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                "import os,sys; os.open(sys.argv[1], os.O_EXCL); print(flush=True); input()",
                disk,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
    )
    assert holder.stdout
    assert holder.stdin
    undo.callback(holder.stdin.close)
    holder.stdout.readline()
    for destroy in ((), (disk,)):
        error = refused(disk, destroy=destroy)
        assert "cannot be opened exclusively" in str(error)
        assert f"pid {holder.pid}" in str(error)


def test_a_device_that_iogauge_itself_has_open(disk: str) -> None:
    with open_target(disk, write=True):
        assert "cannot be opened exclusively" in str(refused(disk))


def test_a_symbolic_link_to_a_mounted_device(disk: str, mount: Callable[..., Path], tmp_path: Path) -> None:
    sh("mkfs.ext4", "-q", disk)
    point = mount(disk)
    (tmp_path / "one").symlink_to(disk)
    (tmp_path / "two").symlink_to("one")
    refused_always(tmp_path / "two", f"it is mounted at {point}")


def test_a_loop_device_over_a_file_that_is_mounted_through_another(
    image: Path, attach: Attach, mount: Callable[..., Path]
) -> None:
    first, second = attach(image), attach(image)
    sh("mkfs.ext4", "-q", first)
    point = mount(first)
    refused_always(second, f"{Path(first).name} over it is mounted at {point}")
    refused_always(second, f"loop device {Path(first).name} is attached to its backing file")


def test_loop_devices_stacked_on_a_device(disk: str, attach: Attach, mount: Callable[..., Path]) -> None:
    upper = attach(disk)
    sh("mkfs.ext4", "-q", upper)
    refused_always(disk, f"loop device {Path(upper).name} is attached to it")
    point = mount(upper)
    refused_always(disk, f"{Path(upper).name} over it is mounted at {point}")


def test_a_loop_device_over_a_device_that_is_mounted(
    disk: str, attach: Attach, mount: Callable[..., Path]
) -> None:
    upper = attach(disk)
    sh("mkfs.ext4", "-q", disk)
    point = mount(disk)
    refused_always(upper, f"{Path(disk).name} behind it is mounted at {point}")


@pytest.mark.skipif(shutil.which("mkfs.btrfs") is None, reason="needs btrfs-progs")
def test_every_member_of_a_mounted_btrfs(
    tmp_path: Path, attach: Attach, mount: Callable[..., Path], undo: contextlib.ExitStack
) -> None:
    members = []
    for name in ("one.img", "two.img"):
        with (tmp_path / name).open("wb") as file:
            file.truncate(256 << 20)
        members.append(attach(tmp_path / name))
    sh("mkfs.btrfs", "-q", "-L", "pair", *members)
    undo.callback(subprocess.run, ["btrfs", "device", "scan", "--forget"], capture_output=True, check=False)
    sh("btrfs", "device", "scan", *members)
    mount(members[0])
    for member in members:
        refused_always(member, "member of the mounted btrfs pair")


@pytest.mark.skipif(shutil.which("dmsetup") is None, reason="needs dmsetup")
def test_a_device_held_by_device_mapper(
    disk: str, mount: Callable[..., Path], undo: contextlib.ExitStack
) -> None:
    name = f"iogauge-test-{os.getpid()}"
    made = subprocess.run(
        ["dmsetup", "create", name, "--table", f"0 32768 linear {disk} 0"], capture_output=True, check=False
    )
    if made.returncode:
        pytest.skip("this kernel has no device-mapper")
    undo.callback(subprocess.run, ["dmsetup", "remove", "-f", name], capture_output=True, check=False)
    refused_always(disk, f"({name})")
    mapped = f"/dev/mapper/{name}"
    allowed(mapped)
    sh("mkfs.ext4", "-q", mapped)
    point = mount(mapped)
    refused_always(disk, f"mounted at {point}")


def test_the_disk_that_this_system_runs_from() -> None:
    root = BlockDevice.by_number(number_of(Path("/").stat().st_dev))
    if root is None:
        pytest.skip("/ lies on no block device that can be named")
    assert any("mounted at /" in use.what for use in Usage().of_device(root.disk))
    node = f"/dev/{root.disk.name}"
    if Path(node).exists():
        refused_always(node, "mounted at /")


# --- Files ---------------------------------------------------------------------------------------------------


def test_a_file_behind_a_loop_device(image: Path, attach: Attach, mount: Callable[..., Path]) -> None:
    device = attach(image)
    refused_always(image, f"loop device {Path(device).name} is attached to it")
    sh("mkfs.ext4", "-q", device)
    point = mount(device)
    refused_always(image, f"{Path(device).name} over it is mounted at {point}")


def test_our_own_file_behind_a_loop_device(tmp_path: Path, attach: Attach) -> None:
    path = tmp_path / "ours.bin"
    allowed(path, size_bytes=1 << 20)
    allowed(path)
    device = attach(path)
    refused_always(path, f"loop device {Path(device).name} is attached to it")


def test_a_file_over_four_fifths_of_the_free_space(disk: str, mount: Callable[..., Path]) -> None:
    sh("mkfs.ext4", "-q", disk)
    point = mount(disk)
    free = os.statvfs(point).f_bavail * os.statvfs(point).f_frsize
    error = refused(point / "big.bin", size_bytes=int(free * 0.85))
    assert "over 80% of the" in str(error)
    assert not list(point.glob("*big*"))
    # What the file occupies already counts as free, so it may be written and extended up to the same limit.
    allowed(point / "big.bin", size_bytes=int(free * 0.75) >> 12 << 12)
    allowed(point / "big.bin", size_bytes=int(free * 0.78) >> 12 << 12)
    assert "over 80% of the" in str(refused(point / "big.bin", size_bytes=int(free * 0.82)))


def test_a_sparse_file_that_would_fill_its_filesystem(disk: str, mount: Callable[..., Path]) -> None:
    sh("mkfs.ext4", "-q", disk)
    path = mount(disk) / "sparse.bin"
    with path.open("wb") as file:
        file.truncate(1 << 30)
    assert "over 80% of the" in str(refused(path, destroy=(str(path),)))


def test_a_disk_that_fills_up_meanwhile(disk: str, mount: Callable[..., Path]) -> None:
    sh("mkfs.ext4", "-q", disk)
    point = mount(disk)
    free = os.statvfs(point).f_bavail * os.statvfs(point).f_frsize

    def fill(_: str) -> None:
        with contextlib.suppress(OSError), (point / "others.bin").open("wb") as file:
            file.write(bytes(free // 2))

    with pytest.raises(TargetRefused, match="No space left") as caught:
        open_target(str(point / "new.bin"), write=True, size_bytes=free * 7 // 10, on_message=fill)
    assert caught.value.hint
    assert [path.name for path in point.glob("*new*")] == []


def test_a_read_only_filesystem(disk: str, mount: Callable[..., Path]) -> None:
    sh("mkfs.ext4", "-q", disk)
    point = mount(disk, "-o", "ro")
    error = refused(point / "new.bin", size_bytes=4096)
    assert "Read-only file system" in str(error)
    assert error.hint


@pytest.mark.skipif(shutil.which("mkfs.vfat") is None, reason="needs dosfstools")
def test_nothing_is_left_of_a_vfat_image_file(tmp_path: Path) -> None:
    """A foreign image file is content like any other."""
    path = tmp_path / "image.bin"
    path.write_bytes(bytes(1 << 20))
    sh("mkfs.vfat", str(path))
    before = path.read_bytes()
    assert "iogauge did not make it" in str(refused(path))
    assert path.read_bytes() == before
