"""Made-up results for tests that need a run but no drive: small, exact, and whole as the schema wants them.

Histograms come from the ``hdrhistogram`` package, which is independent of our own encoder and decoder.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from hdrh.histogram import HdrHistogram

from iogauge.schema import (
    Audit,
    AuditFact,
    Axis,
    Ceiling,
    ClockFacts,
    DeviceStat,
    Direction,
    DriveInterrupts,
    Exact,
    Interrupt,
    Interval,
    Job,
    JobFile,
    Kind,
    MachineFacts,
    Manifest,
    RowResult,
    RunPlan,
    RunRecord,
    RunResult,
    StepPlan,
    SuitePlan,
    Tally,
    TargetFacts,
    WorkerResult,
)

HIGHEST_NS = 4_398_046_511_103
SECOND_NS = 10**9


def histogram(values_ns: Iterable[int] | Mapping[int, int] = ()) -> bytes:
    """Return the V2 encoding of values, or of values with their counts."""
    counts = values_ns if isinstance(values_ns, Mapping) else Counter(values_ns)
    return _histogram(tuple(sorted(counts.items())))


@cache
def _histogram(counts: tuple[tuple[int, int], ...]) -> bytes:
    built = HdrHistogram(1, HIGHEST_NS, 3)
    for value, count in counts:
        built.record_value(value, count)
    return zlib.decompress(base64.b64decode(built.encode())[8:])


def compressed(encoded: bytes) -> bytes:
    """Return an encoding as HdrHistogram compresses it, which iogauge did before version 6 of its schema."""
    stream = zlib.compress(encoded)
    return struct.pack(">II", 0x1C849314, len(stream)) + stream


def exact(values_ns: Iterable[int] | Mapping[int, int]) -> Exact:
    """Return what is known of values beside their buckets."""
    counts = values_ns if isinstance(values_ns, Mapping) else Counter(values_ns)
    return Exact(
        count=sum(counts.values()),
        sum_ns=sum(value * count for value, count in counts.items()),
        min_ns=min(counts),
        max_ns=max(counts),
    )


def decoded(data: bytes) -> HdrHistogram:
    """Return the reference implementation's reading of an encoding."""
    return HdrHistogram.decode(base64.b64encode(compressed(data)))


def tally(
    values_ns: Sequence[int] | Mapping[int, int] = (), *, block_bytes: int = 8192, **fields: object
) -> Tally:
    """Return a tally of one direction whose ``lat`` is ``values_ns``, and ``clat`` the same."""
    ios = sum(values_ns.values()) if isinstance(values_ns, Mapping) else len(values_ns)
    encoded = histogram(values_ns)
    defaults: dict[str, object] = {
        "ios": ios,
        "bytes": ios * block_bytes,
        "histograms": {Kind.LAT: encoded, Kind.CLAT: encoded},
        "exact": {Kind.LAT: exact(values_ns), Kind.CLAT: exact(values_ns)} if ios else {},
    }
    return Tally.model_validate(defaults | fields)


def interval(
    index: int,
    tallies: Mapping[Direction, Tally] | None = None,
    *,
    row: int = 0,
    stage: int = 0,
    ramp: bool = False,
    interval_ns: int = SECOND_NS,
) -> Interval:
    """Return one whole interval."""
    return Interval(
        stage=stage,
        row=row,
        index=index,
        start_ns=index * interval_ns,
        end_ns=(index + 1) * interval_ns,
        ramp=ramp,
        tallies=dict(tallies or {}),
        loop_gap=histogram([1_000]),
    )


def row(
    name: str,
    tallies: Mapping[Direction, Tally],
    *,
    index: int = 0,
    start_ns: int = 0,
    end_ns: int = 3 * SECOND_NS,
) -> RowResult:
    """Return the totals of one reported row."""
    return RowResult(
        row=index,
        stage=0,
        name=name,
        start_ns=start_ns,
        end_ns=end_ns,
        tallies=dict(tallies),
        loop_gap=histogram([1_000, 2_000]),
    )


