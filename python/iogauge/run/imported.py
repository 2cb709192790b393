"""The record of a run that fio made, so that it is judged and shown like one of ours.

A record needs the latencies themselves and the jobs: a step imported from json+ has both. The plan is what iogauge
would have made of the jobs; the result is what fio counted. What fio does not tell stays empty: which CPUs, how deep
the queue was, what the devices saw, what was in flight. A region whose size is in no job is as large as what was moved
in it. The workers are fio's rows, each with the CPU time of all its threads.

Source: fio 3.33 (its JSON), and schema.RunRecord.
"""

from __future__ import annotations

from collections.abc import Iterable

from iogauge.errors import IogaugeError
from iogauge.run.planning import REPEATABLE_SEED, Opened, make_plan, needs
from iogauge.schema import (
    ClockFacts,
    JobFile,
    Kind,
    RowResult,
    RunPlan,
    RunRecord,
    RunResult,
    Tally,
    TargetFacts,
    WorkerResult,
)
from iogauge.store.imported import ImportedFigures, ImportedRow, ImportedStep

INTERVAL_NS = 10**9


def run_record(step: ImportedStep) -> RunRecord:
    """Return the record of a step. Its intervals are the step's own.

    Raises IogaugeError where the file did not have what it takes: the counts of lat, and jobs that iogauge knows.
    """
    if step.jobs is None:
        said = "; ".join(step.warnings) or "the file does not say which jobs ran"
        raise IogaugeError(
            f"{step.source}: cannot be judged: {said}", hint="its figures can be compared as they are"
        )
    for row in step.rows:
        for direction, figures in row.figures.items():
            latency = figures.latencies.get(Kind.LAT)
            if latency is None or latency.histogram is None:
                raise IogaugeError(
                    f"{step.source}: cannot be judged: {row.name} ({direction}) has no counts of lat",
                    hint="run fio with --output-format=json+ and lat_percentiles=1",
                )
    plan = _plan(step.jobs, step)
    places = _places(plan, step.rows)
    return RunRecord(
        jobs=step.jobs,
        plan=plan,
        result=RunResult(
            rows=tuple(_row(row, place) for row, place in zip(step.rows, places, strict=True)),
            workers=tuple(_worker(row, place) for row, place in zip(step.rows, places, strict=True)),
            in_flight=(),
            clock=ClockFacts(source="clock_gettime", reason=f"{step.version}'s own", read_cost_ns=0.0),
            elapsed_ns=max((_duration_ns(row) for row in step.rows), default=0),
        ),
        targets=tuple(_facts(path) for path in _paths(step.jobs)),
        device_stats=(),
        ceiling=None,
        warnings=(),
        started_at=step.started_at or "1970-01-01T00:00:00+00:00",
    )


def _plan(jobs: JobFile, step: ImportedStep) -> RunPlan:
    moved = max((figures.bytes for row in step.rows for figures in row.figures.values()), default=1)
    opened = {
        need.path: Opened(
            fd=-1,
            size_bytes=max(need.size_bytes or 0, moved),
            writable=need.write,
            is_block_device=_is_device(need.path),
        )
        for need in needs(jobs)
    }
    lengths = {interval.end_ns - interval.start_ns for interval in step.intervals}
    return make_plan(
        jobs,
        opened,
        seed=REPEATABLE_SEED,
        interval_ns=min(lengths.pop(), 60 * 10**9) if len(lengths) == 1 else INTERVAL_NS,
        give_up_ns=INTERVAL_NS,
        request_log=False,
        cpus=(),
        spins=False,
    )


def _places(plan: RunPlan, rows: Iterable[ImportedRow]) -> list[tuple[int, int]]:
    """Return (stage, row) in the plan of each of fio's rows: the first of its job's that is not taken."""
    free: dict[int, list[tuple[int, int]]] = {}
    for stage, each in enumerate(plan.stages):
        for worker in each.workers:
            places = free.setdefault(worker.job, [])
            if (stage, worker.row) not in places:
                places.append((stage, worker.row))
    found = []
    for row in rows:
        places = free.get(row.section, [])
        if not places:
            raise IogaugeError(
                f"fio reported {row.name} in more rows than its options make",
                hint="its figures can be compared as they are",
            )
        found.append(places.pop(0))
    return found


def _row(row: ImportedRow, place: tuple[int, int]) -> RowResult:
    return RowResult(
        stage=place[0],
        row=place[1],
        name=row.name,
        start_ns=0,
        end_ns=_duration_ns(row),
        tallies={direction: _tally(figures) for direction, figures in row.figures.items()},
        loop_gap=b"",
    )


def _tally(figures: ImportedFigures) -> Tally:
    known = {kind: latency for kind, latency in figures.latencies.items() if latency.histogram is not None}
    return Tally(
        ios=figures.ios,
        bytes=figures.bytes,
        short=figures.short,
        histograms={
            kind: latency.histogram for kind, latency in known.items() if latency.histogram is not None
        },
        exact={kind: exact for kind, latency in known.items() if (exact := latency.exact) is not None},
    )


def _worker(row: ImportedRow, place: tuple[int, int]) -> WorkerResult:
    duration_ns = _duration_ns(row)
    return WorkerResult(
        name=row.name,
        stage=place[0],
        row=place[1],
        cpus=(),
        pinned=False,
        start_ns=0,
        end_ns=duration_ns,
        user_ns=round(duration_ns * (row.user_percent or 0) / 100),
        system_ns=round(duration_ns * (row.system_percent or 0) / 100),
        voluntary_switches=row.context_switches or 0,
        involuntary_switches=0,
        migrations=0,
        submit_calls=0,
        reap_calls=0,
        submit_batch=(),
        reap_batch=(),
        depth=(),
        depth_mean=0.0,
        overdue=0,
        late_handovers=0,
        log_dropped=0,
    )


def _duration_ns(row: ImportedRow) -> int:
    return round(row.duration_s * 10**9)


def _paths(jobs: JobFile) -> list[str]:
    return [need.path for need in needs(jobs)]


def _is_device(path: str) -> bool:
    return path.startswith("/dev/")


def _facts(path: str) -> TargetFacts:
    """What its name tells: nothing is opened, since it may have been another machine's."""
    return TargetFacts(path=path, kind="block" if _is_device(path) else "file", size_bytes=0)
