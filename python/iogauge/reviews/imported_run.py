"""Makes a record of a run by another program, to be judged and shown like a run of iogauge.

``run_record`` uses a result alone. The jobs are those that it reports, and it needs histograms, which json+ has.
``planned_record`` is for a step that iogauge planned and fio or DiskSpd ran. The jobs are the plan's, and a latency
without a histogram is kept as reported figures.

The record's plan is the one that iogauge makes of the jobs; its result has the counts of the program. Figures that the
program does not report stay empty: CPUs, queue depths, device statistics, requests in flight. A region whose size no
job gives is as large as the amount that was moved in it. The workers are the program's rows, with the CPU time of all
threads.

Source: fio 3.33 (its JSON), DiskSpd 2.2 (its XML), and schema.RunRecord.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import median_low

from iogauge.errors import IogaugeError
from iogauge.execution.plans.planning import Opened, make_plan
from iogauge.schema import (
    ClockFacts,
    Direction,
    Interval,
    JobFile,
    Kind,
    ReportedLatency,
    RowResult,
    RunPlan,
    RunRecord,
    RunResult,
    Tally,
    TargetFacts,
    WorkerResult,
)
from iogauge.store.imported import ImportedFigures, ImportedLatency, ImportedRow, ImportedStep
from iogauge.workload.clones import clones
from iogauge.workload.regions import REPEATABLE_SEED, needs

INTERVAL_NS = 10**9


def run_record(step: ImportedStep) -> RunRecord:
    """Return the record of an imported run. Its intervals are those of ``step``.

    Raises IogaugeError if the file lacks histograms of lat, or has jobs that iogauge does not know.
    """
    if step.jobs is None:
        reason = "; ".join(step.warnings) or "the file does not say which jobs ran"
        raise IogaugeError(
            f"{step.source}: cannot be judged: {reason}", hint="its figures can still be compared"
        )
    for row in step.rows:
        for direction, figures in row.figures.items():
            latency = figures.latencies.get(Kind.LAT)
            if latency is None or latency.histogram is None:
                raise IogaugeError(
                    f"{step.source}: cannot be judged: {row.name} ({direction}) has no counts of lat",
                    hint="run fio with --output-format=json+ and lat_percentiles=1",
                )
    plan = _plan(step.jobs, step.rows, step.intervals, seed=REPEATABLE_SEED)
    places = _places(step.jobs, step.rows)
    return _record(step.jobs, plan, step.rows, places, version=step.version, started_at=step.started_at)


def planned_record(
    jobs: JobFile,
    rows: Sequence[ImportedRow],
    intervals: Sequence[Interval],
    *,
    seed: int,
    source: str,
    version: str,
    started_at: str | None,
) -> tuple[RunRecord, tuple[Interval, ...]]:
    """Return the record and the intervals of a step that iogauge planned and another program ran.

    Args:
        jobs: the step's own.
        rows: the reported rows, in the order of the plan's rows.
        intervals: the intervals of the rows; an interval's ``row`` is an index of ``rows``.
        seed: of the step.
        source: the file of the rows, for messages.
        version: of the program.
        started_at: UTC, ISO 8601; None if not known.

    Raises IogaugeError if the rows are not those of the jobs.
    """
    plan = _plan(jobs, rows, intervals, seed=seed)
    names = _names(jobs)
    planned, reported = [first for first, *_ in names.values()], [row.name for row in rows]
    if planned != reported:
        raise IogaugeError(
            f"{source}: reports {', '.join(reported) or 'nothing'}, but the step's rows are {', '.join(planned)}",
            hint="the file is a result of another job file: remove it, and run the step again",
        )
    places = list(names)
    record = _record(jobs, plan, rows, places, version=version, started_at=started_at)
    moved = (places[interval.row] for interval in intervals)
    return record, tuple(
        interval.model_copy(update={"stage": stage, "row": row})
        for interval, (stage, row) in zip(intervals, moved, strict=True)
    )


def jobs_of_rows(jobs: JobFile) -> tuple[tuple[int, ...], ...]:
    """Return the indices of the jobs of every row, in the order of the plan's rows."""
    rows: dict[int, dict[int, None]] = {}
    for clone in clones(jobs):
        rows.setdefault(clone.row, {})[clone.job] = None
    return tuple(map(tuple, rows.values()))


