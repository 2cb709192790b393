"""How warm a drive is, from small trees like the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.machine.samples.temperature import warmest_C
from iogauge.target.users.sysfs import Host


@pytest.mark.parametrize(
    "place",
    ["device/hwmon1", "device/hwmon/hwmon1", "device/device/hwmon/hwmon3"],
    ids=["new", "old", "scsi"],
)
def test_a_sensor_is_found_wherever_the_kernel_has_it(tmp_path: Path, place: str) -> None:
    sensor = tmp_path / "class/block/nvme0n1" / place
    sensor.mkdir(parents=True)
    (sensor / "temp1_input").write_text("41850\n")
    assert warmest_C(["nvme0n1"], Host(sys=tmp_path)) == 41.85


def test_the_warmest_counts_and_a_partition_is_as_warm_as_its_disk(tmp_path: Path) -> None:
    for disk, text in (("sda", "30000"), ("sdb", "45000"), ("sdc", "garbage")):
        sensor = tmp_path / f"devices/{disk}/device/hwmon/hwmon0"
        sensor.mkdir(parents=True)
        (sensor / "temp1_input").write_text(text)
    (tmp_path / "devices/sda/sda1").mkdir()
    (tmp_path / "devices/sda/sda1/partition").write_text("1")
    (tmp_path / "class/block").mkdir(parents=True)
    for name, place in (("sda", "sda"), ("sdb", "sdb"), ("sdc", "sdc"), ("sda1", "sda/sda1")):
        (tmp_path / "class/block" / name).symlink_to(tmp_path / "devices" / place)
    host = Host(sys=tmp_path)
    assert warmest_C(["sda", "sdb"], host) == 45
    assert warmest_C(["sda1"], host) == 30
    assert warmest_C(["sdc"], host) is None
    assert warmest_C(["nowhere"], host) is None
    assert warmest_C([], host) is None
