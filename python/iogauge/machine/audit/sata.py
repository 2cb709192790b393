"""Checks of SATA drives. Source: the kernel's Documentation/ABI/testing/sysfs-class-scsi_host and sysfs-ata."""

from __future__ import annotations

from iogauge.machine.audit.check import Check, at_least, equals, file, without_ata

CHECKS = (
    Check(
        id="sata.link_power", weight=3, title="link power management", look=file("{ata}/link_power_management_policy"),
        wanted="max_performance", judge=equals("max_performance"), excused=without_ata,
        why="a link in Partial takes 10 us to wake, in Slumber 10 ms",
        source="sysfs-class-scsi_host; AnandTech's power test",
        change="echo max_performance > /sys/class/scsi_host/{ata}/link_power_management_policy",
    ),
    Check(
        id="sata.queue_depth", weight=1,
        title="requests that the drive takes (NCQ)", look=file("{disk}/device/queue_depth"),
        wanted="at least 31", judge=at_least(31), excused=without_ata,
        why="1 switches native command queueing off", source="Documentation/scsi/scsi_mid_low_api.rst",
        change="echo 31 > /sys/block/{device}/device/queue_depth",
    ),
)  # fmt: skip
