"""Who uses a device, over made-up machines: small trees in the shape of sysfs and proc."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.target.block import names_device
from iogauge.target.facts import serials
from iogauge.target.users.mounts import parse_mount, unescape
from iogauge.target.users.sysfs import BlockDevice, Host
from iogauge.target.users.usage import Usage


class Machine:
    """Builds the trees; ``device`` and ``file`` say what a path is, as stat would."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.known: dict[str, tuple[int, int]] = {}
        for folder in ("sys/dev/block", "sys/class/block", "sys/fs/btrfs", "proc/self"):
            (root / folder).mkdir(parents=True)
        self.mounts: list[str] = []
        self.swaps: list[str] = []
        self.host = Host(root / "sys", root / "proc", self._stat)

    def disk(self, name: str, number: str, **attributes: str) -> Path:
        return self._make(self.root / "sys/devices" / name, name, number, attributes)

    def partition(self, disk: Path, name: str, number: str) -> Path:
        return self._make(disk / name, name, number, {"partition": "1"})

    def holds(self, holder: Path, *below: Path) -> None:
        for device in below:
            (device / "holders").mkdir(exist_ok=True)
            (device / "holders" / holder.name).symlink_to(holder)
            (holder / "slaves").mkdir(exist_ok=True)
            (holder / "slaves" / device.name).symlink_to(device)

    def loop(self, name: str, number: str, behind: str) -> Path:
        return self.disk(name, number, **{"loop/backing_file": behind})

    def file(self, path: str, *, inode: int, device: int = 5) -> None:
        self.known[path] = (device, inode)

    def mount(self, number: str, point: str, kind: str, source: str, options: str = "rw") -> None:
        self.mounts.append(f"{len(self.mounts) + 20} 1 {number} / {point} rw - {kind} {source} {options}")

    def usage(self) -> Usage:
        (self.root / "proc/self/mountinfo").write_text("\n".join(self.mounts))
        lines = ["Filename Type Size Used Priority", *(f"{path} partition 1 0 -2" for path in self.swaps)]
        (self.root / "proc/swaps").write_text("\n".join(lines))
        return Usage(self.host)

    def uses(self, device: Path) -> list[str]:
        return [use.what for use in self.usage().of_device(BlockDevice(device, self.host))]

    def _make(self, folder: Path, name: str, number: str, attributes: dict[str, str]) -> Path:
        for key, value in {"dev": number, "size": "2048", **attributes}.items():
            (folder / key).parent.mkdir(parents=True, exist_ok=True)
            (folder / key).write_text(value + "\n")
        (self.root / "sys/dev/block" / number).symlink_to(folder)
        (self.root / "sys/class/block" / name).symlink_to(folder)
        major, minor = map(int, number.split(":"))
        self.known[f"/dev/{name}"] = (-1, os.makedev(major, minor))
        return folder

    def _stat(self, path: str) -> os.stat_result:
        if path not in self.known:
            raise FileNotFoundError(path)
        device, which = self.known[path]
        if device == -1:
            # st_rdev is not among the ten fields that the constructor needs.
            return _Node(which)  # type: ignore[return-value]
        return os.stat_result((stat.S_IFREG, which, device, 1, 0, 0, 0, 0, 0, 0))


class _Node:
    """The two fields of a block device's stat that are looked at."""

    st_mode = stat.S_IFBLK

    def __init__(self, number: int) -> None:
        self.st_rdev = number


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_an_idle_disk_is_used_by_nobody(machine: Machine) -> None:
    disk = machine.disk("sda", "8:0")
    other = machine.disk("sdb", "8:16")
    machine.partition(disk, "sda1", "8:1")
    machine.mount("8:16", "/", "ext4", "/dev/sdb")
    assert machine.uses(disk) == []
    assert machine.uses(other) == ["it is mounted at /"]


def test_volumes_on_encryption_on_a_partition(machine: Machine) -> None:
    disk = machine.disk("nvme0n1", "259:0")
    partition = machine.partition(disk, "nvme0n1p2", "259:2")
    crypt = machine.disk("dm-0", "252:0", **{"dm/name": "luks-home"})
    volume = machine.disk("dm-1", "252:1", **{"dm/name": "vg-home"})
    machine.holds(crypt, partition)
    machine.holds(volume, crypt)
    machine.mount("252:1", "/home", "xfs", "/dev/mapper/vg-home")
    assert machine.uses(disk) == [
        "its partition nvme0n1p2 is held by dm-0 (luks-home)",
        "dm-0 (luks-home) on it is held by dm-1 (vg-home)",
        "dm-1 (vg-home) on it is mounted at /home",
    ]
    assert machine.uses(partition)[0] == "it is held by dm-0 (luks-home)"
    assert machine.uses(volume) == ["it is mounted at /home"]


