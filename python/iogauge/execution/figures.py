"""Computes the few figures that warnings about a run need: quantiles of its totals, and the bytes that it moved itself.

All other figures are in ``stats`` and ``report``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence

from iogauge.machine.judge import RowFigures, Tail
from iogauge.schema import (
    Direction,
    EngineKind,
    Interval,
    Kind,
    RowResult,
    RunPlan,
    RunRecord,
    Tally,
    TargetFacts,
    WorkerPlan,
    WorkerResult,
)
from iogauge.stats.histogram import Histogram


def row_figures(record: RunRecord) -> list[RowFigures]:
    """Return the figures of every row and direction with requests or errors."""
    figures = []
    planned: dict[int, list[WorkerPlan]] = defaultdict(list)
    for worker in (worker for stage in record.plan.stages for worker in stage.workers):
        planned[worker.row].append(worker)
    ended: dict[int, list[WorkerResult]] = defaultdict(list)
    for result in record.result.workers:
        ended[result.row].append(result)
    for row in record.result.rows:
        workers = planned[row.row]
        jobs = [record.jobs.jobs[worker.job] for worker in workers]
        quantiles = tuple(sorted({percent / 100 for job in jobs for percent in job.percentile_list}))
        gap = _tail(Histogram.decode(row.loop_gap), 0.999, 0.99, 0.9, 0.5)
        overdue = sum(worker.overdue for worker in ended[row.row])
        bad = sum(worker.verify.failed for worker in ended[row.row] if worker.verify)
        done: int | None = sum(tally.ios for tally in row.tallies.values())
        for direction, tally in row.tallies.items():
            if direction is Direction.SYNC or not (tally.ios or tally.errors):
                continue
            lateness = _histogram(tally, Kind.LATENESS)
            median = _tail(_histogram(tally, Kind.LAT), 0.5)
            figures.append(
                RowFigures(
                    name=row.name,
                    direction=direction,
                    ios=tally.ios,
                    elapsed_s=row.seconds(ended[row.row]),
                    row_ios=done,
                    workers=max(len(workers), 1),
                    iodepth=max((worker.iodepth for worker in workers), default=1),
                    quantiles=quantiles,
                    lat_p50_ns=median.value_ns if median else None,
                    scheduled=bool(lateness.count),
                    lateness=_tail(lateness, 0.99, 0.9, 0.5),
                    late=tally.late,
                    log_wait_share=_log_wait_share(ended[row.row]),
                    loop_gap=gap,
                    requested_iops=_requested_iops(row, workers, direction, tally),
                    overdue=overdue,
                    poisson=any(worker.poisson for worker in workers),
                    flagged=tally.flagged,
                    errors=tally.errors,
                    mismatches=bad if direction is Direction.READ else 0,
                )
            )
            # Overdue requests have no direction, and a worker serves all of them: count both in the row's first
            # direction only.
            overdue, done = 0, None
    return figures


def _log_wait_share(workers: Sequence[WorkerResult]) -> float:
    lived_ns = sum(worker.end_ns - worker.start_ns for worker in workers)
    return sum(worker.log_wait_ns for worker in workers) / max(lived_ns, 1)


def _histogram(tally: Tally, kind: Kind) -> Histogram:
    data = tally.histograms.get(kind)
    return Histogram.decode(data, tally.exact.get(kind)) if data else Histogram.empty()


def _tail(histogram: Histogram, *quantiles: float) -> Tail | None:
    """Return the first of the quantiles that the sample supports; None: it supports none."""
    supported = next((q for q in quantiles if histogram.supports(q)), None)
    return None if supported is None else Tail(q=supported, value_ns=histogram.quantile(supported))


def _requested_iops(
    row: RowResult, workers: Iterable[WorkerPlan], direction: Direction, tally: Tally
) -> float | None:
    """Return the rate that the jobs of a row request; None: a worker has no rate, or ended before its runtime."""
    requested = 0.0
    for worker in workers:
        if direction not in worker.directions:
            continue
        schedule = getattr(worker.schedule, direction)
        mean_bytes = tally.bytes / tally.ios if tally.ios else 0.0
        if schedule.rate_iops:
            requested += schedule.rate_iops
        elif schedule.rate_Bps and mean_bytes:
            requested += schedule.rate_Bps / mean_bytes
        else:
            return None
        limited = worker.number_ios or worker.io_bytes or not worker.time_based
        if limited and row.end_ns - row.start_ns < worker.runtime_ns:
            return None
    return requested or None


class OwnBytes:
    """Counts what a run itself reads and writes on every device, interval by interval, ramps included."""

    def __init__(
        self, plan: RunPlan, targets: Iterable[TargetFacts], *, uncounted: Collection[str] = ()
    ) -> None:
        """Leave out NVMe commands to the devices ``uncounted``, whose counters have only what others do."""
        device_of = {facts.path: facts.device for facts in targets}
        self._devices: dict[int, str] = {}
        self._shared: set[int] = set()
        self._left_out: dict[int, bool] = {}
        for worker in (worker for stage in plan.stages for worker in stage.workers):
            devices = {device_of.get(file.path) for file in worker.files}
            known = self._devices.get(worker.row)
            leave_out = worker.engine.kind is EngineKind.IO_URING_CMD and not devices.isdisjoint(uncounted)
            mixed = self._left_out.setdefault(worker.row, leave_out) != leave_out
            if len(devices) != 1 or None in devices or (known is not None and known not in devices) or mixed:
                self._shared.add(worker.row)
            for device in devices - {None}:
                self._devices[worker.row] = str(device)
        self._read: Counter[str] = Counter()
        self._written: Counter[str] = Counter()

    def add(self, interval: Interval) -> None:
        """Count one interval."""
        device = self._devices.get(interval.row)
        if device is None or interval.row in self._shared or self._left_out[interval.row]:
            return
        for direction, tally in interval.tallies.items():
            if direction is Direction.READ:
                self._read[device] += tally.bytes
            elif direction is Direction.WRITE:
                self._written[device] += tally.bytes

    def by_device(self) -> dict[str, tuple[int, int]]:
        """Return (read, written) bytes by device name; empty if a row covers several devices."""
        if self._shared:
            return {}
        names = set(self._devices.values())
        return {name: (self._read[name], self._written[name]) for name in names}
