"""fio's JSON and json+, which fio's own tools and fio-plot read, with the figures that iogauge adds.

Every key that a job has in fio 3.33 is present with fio's meaning and unit: bw in KiB/s, runtime in ms, rates of
intervals in KiB/s and IOPS. As in fio, ``slat_percentiles``, ``clat_percentiles`` and ``lat_percentiles`` decide which
of ``slat_ns``, ``clat_ns`` and ``lat_ns`` have percentiles and bins. iogauge adds ``response_ns``, ``queued_ns`` and
``lateness_ns`` to every direction and ``loop_gap_ns`` to the job, always with percentiles. The object ``iogauge`` at
the top holds what fio's schema lacks: seed, warnings, requests in flight, ceiling, clock, the settings of the machine,
interrupts, and the sample that each quantile needs.

Deliberate differences from fio:

- an interval without I/O is a sample of zero, and a sample of a group is its sum over one interval (fio #1145);
- the key of a percentile is fio's ``%f`` unless that would be ambiguous: 99.9999999 is ``"99.9999999"``, not a second
  ``"100.000000"``;
- bins are iogauge's buckets, which are at least eight times as fine. In ``slat_ns``, ``clat_ns`` and ``lat_ns`` the
  bins above 17.1 s are folded into fio's last one, since fio's converter to CSV does not terminate if a file has a
  greater one. ``max`` is never folded;
- an engine that makes no submission call (SQPOLL) has a clat equal to lat, and a slat without samples.

Source: the output of fio 3.33.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from iogauge.execution.plans.priorities import CLASS_SHIFT, LEVEL
from iogauge.report import verified
from iogauge.report.run import endings, fio_buckets, latency_split
from iogauge.report.run.interval_stats import IntervalStats, Spread
from iogauge.report.run.rows import DATA, MIXED, Row, Stream, fraction, left_out, rows, supported
from iogauge.schema import Audit, ContinueOnError, DeviceStat, Direction, Job, JobFile, Kind, RunRecord
from iogauge.stats.histogram import Histogram, needed
from iogauge.workload.clones import clones
from iogauge.workload.options.chapters.endings import ignored
from iogauge.workload.reading.arguments import SOURCE as COMMAND_LINE

EIO, ETIMEDOUT = 5, 110
KIBI = 1024

Json = dict[str, Any]


def render(record: RunRecord, stats: IntervalStats, *, plus: bool) -> str:
    """Return ``document`` as valid JSON: no NaN, no Infinity, and no text around it."""
    return json.dumps(document(record, stats, plus=plus), indent=2, allow_nan=False)


def document(record: RunRecord, stats: IntervalStats, *, plus: bool) -> Json:
    """Return a run in fio's schema; ``plus`` adds the bins of every latency."""
    started = datetime.fromisoformat(record.started_at).astimezone(UTC)
    every = list(rows(record))
    grouped = Groups(record.jobs, every)
    return {
        # fio's tools require this key; its value names the program that wrote the file.
        "fio version": f"iogauge-{_version()}",
        "timestamp": int(started.timestamp()),
        "timestamp_ms": int(started.timestamp() * 1000),
        "time": started.strftime("%a %b %e %H:%M:%S %Y"),
        "global options": dict(record.jobs.global_options),
        "jobs": [_job(row, grouped, stats, plus=plus) for row in every],
        "disk_util": [_disk(stat, record.result.elapsed_ns) for stat in record.device_stats],
        "iogauge": _additions(record, every),
    }


def percentile_key(percentile: float) -> str:
    """Return fio's key of a percentile, or the exact number if six decimals are not enough.

    >>> percentile_key(99), percentile_key(99.99), percentile_key(99.9999999)
    ('99.000000', '99.990000', '99.9999999')
    """
    key = f"{percentile:f}"
    return key if float(key) == percentile else repr(float(percentile))


def _version() -> str:
    from iogauge import __version__

    return __version__