def test_a_volume_beside_a_mounted_one_is_free(machine: Machine) -> None:
    disk = machine.disk("sda", "8:0")
    used, free = machine.disk("dm-0", "252:0"), machine.disk("dm-1", "252:1")
    machine.holds(used, disk)
    machine.holds(free, disk)
    machine.mount("252:0", "/srv", "ext4", "/dev/dm-0")
    assert machine.uses(free) == []
    assert "dm-0 on it is mounted at /srv" in machine.uses(disk)


def test_a_raid_of_two_disks_counts_for_both(machine: Machine) -> None:
    one, two = machine.disk("sda", "8:0"), machine.disk("sdb", "8:16")
    array = machine.disk("md0", "9:0")
    machine.holds(array, one, two)
    for disk in (one, two):
        assert machine.uses(disk) == ["it is held by md0"]
    assert machine.uses(array) == []


def test_a_raid_of_a_disk_counts_for_its_partition(machine: Machine) -> None:
    disk = machine.disk("sda", "8:0")
    partition = machine.partition(disk, "sda1", "8:1")
    machine.holds(machine.disk("md0", "9:0"), disk)
    assert machine.uses(partition) == ["the whole disk sda is held by md0"]


def test_a_journal_on_another_device(machine: Machine) -> None:
    disk, journal = machine.disk("sda", "8:0"), machine.disk("sdb", "8:16")
    machine.mount("8:0", "/data", "xfs", "/dev/sda", "rw,logdev=/dev/sdb,noquota")
    assert machine.uses(disk) == ["it is mounted at /data"]
    assert machine.uses(journal) == ["it is mounted at /data"]


def test_btrfs_lies_on_all_its_members(machine: Machine) -> None:
    disks = [machine.disk(name, number) for name, number in (("sda", "8:0"), ("sdb", "8:16"))]
    devices = machine.root / "sys/fs/btrfs/1234-5678/devices"
    devices.mkdir(parents=True)
    for disk in disks:
        (devices / disk.name).symlink_to(disk)
    machine.mount("0:40", "/pool", "btrfs", "/dev/sda")
    assert machine.uses(disks[0]) == [
        "it is mounted at /pool",
        "it is a member of the mounted btrfs 1234-5678",
    ]
    assert machine.uses(disks[1]) == ["it is a member of the mounted btrfs 1234-5678"]


def test_bcachefs_names_all_its_members(machine: Machine) -> None:
    disks = [machine.disk(name, number) for name, number in (("sda", "8:0"), ("sdb", "8:16"))]
    machine.mount("0:41", "/pool", "bcachefs", "/dev/sda:/dev/sdb")
    for disk in disks:
        assert machine.uses(disk) == ["it is mounted at /pool"]


def test_swap_on_a_partition(machine: Machine) -> None:
    disk = machine.disk("sda", "8:0")
    machine.partition(disk, "sda1", "8:1")
    machine.swaps.append("/dev/sda1")
    assert machine.uses(disk) == ["its partition sda1 is used as swap"]


def test_loop_devices_over_one_file(machine: Machine) -> None:
    machine.file("/images/a b.img", inode=77)
    one = machine.loop("loop9001", "7:9001", "/images/a b.img")
    assert machine.uses(one) == []
    two = machine.loop("loop9002", "7:9002", "/images/a b.img")
    machine.mount("7:9002", "/mnt", "ext4", "/dev/loop9002")
    assert machine.uses(one) == [
        "loop device loop9002 is attached to its backing file",
        "loop9002 over it is mounted at /mnt",
    ]
    assert "loop device loop9001 is attached to its backing file" in machine.uses(two)
    first, *_ = machine.usage().of_file((5, 77))
    assert first.what == "loop device loop9001 is attached to it"


def test_a_partition_of_a_loop_device_over_a_shared_file(machine: Machine) -> None:
    machine.file("/images/a.img", inode=77)
    loop = machine.loop("loop9001", "7:9001", "/images/a.img")
    partition = machine.partition(loop, "loop9001p1", "259:5")
    machine.loop("loop9002", "7:9002", "/images/a.img")
    assert machine.uses(partition) == ["loop device loop9002 is attached to its backing file"]


