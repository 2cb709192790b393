"""A review made of what fio or DiskSpd measured, so that it is listed, shown, compared and asked like one of ours.

A run whose file has the counts of its latencies becomes a step, with a record as ours: once for each of its jobs,
since a plan judges one. A run that has only percentiles becomes figures as they were told (``store.reported``). What
the files do not say stays unknown: the machine, the drive behind a path, the state that it was in.

Reads and runs nothing; what a file holds is ``store.imported``'s.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from iogauge.errors import IogaugeError
from iogauge.reviews.imported_run import run_record
from iogauge.schema import (
    Axis,
    JobFile,
    MachineFacts,
    Manifest,
    RunRecord,
    StepPlan,
    SuitePlan,
    TargetFacts,
)
from iogauge.store import Review
from iogauge.store.durable import remove_tree
from iogauge.store.imported import ImportedStep
from iogauge.store.reported import Told, save_told
from iogauge.workload.diskspd.versions import NOT_COMPARABLE, loop_of

SUITE = "imported"
"""What the suite of an imported review is called: there is none that could conduct it."""
UNKNOWN = "not known"
UNKNOWN_MACHINE = MachineFacts(
    hostname=UNKNOWN, kernel=UNKNOWN, cpu=UNKNOWN, cpus=1, cpus_allowed=1, memory_bytes=1, virtualised=None
)
"""Where another program ran, of which its results do not tell."""


class Run(NamedTuple):
    """Where a run of a job stands among those imported together."""

    label: str
    """The job's name; the file's, where several have a job of that name."""
    at: int
    """Among the runs of its job, from 1."""


def save_imported(
    steps: Sequence[ImportedStep], directory: Path, *, command: Sequence[str]
) -> tuple[Review, tuple[str, ...]]:
    """Save runs of other tools as a new review, and return it with what is to be said of them.

    Raises IogaugeError where there is no run, or where the directory cannot be made or has something in it. Whatever
    ends it early, nothing of the review is left.
    """
    if not steps:
        raise IogaugeError("there is no run to import", hint="name results of fio or DiskSpd")
    judged: list[tuple[StepPlan, SuitePlan, RunRecord, ImportedStep]] = []
    told: list[Told] = []
    said: list[str] = []
    jobs = [tuple(dict.fromkeys(row.name for row in step.rows)) for step in steps]
    often = Counter(job for each in jobs for job in each)
    seen: Counter[str] = Counter()
    for number, (step, names) in enumerate(zip(steps, jobs, strict=True), 1):
        seen.update(names)
        # The same job of two imports meets in a comparison, whatever its file was called.
        runs = {job: Run(step.label if often[job] > 1 else job, seen[job]) for job in names}
        said += [f"{step.source}: {warning}" for warning in step.warnings]
        try:
            record = run_record(step)
        except IogaugeError as error:
            said.append(f"{error}; its figures are kept as they are")
            told += _told(step, runs)
            continue
        for job, run in runs.items():
            plan = _plan(job, step, _paths(step))
            judged.append((_step(job, step, run, f"{number:0{len(str(len(steps)))}d}"), plan, record, step))
    if len({loop for step in steps if (loop := _loop(step))}) > 1:
        said.append(NOT_COMPARABLE)
    plans = _plans(judged) or (
        _plan(steps[0].rows[0].name if steps[0].rows else SUITE, steps[0], _all(steps)),
    )
    there = directory.exists()
    review = Review.create(
        directory,
        Manifest(
            id=f"{SUITE}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}",
            created_at=min((step.started_at for step in steps if step.started_at), default=_now()),
            command=tuple(command),
            seed=0,
            pace="full",
            plans=plans,
            targets=tuple(_facts(path) for path in _all(steps)),
            machine=UNKNOWN_MACHINE,
            ceiling=None,
            versions={step.tool: step.version for step in steps},
        ),
    )
    with review.lock():
        try:
            if told:
                save_told(directory, tuple(told))
            for plan_step, _, record, imported in judged:
                with review.begin(plan_step.id) as writer:
                    for interval in imported.intervals:
                        writer.interval(interval)
                    writer.finish(record)
        except BaseException:
            # Ctrl-C too: nothing goes on with half an import, and it would be in the way of the next.
            _take_back(directory, there=there)
            raise
    return review, tuple(said)


def _take_back(directory: Path, *, there: bool) -> None:
    """Remove a review, and its directory unless it was ``there`` before; what ended the import says more than this."""
    with contextlib.suppress(OSError):
        for entry in directory.iterdir():
            remove_tree(entry) if entry.is_dir() else entry.unlink()
        if not there:
            directory.rmdir()


def _plans(judged: Iterable[tuple[StepPlan, SuitePlan, RunRecord, ImportedStep]]) -> tuple[SuitePlan, ...]:
    """Return one plan for each job and its targets, with its steps in the order of the files."""
    found: dict[tuple[str, tuple[str, ...]], SuitePlan] = {}
    for step, plan, _, _ in judged:
        before = found.get((plan.key, plan.targets))
        steps = (*before.steps, step) if before else (step,)
        found[plan.key, plan.targets] = plan.model_copy(update={"steps": steps})
    return tuple(found.values())


def _plan(job: str, step: ImportedStep, targets: tuple[str, ...]) -> SuitePlan:
    return SuitePlan(
        key=f"{SUITE}.{_slug(job)}",
        suite=SUITE,
        title=f"Imported: {job}",
        source=f"measured by {step.tool} ({step.version})",
        targets=targets,
        axis=Axis(name="run", unit=""),
        reader=job,
        judged="I/O",
        pressure=None,
        steps=(),
        notes=(measured_by(step.tool, step.version),),
    )


def measured_by(tool: str, version: str) -> str:
    """Return the note of a plan whose steps another program ran.

    >>> measured_by("fio", "fio-3.33")
    'Measured by fio (fio-3.33), not by iogauge: the machine, the drive behind the path and its state are not known.'
    """
    return (
        f"Measured by {tool} ({version}), not by iogauge: the machine, the drive behind the path and its state are "
        "not known."
    )


def _step(job: str, step: ImportedStep, run: Run, number: str) -> StepPlan:
    step_id = f"{SUITE}.{_slug(job)}.{number}-{_slug(step.label)}"[:100]
    return StepPlan(
        id=step_id,
        series=job,
        label=run.label,
        at=run.at,
        job_file=_text(step.jobs),
        seed=0,
        state_group=step_id,
    )


def _text(jobs: JobFile | None) -> str:
    """Return the jobs in fio's words, as the file told them."""
    if jobs is None:
        return ""
    return "\n".join(
        f"[{job.name}]\n" + "".join(f"{name}={value}\n" for name, value in options.items())
        for job, options in zip(jobs.jobs, jobs.options, strict=False)
    )