def _job(row: Row, grouped: Groups, stats: IntervalStats, *, plus: bool) -> Json:
    job, jobs = row.job, row.record.jobs
    lat = Histogram.empty() if job.disable_clat else row.lat(MIXED)
    run_ns = sum(worker.end_ns - worker.start_ns for worker in row.workers)
    errors = [errno for direction in Direction for errno in row.tally(direction).errors]
    return {
        "jobname": row.name,
        "groupid": grouped.of(row),
        "job_start": int(datetime.fromisoformat(row.record.started_at).timestamp() * 1000),
        "error": _error(row),
        "eta": 0,
        "elapsed": math.ceil(row.record.result.elapsed_ns / 1e9),
        "job options": _own_options(jobs, row.job_index),
        **{stream.value: _direction(row, stream, grouped, stats, plus=plus) for stream in _streams(job)},
        **({} if job.unified_rw_reporting == "mixed" else {"sync": _sync(row, plus=plus)}),
        "job_runtime": round(run_ns / 1e6),
        "usr_cpu": _share(sum(worker.user_ns for worker in row.workers), run_ns),
        "sys_cpu": _share(sum(worker.system_ns for worker in row.workers), run_ns),
        "ctx": sum(worker.voluntary_switches + worker.involuntary_switches for worker in row.workers),
        "majf": sum(worker.major_faults for worker in row.workers),
        "minf": sum(worker.minor_faults for worker in row.workers),
        "iodepth_level": fio_buckets.depths(fio_buckets.added(worker.depth for worker in row.workers)),
        "iodepth_submit": fio_buckets.batches(
            fio_buckets.added(worker.submit_batch for worker in row.workers)
        ),
        "iodepth_complete": fio_buckets.batches(
            fio_buckets.added(worker.reap_batch for worker in row.workers)
        ),
        **fio_buckets.classes(lat),
        **({"total_err": _errors(row), "first_error": errors[0] if errors else 0} if _continues(job) else {}),
        **endings.latency_target(row),
        **({"desc": job.description} if job.description else {}),
        **endings.steady_state(row),
        "loop_gap_ns": _moments(row.loop_gap) | _tail(row.loop_gap, job, plus=plus, capped=False),
        "short_ios": sum(row.tally(direction).short for direction in Direction),
        "late_ios": sum(row.tally(direction).late for direction in Direction),
        "flagged_ios": sum(row.tally(direction).flagged for direction in Direction),
        "overdue_ios": sum(worker.overdue for worker in row.workers),
        "iodepth_mean": _share(sum(worker.depth_mean for worker in row.workers), 100),
    }


def _error(row: Row) -> int:
    """Return the errno with which fio would have ended the job; 0 if it did not end early."""
    failed = [worker for worker in row.workers if worker.error]
    if not failed:
        return 0
    if any(worker.took_too_long for worker in failed):
        return ETIMEDOUT
    errors = [number for direction in Direction for number in row.tally(direction).errors]
    return errors[0] if errors else EIO


def _streams(job: Job) -> tuple[Stream, ...]:
    """Return the directions that have a section, used or not."""
    apart: tuple[Stream, ...] = () if job.unified_rw_reporting == "mixed" else DATA
    return apart if job.unified_rw_reporting == "none" else (*apart, MIXED)


def _sync(row: Row, *, plus: bool) -> Json:
    job = row.job
    # fio counts the latency of a sync as a completion latency.
    lat = Histogram.empty() if job.disable_clat else row.lat(Direction.SYNC)
    percentiles = job.lat_percentiles or job.clat_percentiles
    tail = _tail(lat, job, plus=plus, capped=True) if percentiles else {}
    return {"total_ios": row.tally(Direction.SYNC).ios, "lat_ns": _moments(lat) | tail}


