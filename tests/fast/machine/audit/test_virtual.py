"""Limits of control groups: those of the drive count, those of other drives are mentioned, hidden ones are unknown."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from iogauge.machine.audit import CHECKS
from iogauge.machine.audit.subject import Subject
from iogauge.schema.audit import AuditFact
from iogauge.target.users.sysfs import BlockDevice
from tests.audit_trees import build, write

BY_ID = {check.id: check for check in CHECKS}
GROUPS = "sys/fs/cgroup"
BLKIO = {
    "proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio",
    "proc/self/cgroup": "5:blkio:/jail",
}
LIMIT = "rbps=1048576 wbps=max riops=max wiops=max"


def fact(check: str, subject: Subject) -> AuditFact:
    return BY_ID[f"virtual.{check}"].fact(subject)


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    """The drive 259:0 of a machine whose user.slice has no limits."""
    return build("intel-two-sockets", tmp_path).subject


def add(folder: Path, files: dict[str, str]) -> None:
    for path, value in files.items():
        (folder / path).unlink(missing_ok=True)
        write(folder / path, value)


def test_a_limit_on_another_drive_is_mentioned(subject: Subject, tmp_path: Path) -> None:
    add(tmp_path, {f"{GROUPS}/user.slice/io.max": f"8:0 {LIMIT}"})
    limits = fact("cgroup_io", subject)
    assert (limits.verdict, limits.value) == ("pass", "none")
    assert limits.meaning == f"none; of other drives: io.max=8:0 {LIMIT} (in /user.slice)"
    add(tmp_path, {f"{GROUPS}/user.slice/io.max": f"8:0 {LIMIT}\n259:0 {LIMIT}"})
    assert fact("cgroup_io", subject).verdict == "differs"
    assert fact("cgroup_io", subject).value == f"io.max=259:0 {LIMIT} (in /user.slice)"


def test_without_a_drive_every_limit_counts(subject: Subject, tmp_path: Path) -> None:
    add(tmp_path, {f"{GROUPS}/user.slice/io.max": f"8:0 {LIMIT}"})
    assert fact("cgroup_io", replace(subject, drive=None)).verdict == "differs"
    assert fact("cgroup_io_cost", replace(subject, drive=None)).verdict == "not applicable"


def test_a_limit_on_the_disk_of_a_layer_counts(subject: Subject, tmp_path: Path) -> None:
    assert subject.drive is not None
    disk = subject.drive.directory
    layer = tmp_path / "sys/devices/virtual/block/dm-0"
    add(layer, {"dev": "253:0"})
    add(disk, {"nvme0n1p1/partition": "1", "nvme0n1p1/dev": "259:1"})
    write(tmp_path / "sys/class/block/nvme0n1p1", str(disk / "nvme0n1p1"), link=True)
    write(layer / "slaves/nvme0n1p1", str(disk / "nvme0n1p1"), link=True)
    add(tmp_path, {f"{GROUPS}/user.slice/io.max": f"259:0 {LIMIT}"})
    above = replace(subject, drive=BlockDevice(layer, subject.host))
    assert above.numbers == {"253:0", "259:1", "259:0"}
    assert fact("cgroup_io", above).verdict == "differs"


def test_a_drive_without_a_number_is_unknown(subject: Subject, tmp_path: Path) -> None:
    assert subject.drive is not None
    (subject.drive.directory / "dev").unlink()
    for check in ("cgroup_io", "cgroup_io_latency", "cgroup_io_cost", "cgroup_io_weight"):
        assert fact(check, subject).verdict == "unknown"


def test_targets_of_latency_of_groups_beside_count(subject: Subject, tmp_path: Path) -> None:
    add(tmp_path, {f"{GROUPS}/system.slice/io.latency": "8:0 target=500"})
    assert fact("cgroup_io_latency", subject).verdict == "pass"
    add(tmp_path, {f"{GROUPS}/system.slice/io.latency": "259:0 target=500"})
    targets = fact("cgroup_io_latency", subject)
    assert (targets.verdict, targets.value) == ("differs", "io.latency=259:0 target=500 (in /system.slice)")
    add(
        tmp_path,
        {"proc/self/cgroup": "0::/user.slice/a", f"{GROUPS}/user.slice/b/io.latency": "259:0 target=9"},
    )
    (tmp_path / GROUPS / "user.slice/a").mkdir()
    assert "in /user.slice/b" in fact("cgroup_io_latency", subject).meaning


def test_sharing_by_weights(subject: Subject, tmp_path: Path) -> None:
    assert fact("cgroup_io_cost", subject).value == "off"
    assert fact("cgroup_io_weight", subject).value == "io.weight 100 (in /user.slice)"
    add(
        tmp_path,
        {
            f"{GROUPS}/io.cost.qos": "8:0 enable=1 ctrl=auto",
            f"{GROUPS}/user.slice/io.weight": "default 100\n259:0 20",
        },
    )
    assert fact("cgroup_io_cost", subject).verdict == "pass"
    assert fact("cgroup_io_weight", subject).value == "io.weight 20 (in /user.slice)"
    add(tmp_path, {f"{GROUPS}/io.cost.qos": "259:0 enable=1 ctrl=auto"})
    assert fact("cgroup_io_cost", subject).verdict == "differs"
    (tmp_path / GROUPS / "io.cost.qos").unlink()
    assert fact("cgroup_io_cost", subject).verdict == "unknown"


def test_groups_above_a_container_are_unknown(subject: Subject, tmp_path: Path) -> None:
    add(tmp_path, {f"{GROUPS}/cgroup.type": "domain", "proc/self/cgroup": "0::/"})
    for check in ("cgroup_cpu", "cgroup_io", "cgroup_io_latency", "cgroup_io_cost"):
        assert fact(check, subject).verdict == "unknown"
        assert fact(check, subject).meaning == "the groups above the container's are not visible"
    add(tmp_path, {f"{GROUPS}/io.max": f"259:0 {LIMIT}", f"{GROUPS}/cpu.max": "50000 100000"})
    assert fact("cgroup_io", subject).verdict == "differs"
    assert fact("cgroup_cpu", subject).verdict == "differs"


def test_a_container_whose_mount_is_a_part_of_the_hierarchy(subject: Subject, tmp_path: Path) -> None:
    add(
        tmp_path,
        {
            "proc/self/mountinfo": "30 1 0:26 /docker/a1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
            "proc/self/cgroup": "0::/docker/a1",
            f"{GROUPS}/cgroup.type": "domain",
            f"{GROUPS}/cpu.max": "50000 100000",
        },
    )
    assert fact("cgroup_cpu", subject).value == "cpu.max=50000 100000 (in /)"


def test_a_group_that_is_not_there_is_unknown(subject: Subject, tmp_path: Path) -> None:
    add(tmp_path, {"proc/self/cgroup": "0::/elsewhere"})
    assert fact("cgroup_io", subject).verdict == "unknown"
    assert fact("cgroup_io", subject).meaning == "the group /elsewhere is not visible"


def test_the_older_hierarchy(subject: Subject, tmp_path: Path) -> None:
    file = f"{GROUPS}/blkio/jail/blkio.throttle.read_bps_device"
    add(tmp_path, {**BLKIO, file: "8:0 1048576"})
    assert fact("cgroup_io", subject).verdict == "pass"
    add(tmp_path, {file: "259:0 1048576"})
    assert fact("cgroup_io", subject).value == "blkio.throttle.read_bps_device=259:0 1048576 (in /jail)"
    (tmp_path / file).unlink()
    (tmp_path / file).mkdir()
    assert fact("cgroup_io", subject).verdict == "unknown"