def worker(name: str, *, index: int = 0, **fields: object) -> WorkerResult:
    """Return what one thread did, unremarkable unless ``fields`` say otherwise."""
    defaults: dict[str, object] = {
        "name": name,
        "row": index,
        "stage": 0,
        "cpus": (0,),
        "pinned": False,
        "start_ns": 0,
        "end_ns": 3 * SECOND_NS,
        "user_ns": 100_000_000,
        "system_ns": 200_000_000,
        "voluntary_switches": 10,
        "involuntary_switches": 1,
        "migrations": 0,
        "submit_calls": 1_000,
        "reap_calls": 1_000,
        "submit_batch": (1_000,),
        "reap_batch": (1_000,),
        "depth": (1_000,),
        "depth_mean": 1.0,
        "overdue": 0,
        "late_handovers": 0,
        "log_dropped": 0,
    }
    return WorkerResult.model_validate(defaults | fields)


def target(path: str = "/tmp/drive.bin", **fields: object) -> TargetFacts:
    """Return the facts of a file."""
    defaults: dict[str, object] = {
        "path": path,
        "kind": "file",
        "size_bytes": 1 << 30,
        "model": "Example 1000",
    }
    return TargetFacts.model_validate(defaults | fields)


_file = target
"""By another name, for functions that take a target of their own."""


def machine() -> MachineFacts:
    """Return the facts of a made-up machine."""
    return MachineFacts(
        hostname="bench-1",
        kernel="6.1.0",
        cpu="Example CPU",
        cpus=2,
        cpus_allowed=2,
        memory_bytes=8 << 30,
        virtualised=None,
    )


def fact(name: str, value: str | None, **fields: object) -> AuditFact:
    """Return one setting, recorded unless ``fields`` say otherwise; without a value, unknown."""
    defaults: dict[str, object] = {
        "id": name,
        "group": name.partition(".")[0],
        "title": name.replace(".", " "),
        "path": f"/sys/{name}",
        "value": value,
        "meaning": "no such file" if value is None else value,
        "verdict": "unknown" if value is None else "recorded",
        "wanted": "",
        "why": "it matters",
        "source": "a book",
        "change": "",
    }
    return AuditFact.model_validate(defaults | fields)


def audit(facts: Mapping[str, str | None], *, target: str | None = None, **fields: object) -> Audit:
    """Return an audit of settings with these values: of the machine, or of a drive."""
    return Audit(
        target=target,
        device=target and "sda",
        at="2026-01-01T00:00:00+00:00",
        kernel="6.1.0",
        facts=tuple(fact(name, value, **fields) for name, value in facts.items()),
    )


def interrupts(
    by_cpu: Mapping[int, int], *, allowed: Sequence[int] = (0,), **fields: object
) -> DriveInterrupts:
    """Return the interrupts of a drive that has one."""
    one = Interrupt(number=41, name="nvme0q1", by_cpu=dict(by_cpu), allowed=tuple(allowed))
    return DriveInterrupts.model_validate({"device": "sda", "node": None, "interrupts": (one,)} | fields)


def ceiling() -> Ceiling:
    """Return what a made-up generator can do."""
    return Ceiling(
        iops=5e6,
        shallow_iops=1e6,
        lat_mean_ns=300.0,
        clock_source="tsc",
        clock_read_ns=20.0,
        sleep_slack_ns=60_000.0,
    )