def _direction(row: Row, direction: Stream, grouped: Groups, stats: IntervalStats, *, plus: bool) -> Json:
    tally, job = row.tally(direction), row.job
    runtime_ms = max(round(row.seconds_of(direction) * 1000), 1) if tally.ios else 0
    rate_Bps, iops = (row.bandwidth_Bps(direction), row.iops(direction)) if tally.ios else (0.0, 0.0)
    bw_spread, iops_spread = Spread(), Spread()
    if tally.ios:
        stage, index = row.result.stage, row.result.row
        bw_spread = stats.bandwidth_Bps(stage=stage, row=index, direction=direction)
        iops_spread = stats.iops(stage=stage, row=index, direction=direction)

    def latency(kind: Kind, *, percentiles: bool = True, fios: bool = False) -> Json:
        return _latency(row, direction, kind, percentiles=percentiles, plus=plus, capped=fios)

    return {
        "io_bytes": tally.bytes,
        "io_kbytes": tally.bytes >> 10,
        "bw_bytes": round(rate_Bps),
        "bw": round(rate_Bps / KIBI),
        "iops": _number(iops),
        "runtime": runtime_ms,
        "total_ios": tally.ios,
        "short_ios": tally.short,
        "drop_ios": 0,
        "slat_ns": latency(Kind.SLAT, percentiles=job.slat_percentiles, fios=True),
        "clat_ns": latency(Kind.CLAT, percentiles=job.clat_percentiles, fios=True),
        "lat_ns": latency(Kind.LAT, percentiles=job.lat_percentiles, fios=True),
        **_priorities(row, direction, plus=plus),
        "response_ns": latency(Kind.RESPONSE),
        "queued_ns": latency(Kind.QUEUED),
        "lateness_ns": latency(Kind.LATENESS),
        "bw_min": round(bw_spread.minimum / KIBI),
        "bw_max": round(bw_spread.maximum / KIBI),
        "bw_agg": _share(rate_Bps, grouped.bandwidth_Bps(row, direction)),
        "bw_mean": _number(bw_spread.mean / KIBI),
        "bw_dev": _number(bw_spread.stddev / KIBI),
        "bw_samples": bw_spread.samples,
        "iops_min": round(iops_spread.minimum),
        "iops_max": round(iops_spread.maximum),
        "iops_mean": _number(iops_spread.mean),
        "iops_stddev": _number(iops_spread.stddev),
        "iops_samples": iops_spread.samples,
    }


def _latency(row: Row, direction: Stream, kind: Kind, *, percentiles: bool, plus: bool, capped: bool) -> Json:
    recorded = None if left_out(row.job, kind) else row.histogram(direction, kind)
    histogram = recorded or Histogram.empty()
    tail = _tail(histogram, row.job, plus=plus, capped=capped) if percentiles else {}
    return _moments(histogram) | tail


def _priorities(row: Row, direction: Stream, *, plus: bool) -> Json:
    """Return the latencies by I/O priority; as in fio, nothing if all requests had the same."""
    percentiles = row.job.clat_percentiles or row.job.lat_percentiles
    parts = [
        {
            "prioclass": priority >> CLASS_SHIFT,
            "prio": priority & LEVEL,
            f"{row.priority_kind}_ns": _moments(histogram)
            | (_tail(histogram, row.job, plus=plus, capped=True) if percentiles else {}),
        }
        for priority, histogram in row.priorities(direction)
    ]
    return {"prios": parts} if parts else {}


def _moments(histogram: Histogram) -> Json:
    return {
        "min": histogram.min,
        "max": histogram.max,
        "mean": _number(histogram.mean),
        "stddev": _number(histogram.stddev),
        "N": histogram.count,
    }


def _tail(histogram: Histogram, job: Job, *, plus: bool, capped: bool) -> Json:
    """Return percentiles and bins; as in fio, nothing without samples."""
    if not histogram.count:
        return {}
    percentiles = {
        percentile_key(percentile): histogram.quantile(fraction(percentile))
        for percentile in job.percentile_list
    }
    bins = {"bins": fio_buckets.bins(histogram, capped=capped)} if plus else {}
    return {"percentile": percentiles, **bins}