def _record(
    jobs: JobFile,
    plan: RunPlan,
    rows: Sequence[ImportedRow],
    places: Sequence[tuple[int, int]],
    *,
    version: str,
    started_at: str | None,
) -> RunRecord:
    placed, names = list(zip(rows, places, strict=True)), _names(jobs)
    return RunRecord(
        jobs=jobs,
        plan=plan,
        result=RunResult(
            rows=tuple(_row(row, place) for row, place in placed),
            workers=tuple(
                _worker(row, place, name, first=not number)
                for row, place in placed
                for number, name in enumerate(names[place])
            ),
            in_flight=(),
            clock=ClockFacts(source="clock_gettime", reason=f"{version}'s own", read_cost_ns=0.0),
            elapsed_ns=max((_duration_ns(row) for row in rows), default=0),
        ),
        targets=tuple(_facts(path) for path in _paths(jobs)),
        device_stats=(),
        ceiling=None,
        warnings=(),
        started_at=started_at or "1970-01-01T00:00:00+00:00",
        reported=tuple(latency for row, place in placed for latency in _reported_latencies(row, place)),
    )


def _names(jobs: JobFile) -> dict[tuple[int, int], tuple[str, ...]]:
    """Return the names of the jobs of every row, by stage and row, in the order of the plan's rows."""
    rows: dict[tuple[int, int], dict[str, None]] = {}
    for clone in clones(jobs):
        rows.setdefault((clone.stage, clone.row), {})[jobs.jobs[clone.job].name] = None
    return {place: tuple(names) for place, names in rows.items()}


def _reported_latencies(row: ImportedRow, place: tuple[int, int]) -> Iterator[ReportedLatency]:
    """Yield the latencies that have figures but no histogram."""
    stage, number = place
    latencies: list[tuple[Direction | None, Kind, ImportedLatency]] = [
        (way, kind, latency)
        for way, figures in row.figures.items()
        for kind, latency in figures.latencies.items()
    ]
    if row.together is not None:
        latencies.append((None, Kind.LAT, row.together))
    for way, kind, latency in latencies:
        if latency.histogram is None:
            yield ReportedLatency(
                stage=stage,
                row=number,
                direction=way,
                kind=kind,
                count=latency.count,
                mean_ns=latency.mean_ns,
                max_ns=latency.max_ns,
                quantiles_ns={quantile.q: quantile.value_ns for quantile in latency.quantiles},
            )


def _plan(jobs: JobFile, rows: Iterable[ImportedRow], intervals: Iterable[Interval], *, seed: int) -> RunPlan:
    moved = max((figures.bytes for row in rows for figures in row.figures.values()), default=0)
    begins = max(
        job.offset.size_bytes + job.offset_increment.size_bytes * (job.numjobs - 1) for job in jobs.jobs
    )
    block = max(size.minimum_bytes for job in jobs.jobs for size in (job.bs.read, job.bs.write, job.bs.trim))
    opened = {
        need.path: Opened(
            fd=-1,
            size_bytes=max(need.size_bytes or 0, moved, begins + block),
            writable=need.write,
            is_block_device=_is_device(need.path),
        )
        for need in needs(jobs)
    }
    # Programs end their intervals a little late, so the median is taken as the length.
    lengths = [interval.end_ns - interval.start_ns for interval in intervals]
    return make_plan(
        jobs,
        opened,
        seed=seed,
        interval_ns=min(median_low(lengths), 60 * 10**9) if lengths else INTERVAL_NS,
        give_up_ns=INTERVAL_NS,
        request_log=False,
        cpus=(),
        spins=False,
    )


def _places(jobs: JobFile, rows: Iterable[ImportedRow]) -> list[tuple[int, int]]:
    """Return the (stage, row) in the plan of every row of fio: the first free one of its job."""
    free: dict[int, dict[tuple[int, int], None]] = {}
    for clone in clones(jobs):
        free.setdefault(clone.job, {})[clone.stage, clone.row] = None
    places = []
    for row in rows:
        place = next(iter(free.get(row.section, ())), None)
        if place is None:
            raise IogaugeError(
                f"fio reported more rows of {row.name} than its options make",
                hint="its figures can still be compared",
            )
        del free[row.section][place]
        places.append(place)
    return places


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


def _worker(row: ImportedRow, place: tuple[int, int], name: str, *, first: bool) -> WorkerResult:
    """Return one worker for all workers of a job in a row. Only the row's first job gets its CPU time."""
    duration_ns = _duration_ns(row)
    worker = WorkerResult.unmeasured(name=name, stage=place[0], row=place[1], start_ns=0, end_ns=duration_ns)
    if not first:
        return worker
    return worker.model_copy(
        update={
            "user_ns": round(duration_ns * (row.user_percent or 0) / 100),
            "system_ns": round(duration_ns * (row.system_percent or 0) / 100),
            "voluntary_switches": row.context_switches or 0,
        }
    )


def _duration_ns(row: ImportedRow) -> int:
    return round(row.duration_s * 10**9)


def _paths(jobs: JobFile) -> list[str]:
    return [need.path for need in needs(jobs)]


def _is_device(path: str) -> bool:
    return path.startswith("/dev/")


def _facts(path: str) -> TargetFacts:
    """Return the facts that follow from the path. Open nothing: the target may be on another machine."""
    return TargetFacts(path=path, kind="block" if _is_device(path) else "file", size_bytes=0)
