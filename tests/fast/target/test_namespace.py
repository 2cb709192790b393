"""Which character device takes commands for which block device, over made-up trees in the shape of sysfs."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest

from iogauge.target import open_target
from iogauge.target.block import names_device
from iogauge.target.namespace import block_device_of, character_number, open_namespace, real_path
from iogauge.target.refusal import TargetRefused
from iogauge.target.users.sysfs import BlockDevice, Host

CONTROLLER = "sys/devices/pci/nvme/nvme3"


class Machine:
    """Builds the trees of NVMe namespaces, and knows what a path in ``/dev`` is."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.nodes: dict[str, tuple[int, str]] = {}
        for folder in ("block", "char"):
            (root / "sys/dev" / folder).mkdir(parents=True)
        (root / "sys/class/block").mkdir(parents=True)
        self.host = Host(root / "sys", root / "proc", self._stat)

    def block(self, name: str, number: str, parent: str = CONTROLLER, **attributes: str) -> BlockDevice:
        folder = self._make(name, number, parent, "block", stat.S_IFBLK)
        for key, value in attributes.items():
            path = folder / key.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.write_text(value + "\n")
        (self.root / "sys/class/block" / name).symlink_to(folder)
        return BlockDevice(folder, self.host)

    def character(self, name: str, number: str, parent: str = CONTROLLER) -> str:
        self._make(name, number, parent, "char", stat.S_IFCHR)
        return f"/dev/{name}"

    def _make(self, name: str, number: str, parent: str, kind: str, mode: int) -> Path:
        folder = self.root / parent / name
        folder.mkdir(parents=True)
        (folder / "dev").write_text(f"{number}\n")
        (self.root / "sys/dev" / kind / number).symlink_to(folder)
        self.nodes[f"/dev/{name}"] = (mode, number)
        return folder

    def _stat(self, path: str) -> os.stat_result:
        if path not in self.nodes:
            raise FileNotFoundError(path)
        mode, number = self.nodes[path]
        device = os.makedev(*map(int, number.split(":")))
        return SimpleNamespace(st_mode=mode, st_rdev=device)  # type: ignore[return-value]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_devices_of_one_namespace_have_its_number_and_not_always_one_name(machine: Machine) -> None:
    # Where a subsystem is numbered apart from its controller, only the last number is the same.
    first, twelfth = machine.block("nvme0n1", "259:0"), machine.block("nvme0n12", "259:1")
    for number, block in (("1", first), ("12", twelfth)):
        path = machine.character(f"ng3n{number}", f"244:{number}")
        assert block_device_of(path, machine.host) == block
        assert character_number(block) == f"244:{number}"
        assert real_path(path, machine.host) == f"/dev/{block.name}"


def test_namespaces_of_other_controllers_are_others(machine: Machine) -> None:
    other = machine.block("nvme4n1", "259:4", "sys/devices/pci/nvme/nvme4")
    path = machine.character("ng3n1", "244:1")
    assert block_device_of(path, machine.host) is None
    assert character_number(other) is None


def test_a_hidden_path_of_a_shared_namespace_is_not_its_disk(machine: Machine) -> None:
    subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0"
    machine.block("nvme0c0n1", "259:1")
    disk = machine.block("nvme0n1", "259:0", subsystem)
    assert block_device_of(machine.character("ng0n1", "244:0", subsystem), machine.host) == disk


def test_what_is_no_namespace(machine: Machine) -> None:
    disk = machine.block("sda", "8:0", "sys/devices/ata")
    machine.character("tty1", "4:1", "sys/devices/tty")
    assert character_number(disk) is None
    for path in ("/dev/sda", "/dev/tty1", "/dev/missing"):
        assert block_device_of(path, machine.host) is None
        assert real_path(path, machine.host) == path


def test_destroy_may_name_either_device(machine: Machine) -> None:
    block, path = machine.block("nvme3n1", "259:0"), machine.character("ng3n1", "244:1")
    machine.block("nvme3n2", "259:2")
    other = machine.character("ng3n2", "244:2")
    for target in ("/dev/nvme3n1", path):
        assert names_device(["/dev/nvme3n1"], target, block, machine.host)
        assert names_device([path], target, block, machine.host)
        assert not names_device([other], target, block, machine.host)


@pytest.mark.parametrize(
    ("attributes", "refused"),
    [
        ({"metadata_bytes": "8"}, True),
        ({"metadata_bytes": "0", "integrity__format": "none"}, False),
        ({"integrity__format": "T10-DIF-TYPE1-CRC"}, True),
        ({"integrity__format": "none"}, False),
        ({}, False),
    ],
)
def test_blocks_with_metadata_are_refused(
    machine: Machine, attributes: dict[str, str], refused: bool
) -> None:
    block = machine.block("nvme987n1", "259:0", **attributes)
    machine.character("ng987n1", "244:1")
    with pytest.raises(TargetRefused) as caught:
        open_namespace(-1, "/dev/nvme987n1", block, write=False)
    # Nothing else is wrong but that there is no such node on this machine.
    assert ("metadata" in str(caught.value)) == refused
    assert ("No such file" in str(caught.value)) != refused
    assert caught.value.hint


def test_a_partition_takes_no_commands(machine: Machine) -> None:
    machine.block("nvme3n1", "259:0")
    machine.character("ng3n1", "244:1")
    part = machine.block("nvme3n1p1", "259:1", f"{CONTROLLER}/nvme3n1", partition="1")
    with pytest.raises(TargetRefused, match="whole namespaces only") as caught:
        open_namespace(-1, "/dev/nvme3n1p1", part, write=True)
    assert "/dev/nvme3n1" in (caught.value.hint or "")


def test_files_take_no_commands(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(bytes(4096))
    for path, reason in (
        (file, "no NVMe namespace"),
        (tmp_path / "missing", "there is no such device"),
        (Path("/dev/null"), "no NVMe namespace"),
    ):
        with pytest.raises(TargetRefused, match=reason) as caught:
            open_target(str(path), write=True, size_bytes=4096, commands=True)
        assert "ioengine=io_uring" in (caught.value.hint or "")
    assert not (tmp_path / "missing").exists()