def test_a_file_mounted_without_a_loop_device(machine: Machine) -> None:
    machine.file("/images/a.erofs", inode=78)
    loop = machine.loop("loop9001", "7:9001", "/images/a.erofs")
    machine.mount("0:50", "/usr", "erofs", "/images/a.erofs")
    assert machine.uses(loop) == ["its backing file is mounted at /usr"]


def test_a_swap_file_behind_a_loop_device(machine: Machine) -> None:
    machine.file("/swapfile", inode=79)
    loop = machine.loop("loop9001", "7:9001", "/swapfile")
    machine.swaps.append("/swapfile")
    assert machine.uses(loop) == ["its backing file is used as swap"]


MIB = 1 << 20
"""The size of a made-up loop device."""


@pytest.mark.parametrize("leads_to", ["nothing", "another file"])
def test_a_loop_device_that_cannot_be_asked_may_be_over_any_file_of_that_name(
    machine: Machine, leads_to: str
) -> None:
    if leads_to == "another file":
        machine.file("/inside/disk.img", inode=1)
    machine.loop("loop9001", "7:9001", "/inside/disk.img (deleted)")

    def uses(path: str, size_bytes: int) -> list[str]:
        return [use.what for use in machine.usage().of_file((5, 77), path=path, size_bytes=size_bytes)]

    for size_bytes in (MIB, 2 * MIB):  # a file may have grown since
        (what,) = uses("/srv/disk.img", size_bytes)
        assert what.startswith("loop device loop9001 may be attached to it")
    assert uses("/srv/disk.img", MIB - 1) == []
    assert uses("/srv/other.img", MIB) == []


def test_a_device_without_a_node_is_known_by_its_name(machine: Machine) -> None:
    disk = machine.disk("sda", "8:0")
    del machine.known["/dev/sda"]
    machine.loop("loop9001", "7:9001", "/dev/sda")
    assert machine.uses(disk) == ["loop device loop9001 is attached to it"]


LAYERS = "rw,lowerdir=/lower:/lowest,upperdir=/upper,workdir=/work"


@pytest.mark.parametrize("layer", ["/upper", "/lowest"])
@pytest.mark.parametrize("process", ["self", "18"])
def test_a_file_of_an_overlay_is_the_same_in_its_layer(machine: Machine, layer: str, process: str) -> None:
    machine.mount("0:50", "/merged", "overlay", "overlay", LAYERS)
    if process != "self":
        # Mounted in another namespace only.
        for name, namespace in (("self", "mnt:[1]"), (process, "mnt:[2]")):
            (machine.root / "proc" / name / "ns").mkdir(parents=True)
            (machine.root / "proc" / name / "ns" / "mnt").symlink_to(namespace)
        (machine.root / "proc" / process / "mountinfo").write_text(machine.mounts.pop())
    machine.file("/merged/a.img", inode=7, device=50)
    machine.file(f"{layer}/a.img", inode=9)
    machine.file("/lowest/a.img", inode=9)
    loop = machine.loop("loop9001", "7:9001", "/merged/a.img")
    assert [use.what for use in machine.usage().of_file((5, 9))] == ["loop device loop9001 is attached to it"]
    (loop / "loop/backing_file").write_text(f"{layer}/a.img")
    merged = machine.usage().of_file((50, 7), path="/merged/a.img")
    assert [use.what for use in merged] == ["loop device loop9001 is attached to it"]
    machine.file("/merged/b.img", inode=8, device=50)
    assert machine.usage().of_file((50, 8), path="/merged/b.img") == []


def test_an_overlay_over_its_own_layer_is_looked_through_once(machine: Machine) -> None:
    machine.mount("0:50", "/upper", "overlay", "overlay", LAYERS)
    machine.file("/upper/a.img", inode=7, device=50)
    assert machine.usage().of_file((50, 7), path="/upper/a.img") == []


def test_loop_devices_behind_each_other(machine: Machine) -> None:
    """The search ends even where a machine describes a circle."""
    one = machine.loop("loop9001", "7:9001", "/dev/loop9002")
    two = machine.loop("loop9002", "7:9002", "/dev/loop9001")
    assert "loop device loop9002 is attached to it" in machine.uses(one)
    assert "loop device loop9001 is attached to it" in machine.uses(two)


