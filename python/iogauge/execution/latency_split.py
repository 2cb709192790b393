"""Splits the mean lat of a run: the time in block layer and device, which the device counts itself, and the rest.

A device's ``stat`` adds up, for every request, the time from its allocation in the block layer to its completion. lat
begins before the system call that submits a request, and ends when the program sees the completion. So the difference
of the two means is the time of the software around. The counters cover the whole run and everybody's requests:
therefore lat is taken from all intervals, ramps included, and the split is unknown where the device counted requests
that are not the run's own, or counted them otherwise.

Drivers without requests count ticks of the kernel's timer: a tick that falls into a request counts in full, and most
requests have none. A tick finds a device busy as often as it is busy, so the mean is right, and its error is that of a
count. With several requests in flight, one tick counts for each of them, which makes the error larger.

Source: Documentation/block/stat.rst; ``blk_account_io_start`` and ``bdev_start_io_acct`` in the kernel's block/.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from math import sqrt

from iogauge.schema import (
    DeviceStat,
    Direction,
    Interval,
    Kind,
    LatencySplit,
    RunPlan,
    TargetFacts,
)

_SAME = 0.02
"""Counts of requests, and of their bytes, that differ by less than this share are taken as the same requests."""
_RESOLUTION_NS = 10**6
"""The counters of time are in milliseconds."""
_FEWEST_TICKS = 400
"""With fewer, a mean of one request at a time would be off by more than a tenth."""
_TWO_SIDED_95 = 1.96
_COARSE_CLOCK = 6
"""``CLOCK_MONOTONIC_COARSE`` of Linux's include/uapi/linux/time.h: it goes by ticks."""
_DIRECTIONS = (Direction.READ, Direction.WRITE)


class _Sum:
    """Requests of one direction on one device, over all intervals."""

    def __init__(self) -> None:
        self.ios = 0
        self.bytes = 0
        self.lat_ns = 0
        self.failed = 0


class OwnLatencies:
    """Adds up the lat of a run's own requests by device and direction, interval by interval, ramps included.

    ``uncounted`` names the devices that do not count all of them (``machine.stat.uncounted_commands``).
    """

    def __init__(
        self, plan: RunPlan, targets: Iterable[TargetFacts], *, uncounted: Collection[str] = ()
    ) -> None:
        self._uncounted = uncounted
        device_of = {facts.path: facts.device for facts in targets}
        used: dict[int, set[str | None]] = defaultdict(set)
        self._buffered: set[str] = set()
        for worker in (worker for stage in plan.stages for worker in stage.workers):
            devices = {device_of.get(file.path) for file in worker.files}
            used[worker.row] |= devices
            if not worker.engine.direct:
                self._buffered |= {device for device in devices if device}
        self._device_of = {row: next(iter(devices)) for row, devices in used.items() if len(devices) == 1}
        self._shared = {
            device for devices in used.values() if len(devices) > 1 for device in devices if device
        }
        self._depths: Counter[str | None] = Counter()
        for worker in (worker for stage in plan.stages for worker in stage.workers):
            self._depths.update(
                dict.fromkeys({device_of.get(file.path) for file in worker.files}, worker.iodepth)
            )
        self._sums: dict[tuple[str, Direction], _Sum] = defaultdict(_Sum)
        self._ramp = False

    def add(self, interval: Interval) -> None:
        """Count one interval."""
        device = self._device_of.get(interval.row)
        if device is None:
            return
        self._ramp = self._ramp or interval.ramp
        for direction, tally in interval.tallies.items():
            own = self._sums[device, direction]
            own.ios += tally.ios
            own.bytes += tally.bytes
            own.failed += sum(tally.errors.values())
            if exact := tally.exact.get(Kind.LAT):
                own.lat_ns += exact.sum_ns

    def splits(
        self, stats: Iterable[DeviceStat], *, without_requests: Collection[str] = ()
    ) -> tuple[LatencySplit, ...]:
        """Return the split of every device and direction that the run used.

        ``without_requests`` names the devices whose drivers have no requests (``machine.stat.without_requests``).
        """
        counted = {stat.device: stat for stat in stats}
        splits = []
        for (device, direction), own in sorted(self._sums.items()):
            if not own.ios or direction not in _DIRECTIONS:
                continue
            lat_ns = own.lat_ns / own.ios
            stat = counted.get(device)
            block_ns, error_ns, unknown = None, 0.0, self._unknown(device, own)
            if not unknown and stat is None:
                unknown = "the device's statistics are switched off, or cannot be read"
            if not unknown and stat is not None:
                tick_ns = _tick_ns() if device in without_requests else 0
                block_ns, unknown = _block_ns(stat, direction, own, lat_ns, tick_ns=tick_ns)
                if block_ns is not None and tick_ns:
                    error_ns = _TWO_SIDED_95 * sqrt(self._depths[device] * block_ns * tick_ns / own.ios)
            splits.append(
                LatencySplit(
                    device=device,
                    direction=direction,
                    ios=own.ios,
                    lat_ns=lat_ns,
                    block_ns=block_ns,
                    error_ns=error_ns,
                    unknown=unknown,
                    ramp=self._ramp,
                )
            )
        return tuple(splits)

    def _unknown(self, device: str, own: _Sum) -> str:
        if device in self._buffered:
            return "requests went through the page cache"
        if device in self._uncounted:
            return "the kernel does not count NVMe commands (queue/iostats_passthrough)"
        if device in self._shared:
            return "a row of the results covers several devices"
        return f"{own.failed:,} requests failed" if own.failed else ""


def _tick_ns() -> int:
    """Return the time between two ticks of the kernel's timer, by which the coarse clock goes."""
    return round(time.clock_getres(_COARSE_CLOCK) * 10**9)


def _block_ns(
    stat: DeviceStat, direction: Direction, own: _Sum, lat_ns: float, *, tick_ns: int
) -> tuple[float | None, str]:
    """Return the mean time by the counters, or None and why they do not tell. ``tick_ns`` 0: they count no ticks."""
    reads = direction is Direction.READ
    ios, size, spent_ns, merges = (
        (stat.read_ios, stat.read_bytes, stat.read_ns, stat.read_merges)
        if reads
        else (stat.write_ios, stat.write_bytes, stat.write_ns, stat.write_merges)
    )
    if size > own.bytes * (1 + _SAME):
        return None, "other programs used the device, or a filesystem wrote for itself"
    if abs(ios / own.ios - 1) > _SAME or abs(size / own.bytes - 1) > _SAME:
        cause = "were split" if ios > own.ios else "were merged" if merges else "did not all reach the device"
        return None, f"requests {cause}: the run made {own.ios:,}, the device counted {ios:,}"
    if tick_ns and spent_ns < _FEWEST_TICKS * tick_ns:
        return None, "too few requests for a driver that counts time in ticks of the kernel's timer"
    if not tick_ns and _RESOLUTION_NS / ios > _SAME * lat_ns / 2:
        return None, "too few requests for counters in milliseconds"
    block_ns = spent_ns / ios
    if block_ns > lat_ns * (1 + _SAME):
        return None, "the device counted more time than its requests took"
    return min(block_ns, lat_ns), ""
