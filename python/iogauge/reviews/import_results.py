"""Saves results of fio or DiskSpd as a review, to be listed, shown, compared and queried like any other.

A run whose file has histograms of its latencies becomes a step with a record, once for every job, since a plan judges
one job. A run with percentiles alone becomes reported figures (``store.reported``). The machine, the drive behind a
path and its state stay unknown, because the files do not report them.

This module reads no files and runs nothing: ``store.imported`` reads the files.
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
from iogauge.store.reported import SummaryFigure, save_summary
from iogauge.workload.diskspd.versions import NOT_COMPARABLE, loop_of

SUITE = "imported"
"""The suite's name in an imported review; no such suite exists."""
UNKNOWN = "not known"
UNKNOWN_MACHINE = MachineFacts(
    hostname=UNKNOWN, kernel=UNKNOWN, cpu=UNKNOWN, cpus=1, cpus_allowed=1, memory_bytes=1, virtualised=None
)
"""The machine on which another program ran, which its results do not describe."""


class Run(NamedTuple):
    """The position of a run among the runs of its job that are imported together."""

    label: str
    """The job's name; the file's name if several files have a job of that name."""
    at: int
    """Its number among the runs of its job, from 1."""


def save_imported(
    steps: Sequence[ImportedStep], directory: Path, *, command: Sequence[str]
) -> tuple[Review, tuple[str, ...]]:
    """Save runs of other tools as a new review; return it with warnings about the runs.

    Raises IogaugeError if there is no run, or if the directory cannot be created or is not empty. If the import ends
    early for any reason, it leaves nothing behind.
    """
    if not steps:
        raise IogaugeError("there is no run to import", hint="name results of fio or DiskSpd")
    judged: list[tuple[StepPlan, SuitePlan, RunRecord, ImportedStep]] = []
    reported: list[SummaryFigure] = []
    warnings: list[str] = []
    jobs = [tuple(dict.fromkeys(row.name for row in step.rows)) for step in steps]
    often = Counter(job for names in jobs for job in names)
    seen: Counter[str] = Counter()
    for number, (step, names) in enumerate(zip(steps, jobs, strict=True), 1):
        seen.update(names)
        # A comparison matches the jobs of two imports by their names, not by those of their files.
        runs = {job: Run(step.label if often[job] > 1 else job, seen[job]) for job in names}
        warnings += [f"{step.source}: {warning}" for warning in step.warnings]
        try:
            record = run_record(step)
        except IogaugeError as error:
            warnings.append(f"{error}; its figures are kept without intervals")
            reported += _reported(step, runs)
            continue
        for job, run in runs.items():
            plan = _plan(job, step, _paths(step))
            judged.append((_step(job, step, run, f"{number:0{len(str(len(steps)))}d}"), plan, record, step))
    if len({loop for step in steps if (loop := _loop(step))}) > 1:
        warnings.append(NOT_COMPARABLE)
    plans = _plans(judged) or (
        _plan(steps[0].rows[0].name if steps[0].rows else SUITE, steps[0], _all(steps)),
    )
    existed = directory.exists()
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
            if reported:
                save_summary(directory, tuple(reported))
            for plan_step, _, record, imported in judged:
                with review.begin(plan_step.id) as writer:
                    for interval in imported.intervals:
                        writer.interval(interval)
                    writer.finish(record)
        except BaseException:
            # After Ctrl-C too: half an import cannot be continued, and would block the next one.
            _remove(directory, existed=existed)
            raise
    return review, tuple(warnings)


def _remove(directory: Path, *, existed: bool) -> None:
    """Remove a review, and its directory unless it ``existed`` before. Ignore errors: one is being raised already."""
    with contextlib.suppress(OSError):
        for entry in directory.iterdir():
            remove_tree(entry) if entry.is_dir() else entry.unlink()
        if not existed:
            directory.rmdir()


def _plans(judged: Iterable[tuple[StepPlan, SuitePlan, RunRecord, ImportedStep]]) -> tuple[SuitePlan, ...]:
    """Return one plan for every job and its targets, with its steps in the order of the files."""
    plans: dict[tuple[str, tuple[str, ...]], SuitePlan] = {}
    for step, plan, _, _ in judged:
        before = plans.get((plan.key, plan.targets))
        steps = (*before.steps, step) if before else (step,)
        plans[plan.key, plan.targets] = plan.model_copy(update={"steps": steps})
    return tuple(plans.values())


def _plan(job: str, step: ImportedStep, targets: tuple[str, ...]) -> SuitePlan:
    return SuitePlan(
        key=f"{SUITE}.{_slug(job)}",
        suite=SUITE,
        title=f"Imported: {job}",
        source=f"measured by {step.tool} ({step.version})",
        targets=targets,
        axis=Axis(name="run", unit=""),
        measured_job=job,
        judged="I/O",
        load_jobs=None,
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
    """Return a job file's text with the options that the result reports."""
    if jobs is None:
        return ""
    return "\n".join(
        f"[{job.name}]\n" + "".join(f"{name}={value}\n" for name, value in options.items())
        for job, options in zip(jobs.jobs, jobs.options, strict=False)
    )


def _reported(step: ImportedStep, runs: Mapping[str, Run]) -> Iterator[SummaryFigure]:
    for row in step.rows:
        for direction, figures in row.figures.items():
            latency = figures.latency
            kind = next((kind for kind, other in figures.latencies.items() if other is latency), None)
            yield SummaryFigure(
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
                quantiles_ns={quantile.q: quantile.value_ns for quantile in latency.quantiles}
                if latency
                else {},
            )


def _loop(step: ImportedStep) -> str:
    """Return the name of DiskSpd's asynchronous loop that measured a run; empty: unknown."""
    jobs = step.jobs.jobs if step.jobs else ()
    return (
        loop_of(step.version, max((job.iodepth for job in jobs), default=1)) if step.tool == "diskspd" else ""
    )


def _paths(step: ImportedStep) -> tuple[str, ...]:
    """Return the targets of a run; if its jobs are unknown, the path of its result instead."""
    names = [name for job in step.jobs.jobs for name in job.filenames] if step.jobs else []
    return tuple(dict.fromkeys(names)) or (step.source,)


def _all(steps: Iterable[ImportedStep]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for step in steps for path in _paths(step)))


def _facts(path: str) -> TargetFacts:
    return TargetFacts(path=path, kind="block" if path.startswith("/dev/") else "file", size_bytes=0)


def _slug(text: str) -> str:
    """Turn a text into a part of a file's name.

    >>> _slug("4k reads, QD 1")
    '4k-reads-QD-1'
    """
    return re.sub(r"[^A-Za-z0-9]+", "-", text).strip("-") or "x"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