def test_the_device_behind_a_zram(machine: Machine) -> None:
    disk = machine.disk("sda", "8:0")
    machine.disk("zram0", "253:0", backing_dev="/dev/sda")
    machine.disk("zram1", "253:1", backing_dev="none")
    assert machine.uses(disk) == ["it is the backing device of zram0"]


def test_mounts_of_other_namespaces_count(machine: Machine) -> None:
    disk = machine.disk("sda", "8:0")
    for process, namespace in (("self", "mnt:[1]"), ("17", "mnt:[1]"), ("18", "mnt:[2]"), ("19", "mnt:[2]")):
        folder = machine.root / "proc" / process / "ns"
        folder.mkdir(parents=True)
        (folder / "mnt").symlink_to(namespace)
    line = "36 35 8:0 / /in/container rw - ext4 /dev/sda rw\n"
    (machine.root / "proc/17/mountinfo").write_text(line.replace("container", "ours"))
    (machine.root / "proc/18/mountinfo").write_text(line)
    (machine.root / "proc/19/mountinfo").write_text(line)
    assert machine.uses(disk) == ["it is mounted at /in/container"]


@given(st.text(alphabet=" \t\n\\#a/é0", min_size=1))
def test_mount_points_with_blanks_come_back(name: str) -> None:
    point = f"/{name}"
    escaped = "".join(f"\\{ord(letter):03o}" if letter in " \t\n\\#" else letter for letter in point)
    mount = parse_mount(f"36 35 8:0 / {escaped} rw shared:1 master:2 - ext4 /dev/sda rw")
    assert mount
    assert mount.point == point


@given(st.text(max_size=200))
def test_any_line_is_a_mount_or_none(line: str) -> None:
    mount = parse_mount(line)
    assert mount is None or " - " in line


def test_unescape_leaves_other_backslashes() -> None:
    assert unescape(r"a\b\0") == r"a\b\0"


# --- Which device --destroy means ---------------------------------------------------------------------------


def test_serials_of_every_kind(machine: Machine) -> None:
    nvme = machine.disk("nvme0n1", "259:0", **{"device/serial": " PHKE1234 \n", "wwid": "eui.01"})
    scsi = machine.disk("sda", "8:0", **{"device/wwid": "naa.5000"})
    (scsi / "device/vpd_pg80").write_bytes(b"\x00\x80\x00\x0a  S3R1AL  ")
    virtio = machine.disk("vda", "254:0", serial="abc")
    partition = machine.partition(scsi, "sda1", "8:1")

    def of(folder: Path) -> list[str]:
        return serials(BlockDevice(folder, machine.host))

    assert of(nvme) == ["PHKE1234", "eui.01"]
    assert of(scsi) == of(partition) == ["S3R1AL", "naa.5000"]
    assert of(virtio) == ["abc"]


def test_destroy_by_serial_is_exact(machine: Machine) -> None:
    device = BlockDevice(machine.disk("vda", "254:0", serial="S123"), machine.host)
    assert names_device(["S123"], "/dev/vda", device, machine.host)
    for wrong in ("S12", "s123", "S1234", "", " ", "vda", "/dev/vdb"):
        assert not names_device([wrong], "/dev/vda", device, machine.host)


def test_an_empty_serial_matches_nothing(machine: Machine) -> None:
    device = BlockDevice(machine.disk("vda", "254:0", serial=" "), machine.host)
    assert not names_device(["", " "], "/dev/vda", device, machine.host)


def test_a_serial_that_two_disks_share_confirms_neither(machine: Machine) -> None:
    one = BlockDevice(
        machine.disk("nvme0n1", "259:0", **{"device/serial": "CTRL", "wwid": "eui.1"}), machine.host
    )
    machine.disk("nvme0n2", "259:1", **{"device/serial": "CTRL", "wwid": "eui.2"})
    assert not names_device(["CTRL"], "/dev/nvme0n1", one, machine.host)
    assert names_device(["eui.1"], "/dev/nvme0n1", one, machine.host)
    assert not names_device(["eui.2"], "/dev/nvme0n1", one, machine.host)
    assert names_device(["/dev/nvme0n1"], "/dev/nvme0n1", one, machine.host)


def test_destroying_a_disk_does_not_name_its_partition(machine: Machine) -> None:
    disk = machine.disk("vda", "254:0", serial="S123")
    partition = BlockDevice(machine.partition(disk, "vda1", "254:1"), machine.host)
    assert not names_device(["/dev/vda"], "/dev/vda1", partition, machine.host)
    assert names_device(["S123"], "/dev/vda1", partition, machine.host)