def record(
    rows: Sequence[RowResult],
    *,
    jobs: JobFile | None = None,
    seed: int = 1,
    stopped_by: str | None = None,
    error: str | None = None,
    target_facts: TargetFacts | None = None,
    **fields: object,
) -> RunRecord:
    """Return a run with these rows."""
    job_file = jobs or JobFile(
        jobs=tuple(Job(name=row.name) for row in rows),
        source="test",
        options=tuple({} for _ in rows),
    )
    defaults: dict[str, object] = {
        "jobs": job_file,
        "plan": RunPlan(
            seed=seed,
            interval_ns=SECOND_NS,
            give_up_ns=30 * SECOND_NS,
            stages=(),
            request_log=False,
            request_log_capacity=1,
        ),
        "result": RunResult(
            rows=tuple(rows),
            workers=tuple(worker(row.name, index=row.row) for row in rows),
            in_flight=(),
            clock=ClockFacts(source="tsc", tsc_hz=2.5e9, read_cost_ns=20.0),
            stopped_by=stopped_by,
            error=error,
            elapsed_ns=3 * SECOND_NS,
        ),
        "targets": (target_facts or target(),),
        "device_stats": (
            DeviceStat(
                device="sda",
                read_ios=1,
                read_bytes=4096,
                read_ns=1000,
                write_ios=0,
                write_bytes=0,
                write_ns=0,
                trim_ios=0,
                trim_ns=0,
                flush_ios=0,
                flush_ns=0,
                busy_ns=1000,
                queue_ns=1000,
            ),
        ),
        "ceiling": ceiling(),
        "warnings": (),
        "started_at": "2026-01-02T03:04:05Z",
    }
    return RunRecord.model_validate(defaults | fields)


def step(
    step_id: str, at: float = 0, *, job_file: str = "[reader]\nrw=randread\n", **fields: object
) -> StepPlan:
    """Return a planned step."""
    defaults: dict[str, object] = {
        "id": step_id,
        "at": at,
        "job_file": job_file,
        "seed": 7,
        "state_group": step_id,
    }
    return StepPlan.model_validate(defaults | fields)


def manifest(
    steps: Sequence[StepPlan] = (),
    *,
    target: TargetFacts | None = None,
    plan: SuitePlan | None = None,
    **fields: object,
) -> Manifest:
    """Return the manifest of a write-pressure review of one target; ``plan`` replaces that of ``steps``."""
    target = target or _file()
    made = SuitePlan(
        key="write-pressure",
        suite="write-pressure",
        title="Write pressure",
        source="a note",
        targets=(target.path,),
        axis=Axis(name="write pressure", unit="MB/s"),
        measured_job="reader",
        load_jobs="pressure",
        steps=tuple(steps),
    )
    defaults: dict[str, object] = {
        "id": "test-review",
        "created_at": "2026-01-02T03:04:05Z",
        "command": ("iogauge", "review", "drive.bin"),
        "seed": 42,
        "pace": "quick",
        "plans": (plan.model_copy(update={"targets": (target.path,)}) if plan else made,),
        "targets": (target,),
        "machine": machine(),
        "ceiling": ceiling(),
        "versions": {"iogauge": "0.1.0"},
    }
    return Manifest.model_validate(defaults | fields)


def pressed_run(
    job_file: JobFile,
    *,
    seed: int = 1,
    limit_Bps: int = 800_000_000,
    reads: int = 10_007,
    **fields: Any,
) -> tuple[RunRecord, list[Interval]]:
    """Return what a made-up drive does under a write-pressure step: record and intervals of half a second.

    It takes ``limit_Bps`` of writes; a read takes 80 us alone and 10 us more for every 10 MB/s of pressure.
    """
    duration_ns = max(job.runtime_ns for job in job_file.jobs)
    rows, first_ns = [], max(job.ramp_time_ns for job in job_file.jobs)
    intervals = []
    written_Bps = 0
    for index, job in enumerate(job_file.jobs):
        (direction,) = job.rw.directions
        if direction is Direction.WRITE:
            requested_Bps = job.numjobs * job.rate_Bps.write
            written_Bps = min(requested_Bps or limit_Bps, limit_Bps)
            ios = written_Bps * duration_ns // SECOND_NS // 8192
            done = tally({500_000: ios})
        else:
            lat_ns = 80_000 + written_Bps // 1000
            done = tally({lat_ns: reads - reads // 1000, 10 * lat_ns: reads // 1000})
        rows.append(
            row(job.name, {direction: done}, index=index, start_ns=first_ns, end_ns=first_ns + duration_ns)
        )
        intervals.append(interval(0, {direction: done}, row=index, interval_ns=duration_ns))
    return record(rows, jobs=job_file, seed=seed, **fields), intervals