class Groups:
    """The group of each row, as fio numbers groups, and the bandwidth of each group."""

    def __init__(self, jobs: JobFile, every: Iterable[Row]) -> None:
        self._numbers = {clone.job: clone.group for clone in clones(jobs)}
        self._bandwidth_Bps: dict[tuple[int, Stream], float] = defaultdict(float)
        for row in every:
            streams: tuple[Stream, ...] = (*row.directions, MIXED)
            for direction in streams:
                self._bandwidth_Bps[self.of(row), direction] += row.bandwidth_Bps(direction)

    def of(self, row: Row) -> int:
        """Return the number of the group of ``row``."""
        return self._numbers[row.job_index]

    def bandwidth_Bps(self, row: Row, direction: Stream) -> float:
        """Return the bandwidth of all rows in the group of ``row``, in bytes a second."""
        return self._bandwidth_Bps[self.of(row), direction]


def _own_options(jobs: JobFile, index: int) -> dict[str, str]:
    """Return the options of one section, without those of [global], which fio lists once at the top.

    On fio's command line, a job's name is one of them.
    """
    options = jobs.options[index] if index < len(jobs.options) else {}
    named = {"name": jobs.jobs[index].name} if jobs.source == COMMAND_LINE else {}
    return named | {name: value for name, value in options.items() if jobs.global_options.get(name) != value}


def _disk(stat: DeviceStat, elapsed_ns: int) -> Json:
    return {
        "name": stat.device,
        "read_ios": stat.read_ios,
        "write_ios": stat.write_ios,
        "read_merges": stat.read_merges or 0,
        "write_merges": stat.write_merges or 0,
        "read_ticks": stat.read_ns // 10**6,
        "write_ticks": stat.write_ns // 10**6,
        "in_queue": stat.queue_ns // 10**6,
        "util": min(_share(stat.busy_ns, elapsed_ns), 100.0),
    }


def _additions(record: RunRecord, every: list[Row]) -> Json:
    """Return what fio's schema lacks, and what says how far the figures can be trusted."""
    return {
        "schema_version": record.schema_version,
        "seed": record.plan.seed,
        "interval_ns": record.plan.interval_ns,
        "stopped_by": record.result.stopped_by,
        "error": record.result.error,
        "clock": record.result.clock.model_dump(mode="json"),
        "ceiling": record.ceiling and record.ceiling.model_dump(mode="json"),
        "targets": [facts.model_dump(mode="json") for facts in record.targets],
        "drives": [drive.model_dump(mode="json") for drive in record.result.drives],
        "drive_samples": [samples.model_dump(mode="json") for samples in record.drive_samples],
        "in_flight": [request.model_dump(mode="json") for request in record.result.in_flight],
        "verify": verified.as_json(record),
        "stamp_logs": verified.logs_as_json(record),
        "warnings": [warning.model_dump(mode="json") for warning in record.warnings],
        "audits": [_audit(audit) for audit in record.audits],
        "interrupts": [drive.model_dump(mode="json") for drive in record.interrupts],
        **latency_split.as_json(record),
        "unsupported_percentiles": [percentile for row in every for percentile in _unsupported(row)],
    }


def _audit(audit: Audit) -> Json:
    """Return the value and the verdict of every setting; docs/audit.md has the rest of it."""
    settings = {fact.id: {"value": fact.value, "verdict": fact.verdict} for fact in audit.facts}
    return {**audit.model_dump(mode="json", exclude={"facts"}), "settings": settings}


def _unsupported(row: Row) -> list[Json]:
    unsupported = []
    for direction in row.directions:
        lat = row.lat(direction)
        missing = [p for p in row.job.percentile_list if lat.count and not supported(lat, fraction(p))]
        unsupported += [
            {
                "jobname": row.name,
                "direction": direction.value,
                "percentile": percentile_key(percentile),
                "samples": lat.count,
                "samples_needed": needed(fraction(percentile)) if percentile < 100 else None,
            }
            for percentile in missing
        ]
    return unsupported


def _continues(job: Job) -> bool:
    return any(ignored(job)) or job.continue_on_error is ContinueOnError.VERIFY


def _errors(row: Row) -> int:
    return sum(sum(row.tally(direction).errors.values()) for direction in Direction)


def _share(part: float, total: float) -> float:
    return _number(100 * part / total) if total else 0.0


def _number(value: float) -> float:
    """Return a number with six decimals, as fio prints it; zero instead of NaN and infinity, which JSON lacks."""
    return round(value, 6) if math.isfinite(value) else 0.0