def _told(step: ImportedStep, runs: Mapping[str, Run]) -> Iterator[Told]:
    for row in step.rows:
        for direction, figures in row.figures.items():
            latency = figures.latency
            kind = next((kind for kind, each in figures.latencies.items() if each is latency), None)
            yield Told(
                label=runs[row.name].label,
                at=runs[row.name].at,
                job=row.name,
                direction=direction,
                target=", ".join(_paths(step)),
                tool=step.tool,
                source=step.source,
                loop=_loop(step),
                duration_s=row.duration_s,
                ios=figures.ios,
                iops=figures.iops,
                rate_Bps=figures.rate_Bps,
                kind=kind,
                mean_ns=latency.mean_ns if latency else None,
                quantiles_ns={each.q: each.value_ns for each in latency.quantiles} if latency else {},
            )


def _loop(step: ImportedStep) -> str:
    """Name the asynchronous loop of DiskSpd that a run was measured by; empty: of none that is known."""
    jobs = step.jobs.jobs if step.jobs else ()
    return (
        loop_of(step.version, max((job.iodepth for job in jobs), default=1)) if step.tool == "diskspd" else ""
    )


def _paths(step: ImportedStep) -> tuple[str, ...]:
    """Return what a run was on; where its jobs are not known, the file that tells of it stands for that."""
    names = [name for job in step.jobs.jobs for name in job.filenames] if step.jobs else []
    return tuple(dict.fromkeys(names)) or (step.source,)


def _all(steps: Iterable[ImportedStep]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for step in steps for path in _paths(step)))


def _facts(path: str) -> TargetFacts:
    return TargetFacts(path=path, kind="block" if path.startswith("/dev/") else "file", size_bytes=0)


def _slug(text: str) -> str:
    """Return a text as a part of a file's name.

    >>> _slug("4k reads, QD 1")
    '4k-reads-QD-1'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-") or "x"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
