"""Content on devices and in files is not overwritten unless destroy names it. Real loop devices; needs root."""

from __future__ import annotations

import contextlib
import os
import shutil
import struct
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from iogauge.target import open_target
from tests.refusals import IMAGE_BYTES, Attach, add_partition, allowed, refused, refused_always, sh

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
    pytest.mark.skipif(shutil.which("losetup") is None, reason="needs losetup"),
    pytest.mark.skipif(not Path("/dev/loop-control").exists(), reason="needs loop devices"),
]

# --- Content: refused, unless --destroy names this very device ------------------------------------------------

QUICK_KEY = ("--pbkdf", "pbkdf2", "--pbkdf-force-iterations", "1000")
MAKERS = {
    "ext2": ("mke2fs", "-q", "-t", "ext2"),
    "ext3": ("mke2fs", "-q", "-t", "ext3"),
    "ext4": ("mke2fs", "-q", "-t", "ext4"),
    "swap": ("mkswap",),
    "btrfs": ("mkfs.btrfs", "-q"),
    "xfs": ("mkfs.xfs", "-q"),
    "vfat": ("mkfs.vfat",),
    "minix": ("mkfs.minix",),
    "LUKS": ("cryptsetup", "-q", "luksFormat", *QUICK_KEY, "--key-file", "/etc/hostname"),
    "f2fs": ("mkfs.f2fs",),
    "ntfs": ("mkfs.ntfs", "-q", "-F"),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_filesystem_signature(kind: str, tmp_path: Path, attach: Attach) -> None:
    if shutil.which(MAKERS[kind][0]) is None:
        pytest.skip(f"needs {MAKERS[kind][0]}")
    path = tmp_path / "filesystem.img"
    with path.open("wb") as file:
        file.truncate(320 << 20)
    disk = attach(path)
    sh(*MAKERS[kind], disk)
    error = refused(disk)
    assert f"it holds data: {kind}" in str(error)
    assert error.hint
    assert f"destroy=['{disk}']" in error.hint
    messages: list[str] = []
    with open_target(disk, write=True, destroy=(disk,), on_message=messages.append):
        assert len(messages) == 1
        assert messages[0].startswith(f"{disk}: overwriting {kind}")
        assert messages[0].endswith(", as destroy allows")


def test_a_partition_table(disk: str) -> None:
    mbr = bytearray(512)
    mbr[446:462] = struct.pack("<B3sB3sII", 0x80, b"\0\1\1", 0x83, b"\0\2\2", 2048, 4096)
    mbr[510:] = b"\x55\xaa"
    Path(disk).write_bytes(mbr)
    assert "it holds data: MBR partition table" in str(refused(disk))
    Path(disk).write_bytes(bytes(512) + b"EFI PART" + bytes(504))
    assert "it holds data: GPT partition table" in str(refused(disk))
    allowed(disk, destroy=(disk,))


def test_the_backup_of_a_partition_table(disk: str) -> None:
    with Path(disk).open("r+b") as file:
        file.seek(IMAGE_BYTES - 512)
        file.write(b"EFI PART" + bytes(504))
    assert "it holds data: GPT partition table" in str(refused(disk))


def test_partitions_that_only_the_kernel_knows(disk: str, undo: contextlib.ExitStack) -> None:
    partition = add_partition(disk, undo)
    assert f"it holds data: partition {Path(partition).name}" in str(refused(disk))
    allowed(partition)


def ext4_without_its_beginning(path: Path) -> None:
    sh("mkfs.ext4", "-q", "-F", str(path))
    with path.open("r+b") as file:
        file.write(bytes(1 << 20))


def btrfs_without_its_beginning(path: Path) -> None:
    sh("mkfs.btrfs", "-q", str(path))
    with path.open("r+b") as file:
        file.write(bytes(63 << 20))


def archive(path: Path) -> None:
    with path.open("r+b") as file, tarfile.open(fileobj=file, mode="w") as tar:
        tar.add(__file__)


def vmdk(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"KDMV" + struct.pack("<IIQQQQI", 1, 3, 1 << 16, 128, 1, 20, 512))


def program(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(Path(sys.executable).read_bytes()[: 1 << 20])


@pytest.mark.parametrize(
    "fill", [archive, vmdk, program, ext4_without_its_beginning, btrfs_without_its_beginning]
)
def test_content_that_no_signature_names(
    fill: Callable[[Path], None], tmp_path: Path, attach: Attach
) -> None:
    path = tmp_path / "content.img"
    with path.open("wb") as file:
        file.truncate(160 << 20)
    fill(path)
    disk = attach(path)
    assert "it holds data: " in str(refused(disk))
    assert refused(disk).hint
    allowed(disk, destroy=(disk,))


def test_what_iogauge_wrote_is_no_content(disk: str) -> None:
    with Path(disk).open("r+b") as file:
        file.write(os.urandom(IMAGE_BYTES // 2) + b"\xff" * (1 << 20))
    allowed(disk)


def holding(path: str, code: str, undo: contextlib.ExitStack) -> subprocess.Popen[bytes]:
    """A process that runs ``code`` on a path, and has done so when this returns; it ends with ``undo``."""
    code = f"import os, sys, fcntl, struct; {code}; print(flush=True); input()"
    holder = undo.enter_context(
        subprocess.Popen([sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    )
    assert holder.stdin
    assert holder.stdout
    undo.callback(holder.stdin.close)
    holder.stdout.readline()
    return holder


def test_a_device_that_another_process_may_write_to(disk: str, undo: contextlib.ExitStack) -> None:
    holding(disk, "os.open(sys.argv[1], os.O_RDONLY)", undo)
    allowed(disk)
    partition = add_partition(disk, undo)
    holder = holding(partition, "os.open(sys.argv[1], os.O_RDWR)", undo)
    for path in (partition, disk):
        refused_always(path, f"(pid {holder.pid})")


@pytest.mark.parametrize("kind", ["device", "file"])
def test_what_another_program_has_locked(
    kind: str, disk: str, tmp_path: Path, undo: contextlib.ExitStack
) -> None:
    path = Path(disk)
    if kind == "file":
        path = tmp_path / "served.img"
        path.write_bytes(b"an image")
    # As qemu-nbd locks its images: a byte, for reading, by open file description (F_OFD_SETLK).
    lock = "struct.pack('hhqqi4x', fcntl.F_RDLCK, os.SEEK_SET, 100, 1, 0)"
    holding(str(path), f"file = os.open(sys.argv[1], os.O_RDONLY); fcntl.fcntl(file, 37, {lock})", undo)
    refused_always(path, "locked by another program")


@pytest.mark.parametrize("use", ["lock", "writer"])
def test_a_loop_device_over_a_file_that_another_program_uses(
    use: str, disk: str, image: Path, undo: contextlib.ExitStack
) -> None:
    allowed(disk)
    if use == "lock":
        lock = "struct.pack('hhqqi4x', fcntl.F_RDLCK, os.SEEK_SET, 100, 1, 0)"
        holding(str(image), f"file = os.open(sys.argv[1], os.O_RDONLY); fcntl.fcntl(file, 37, {lock})", undo)
        why = f"its backing file {image} is locked by another program"
    else:
        holder = holding(str(image), "os.open(sys.argv[1], os.O_RDWR)", undo)
        why = f"its backing file {image} is open for writing in python"
        assert f"(pid {holder.pid})" in str(refused(disk))
    refused_always(disk, why)
    refused_always(add_partition(disk, undo), why)


def test_destroy_must_name_this_device(disk: str, tmp_path: Path) -> None:
    sh("mkfs.ext4", "-q", disk)
    link = tmp_path / "link"
    link.symlink_to(disk)
    for wrong in ("/dev/loop", "WRONG-SERIAL", f"{disk}p1", Path(disk).name, "", "/"):
        error = refused(disk, destroy=(wrong,))
        assert "destroy names" in str(error)
        assert "not this device" in str(error)
    allowed(disk, destroy=("WRONG-SERIAL", disk))
    sh("mkfs.ext4", "-q", disk)
    allowed(link, destroy=(str(link),))
    sh("mkfs.ext4", "-q", disk)
    allowed(link, destroy=(disk,))


def test_a_wrong_destroy_stops_even_a_blank_device(disk: str) -> None:
    assert "destroy names WRONG" in str(refused(disk, destroy=("WRONG",)))


def test_a_read_only_device(image: Path, attach: Attach) -> None:
    disk = attach(image, "-r")
    error = refused(disk)
    assert "read-only" in str(error)
    with open_target(disk, write=False) as target:
        assert target.size_bytes == IMAGE_BYTES
