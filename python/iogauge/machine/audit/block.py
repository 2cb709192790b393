"""Checks of the block layer above the drive, and of who else uses it.

Sources: the kernel's Documentation/ABI/stable/sysfs-block, Documentation/block (queue-sysfs, writeback_cache_control),
Documentation/ABI/testing/sysfs-block; fio's HOWTO on polling.
"""

from __future__ import annotations

from iogauge.machine.audit.check import Check, Look, Seen, at_most, equals, file, read_value, without_drive
from iogauge.machine.audit.subject import Subject
from iogauge.target.users.sysfs import names_in
from iogauge.text.numbers import counted

_QUEUE = "/sys/block/{device}/queue"
_SYSFS = "Documentation/ABI/stable/sysfs-block"


def holders(subject: Subject) -> Seen:
    """Look at which devices are made of the drive or of one of its partitions."""
    assert subject.drive is not None
    disk = subject.drive
    path = f"/sys/block/{disk.name}/holders"
    if not (disk.directory / "holders").is_dir():
        return Seen(path)
    names = {name for device in (disk, *disk.partitions) for name in names_in(device.directory / "holders")}
    return Seen(path, tuple(sorted(names)) or ("none",))


def layers(subject: Subject) -> Seen:
    """Look at which devices the drive is made of: of a device-mapper, RAID or loop device."""
    assert subject.drive is not None
    path = f"/sys/block/{subject.drive.name}/slaves"
    if not (subject.drive.directory / "slaves").is_dir():
        return Seen(path)
    kind, _ = read_value(subject.drive.directory / "dm/uuid")
    if backing := subject.drive.backing_path:
        return Seen(path, (f"loop over {backing}",))
    names = names_in(subject.drive.directory / "slaves")
    if not names:
        return Seen(path, ("none",))
    made = f"{kind.partition('-')[0].lower()} over " if kind else "over "
    return Seen(path, (made + ", ".join(names),))


def in_flight(subject: Subject) -> Seen:
    """Look at the requests that are in flight now."""
    assert subject.drive is not None
    path = f"/sys/block/{subject.drive.name}/inflight"
    text, why = read_value(subject.drive.directory / "inflight")
    fields = (text or "").split()
    if len(fields) != 2 or not all(map(str.isdecimal, fields)):
        return Seen(path, problem=why or "not two numbers")
    return Seen(path, (str(sum(map(int, fields))),))


def hardware_queues(subject: Subject) -> Seen:
    """Look at how many hardware queues the drive has, and how many CPUs share the fullest."""
    assert subject.drive is not None
    path = f"/sys/block/{subject.drive.name}/mq/*/cpu_list"
    sizes: list[int] = []
    for folder in (subject.drive.directory / "mq").glob("[0-9]*"):
        text, why = read_value(folder / "cpu_list")
        if text is None:
            return Seen(path, problem=why)
        sizes.append(len([cpu for cpu in text.split(",") if cpu.strip()]))
    if not sizes:
        return Seen(path)
    return Seen(
        path,
        (str(max(sizes)),),
        meaning=f"{counted(len(sizes), 'queue')}, at most {counted(max(sizes), 'CPU')} on one",
    )


def _recorded(name: str, title: str, why: str, file_: str, *, weight: int = 0) -> Check:
    return Check(
        id=f"block.{name}", weight=weight, title=title, look=file(f"{{queue}}/{file_}"), why=why, source=_SYSFS,
        excused=without_drive,
    )  # fmt: skip


def _number(name: str, title: str, why: str, *, wanted: int, weight: int) -> Check:
    return Check(
        id=f"block.{name}", weight=weight, title=title, look=file(f"{{queue}}/{name}"), wanted=str(wanted),
        judge=lambda value: int(value) == wanted, why=why, source=_SYSFS,
        change=f"echo {wanted} > {_QUEUE}/{name}", excused=without_drive,
    )  # fmt: skip


def _setting(name: str, title: str, look: Look, wanted: str, why: str, *, weight: int = 0) -> Check:
    return Check(
        id=f"block.{name}", weight=weight,
        title=title, look=look, wanted=wanted, judge=equals(wanted), why=why, source=_SYSFS,
        excused=without_drive,
    )  # fmt: skip


CHECKS = (
    Check(
        id="block.scheduler", weight=2,
        title="I/O scheduler", look=file("{queue}/scheduler", chosen=True), wanted="none",
        judge=equals("none"), why="a scheduler costs CPU for each request and holds some back", source=_SYSFS,
        change=f"echo none > {_QUEUE}/scheduler", excused=without_drive,
    ),
    _number(
        "rq_affinity", "CPU of completions", "2 completes a request on the very CPU that submitted it", wanted=2,
        weight=2,
    ),
    _number(
        "nomerges", "merging of requests", "2 looks for none: random requests have no neighbours", wanted=2, weight=2,
    ),
    _number(
        "wbt_lat_usec", "throttling of writeback, us", "it holds back buffered writes; 0 is off", wanted=0, weight=1,
    ),
    _number("add_random", "entropy from requests", "each request would feed the random pool", wanted=0, weight=1),
    _recorded("nr_requests", "requests of a queue", "a deeper load waits above the drive", "nr_requests", weight=1),
    _recorded(
        "iostats", "counting of requests", "costs little; iogauge reads the device's time from it", "iostats", weight=1,
    ),
    _recorded(
        "io_poll", "polling", "1: requests of io_uring's hipri are polled for, without an interrupt", "io_poll",
        weight=3,
    ),
    _recorded("read_ahead_kb", "read-ahead, KiB", "buffered reads fetch more than was asked for", "read_ahead_kb"),
    _recorded(
        "write_cache", "write cache", "writes return before they are durable; PTS wants it off", "write_cache",
        weight=3,
    ),
    _recorded("fua", "forced unit access", "without it a durable write needs a flush of the cache", "fua"),
    _recorded("logical_block_size", "logical block, bytes", "direct I/O is aligned to it", "logical_block_size"),
    _recorded("physical_block_size", "physical block, bytes", "smaller writes read first", "physical_block_size"),
    _recorded("max_sectors_kb", "largest request, KiB", "larger blocks are split", "max_sectors_kb", weight=1),
    _recorded("max_hw_sectors_kb", "largest of the drive, KiB", "max_sectors_kb can be as large", "max_hw_sectors_kb"),
    _recorded("discard_max_bytes", "largest discard, bytes", "0: the drive cannot discard", "discard_max_bytes"),
    _recorded("rotational", "rotational", "1: a hard disk, or a device that says so", "rotational"),
    _setting("zoned", "zones", file("{queue}/zoned"), "none", "zones take writes only in order"),
    _setting("holders", "devices made of it", holders, "none", "who uses them uses the drive"),
    _setting("layers", "devices below it", layers, "none", "each layer adds its own time to a request", weight=2),
    Check(
        id="block.in_flight", volatile=True,
        title="requests in flight now", look=in_flight, wanted="0", judge=at_most(0),
        why="somebody else uses the drive", source=_SYSFS, excused=without_drive,
    ),
    Check(
        id="block.hardware_queues", weight=2, title="CPUs on one hardware queue", look=hardware_queues, wanted="1",
        judge=at_most(1), why="CPUs that share a queue wait for each other, and for its interrupt",
        source="Documentation/block/blk-mq.rst", excused=without_drive,
    ),
)  # fmt: skip
