"""Reads what the kernel counted on a block device during a run: its ``stat`` file after, minus before.

The times cover the block layer and the device, so a result can show how much of its mean latency arises there. The
counters include the I/O of other programs. For a file, they are those of the device below it. NVMe commands are counted
since Linux 6.13, if queue/iostats_passthrough is on.
Source: Documentation/block/stat.rst (11 columns; 15 since Linux 4.18 with discards; 17 since 5.5 with flushes).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from iogauge.schema import DeviceStat, EngineKind, RunPlan, TargetFacts
from iogauge.target.users.sysfs import HOST, BlockDevice, Host

_COLUMNS = (11, 15, 17)
REQUESTS = (0, 4, 11, 15)
"""The columns that count completed reads, writes, trims and flushes."""
_SECTOR_BYTES = 512
_MS = 10**6
_WRAP = 1 << 32

Counters = tuple[int, ...]
"""The columns of one stat file, padded with zeros to 17."""


def parse_stat(text: str) -> Counters:
    """Return the columns of a stat file. Columns that an older kernel lacks are zero.

    Raises ValueError if the text is not that of a stat file.

    >>> parse_stat("1 0 8 2 0 0 0 0 0 3 4")[:4]
    (1, 0, 8, 2)
    """
    columns = tuple(int(word) for word in text.split())
    if len(columns) < _COLUMNS[0]:
        raise ValueError(f"a stat file has at least {_COLUMNS[0]} columns, not {len(columns)}")
    return (*columns, *(0,) * _COLUMNS[-1])[: _COLUMNS[-1]]


def read_counters(targets: Iterable[TargetFacts], host: Host = HOST) -> dict[str, Counters]:
    """Return the counters of every device of these targets, by kernel name."""
    counters = {}
    for name in dict.fromkeys(facts.device for facts in targets if facts.device):
        device = BlockDevice.by_name(name, host)
        if device and (text := device.text("stat")):
            counters[name] = parse_stat(text)
    return counters


def difference(device: str, before: Counters, after: Counters) -> DeviceStat:
    """Return what was counted between two looks. Times are 32-bit milliseconds in the kernel and may wrap once."""
    delta = [late - early for early, late in zip(before, after, strict=True)]
    # A counter goes down only if it wrapped, or if the device was replaced: max() catches the latter.
    delta = [change + _WRAP if -_WRAP < change < 0 else max(change, 0) for change in delta]
    return DeviceStat(
        device=device,
        read_ios=delta[0],
        read_merges=delta[1],
        read_bytes=delta[2] * _SECTOR_BYTES,
        read_ns=delta[3] * _MS,
        write_ios=delta[4],
        write_merges=delta[5],
        write_bytes=delta[6] * _SECTOR_BYTES,
        write_ns=delta[7] * _MS,
        busy_ns=delta[9] * _MS,
        queue_ns=delta[10] * _MS,
        trim_ios=delta[11],
        trim_ns=delta[14] * _MS,
        flush_ios=delta[15],
        flush_ns=delta[16] * _MS,
    )


def differences(
    before: Mapping[str, Counters], after: Mapping[str, Counters], host: Host = HOST
) -> tuple[DeviceStat, ...]:
    """Return the difference for every device in both looks, except devices whose statistics are switched off."""
    return tuple(
        difference(name, before[name], after[name])
        for name in before
        if name in after and (before[name] != after[name] or not _switched_off(name, host))
    )


def without_requests(names: Iterable[str], host: Host = HOST) -> frozenset[str]:
    """Return the devices whose drivers take bios, not requests: zram, device-mapper, md.

    They count time in ticks of the kernel's timer (``bdev_start_io_acct``), so the time of a short I/O is mostly zero.
    """
    devices = ((name, BlockDevice.by_name(name, host)) for name in names)
    return frozenset(
        name for name, device in devices if device and not (device.disk.directory / "mq").is_dir()
    )


def uncounted_commands(plan: RunPlan, targets: Iterable[TargetFacts], host: Host = HOST) -> frozenset[str]:
    """Return the devices to which the plan's workers send NVMe commands that the kernel does not count."""
    device_of = {facts.path: facts.device for facts in targets}
    commanded = {
        device_of.get(file.path)
        for stage in plan.stages
        for worker in stage.workers
        if worker.engine.kind is EngineKind.IO_URING_CMD
        for file in worker.files
    }
    devices = ((name, BlockDevice.by_name(name, host)) for name in commanded if name)
    return frozenset(
        name for name, device in devices if device and device.disk.text("queue/iostats_passthrough") != "1"
    )


def _switched_off(name: str, host: Host) -> bool:
    # Drivers without request queues (zram) count even if the switch is off, so counters that moved are valid.
    device = BlockDevice.by_name(name, host)
    return device is not None and device.disk.text("queue/iostats") == "0"
