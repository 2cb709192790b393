"""Checks of NVMe drives and their driver, as sysfs shows them. What the drive says itself is in ``iogauge drive-info``.

Sources: the kernel's drivers/nvme/host (module parameters and sysfs attributes) and
Documentation/ABI/testing/sysfs-nvme; nvme-cli issue 878 on APST.
"""

from __future__ import annotations

from iogauge.machine.audit.check import Check, Look, Seen, at_least, equals, file, read_value, without_nvme
from iogauge.machine.audit.subject import Subject

_DRIVER = "drivers/nvme/host"


def temperature(subject: Subject) -> Seen:
    """Look at how far the drive's temperature is below its own warning, in degrees Celsius."""
    path = "/sys/class/nvme/*/hwmon*/temp1_{input,max}"
    if subject.nvme is None:
        return Seen(path, problem="the drive's directory is not known")
    for folder in sorted(subject.nvme.glob("**/hwmon[0-9]*")):
        (now, why), (most, why_not) = (read_value(folder / f"temp1_{name}") for name in ("input", "max"))
        if now is None or most is None:
            return Seen(path, problem=why or why_not)
        try:
            margin = (int(most) - int(now)) / 1000
        except ValueError:
            return Seen(path, problem="not numbers")
        return Seen(
            path, (f"{margin:.0f}",), meaning=f"{int(now) / 1000:.0f} C, it warns at {int(most) / 1000:.0f} C"
        )
    return Seen(path)


def _recorded(name: str, title: str, why: str, look: Look, *, weight: int = 0) -> Check:
    return Check(
        id=f"nvme.{name}",
        weight=weight,
        title=title,
        look=look,
        why=why,
        source=_DRIVER,
        excused=without_nvme,
    )


def _parameter(name: str) -> Look:
    return file(f"sys/module/nvme/parameters/{name}")


def _core(name: str) -> Look:
    return file(f"sys/module/nvme_core/parameters/{name}")


def _sleepless(tolerance_us: str) -> bool:
    """Return whether the drive may enter no power state alone; ``auto`` and ``any`` let it enter all."""
    return tolerance_us not in ("auto", "any") and int(tolerance_us) == 0


CHECKS = (
    _recorded("model", "model", "drives of one name differ by model", file("{nvme}/model")),
    _recorded("firmware", "firmware", "a new firmware is another drive", file("{nvme}/firmware_rev")),
    _recorded("transport", "transport", "pcie, or a network: tcp, rdma, fc", file("{nvme}/transport")),
    Check(
        id="nvme.state", title="state of the controller", look=file("{nvme}/state"), wanted="live",
        judge=equals("live"), why="a controller that resets answers late or not at all", source=_DRIVER,
        excused=without_nvme,
    ),
    _recorded(
        "queues", "I/O queues and the admin queue", "fewer than the CPUs are shared", file("{nvme}/queue_count"),
        weight=2,
    ),
    _recorded(
        "queue_size", "entries of a queue", "a deeper load waits above the drive", file("{nvme}/sqsize"), weight=1,
    ),
    _recorded(
        "poll_queues", "queues for polling", "0: io_uring's hipri cannot poll", _parameter("poll_queues"), weight=3,
    ),
    _recorded(
        "write_queues", "queues for writes", "0: writes and reads share queues", _parameter("write_queues"), weight=1,
    ),
    Check(
        id="nvme.apst", weight=3, title="latency that the drive may add by sleeping, us",
        look=file("{nvme}/power/pm_qos_latency_tolerance_us"),
        wanted="0 (none)", judge=_sleepless, excused=without_nvme,
        why="a drive that sleeps between requests takes up to this long to wake; drives without APST ignore it",
        source="nvme-cli issue 878; " + _DRIVER,
        change="echo 0 > /sys/class/nvme/{nvme}/power/pm_qos_latency_tolerance_us",
    ),
    _recorded("apst_primary", "first sleep after, ms", "100 by default", _core("apst_primary_timeout_ms"), weight=2),
    _recorded(
        "apst_secondary", "second sleep after, ms", "2,000 by default", _core("apst_secondary_timeout_ms"), weight=2,
    ),
    _recorded("timeout", "request timeout, s", "a request that takes longer is aborted", _core("io_timeout")),
    _recorded("multipath", "native multipath", "it puts a layer above the drive", _core("multipath"), weight=1),
    _recorded(
        "host_memory", "memory lent to drives, MiB", "drives without memory of their own (HMB) keep tables there",
        _parameter("max_host_mem_size_mb"),
    ),
    Check(
        id="nvme.temperature", volatile=True,
        title="degrees below the drive's own warning", look=temperature, wanted="at least 10",
        judge=at_least(10), excused=without_nvme, why="a hot drive throttles itself",
        source="drivers/nvme/host/hwmon.c",
    ),
)  # fmt: skip
