"""Runs a job file on its targets. No other code turns jobs into requests, and every target is opened by ``target``.

``execute`` opens the targets through their gate, makes the plan, runs it in the Rust core, and returns a record with
everything that is needed to judge the run. It watches the machine before, during and after the run, unless the targets
are drive models. It saves and prints nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from iogauge import _core
from iogauge.errors import IogaugeError
from iogauge.execution.bookkeeping import Written, enter
from iogauge.execution.ceiling import measure_ceiling
from iogauge.execution.core import OnStage, clock, handed_over, probe, run_plan, start_real
from iogauge.execution.figures import OwnBytes, row_figures
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.latency_split import OwnLatencies
from iogauge.execution.layered import layered
from iogauge.execution.modelled import (
    CPUS,
    Virtual,
    check_model,
    explained_run,
    part_meanings,
    refuse_mixture,
)
from iogauge.execution.plans.planning import Opened, make_plan
from iogauge.execution.plans.rehearsal import rehearse
from iogauge.execution.plans.stamping import refuse_models
from iogauge.execution.plans.verifying import require_written, say_what_is_unchecked
from iogauge.execution.purging.purge import check_purge, purge, refuse_files
from iogauge.execution.refusals import refuse_commands, refuse_writes
from iogauge.execution.replaying import open_rows, with_traces
from iogauge.execution.tracing import Tracing, require_tracing
from iogauge.machine.samples.news import DriveNews
from iogauge.machine.stat import uncounted_commands, without_requests
from iogauge.machine.watch import Watch
from iogauge.schema import (
    Ceiling,
    Interval,
    JobFile,
    RowParts,
    RunPlan,
    RunRecord,
    RunResult,
    State,
    TargetFacts,
)
from iogauge.target import Target, is_model, open_target
from iogauge.target.answering import await_answers
from iogauge.target.file import remove_files, require_removable
from iogauge.target.namespace import block_device_of, real_path
from iogauge.workload.regions import REPEATABLE_SEED, Need, needs

if TYPE_CHECKING:
    from iogauge.execution.log.spill import Spill

__all__ = [
    "check_model",
    "check_purge",
    "clock",
    "execute",
    "layered",
    "measure_ceiling",
    "part_meanings",
    "purge",
    "refuse_files",
    "require_tracing",
    "with_traces",
]


def execute(
    job_file: JobFile,
    *,
    destroy: Collection[str] = (),
    seed: int | None = None,
    interval_ns: int = 10**9,
    give_up_ns: int = 120 * 10**9,
    spill: Spill | None = None,
    log_drops: bool = False,
    on_interval: Callable[[Interval], None] | None = None,
    on_message: Callable[[str], None] | None = None,
    on_start: Callable[[RunPlan, tuple[TargetFacts, ...]], None] | None = None,
    on_stage: OnStage | None = None,
    on_drive: Callable[[DriveNews], None] | None = None,
    ceiling: Ceiling | None = None,
    readonly: bool = False,
    allow_exec: bool = False,
    state: State = "as-is",
    trace_latency: bool = False,
    drive_samples: bool = True,
    stamp_descriptors: Mapping[str, int] = MappingProxyType({}),
    explain: bool = False,
    start_at: Callable[[], int | None] = lambda: None,
) -> RunRecord:
    """Run every stage of a job file and return its record. Intervals go to ``on_interval`` alone.

    Args:
        destroy: targets whose content may be lost (``target.open_target``).
        seed: the base of every random choice, except in jobs with a randseed. None: jobs with randrepeat use
            ``REPEATABLE_SEED``, and the others a seed that is drawn.
        give_up_ns: report requests in flight as lost once none has completed for this long; also the longest wait for
            a target to answer before the run.
        spill: the file to which every request is logged.
        log_drops: drop requests from the log if it cannot be written fast enough; otherwise the load waits.
        readonly: refuse jobs that write, before any target is opened, and the layout of files to be read.
        on_stage: called while the run waits before a stage, if a job before it has an exec_postrun or one of its own
            an exec_prerun. Gets the stage's index and a function that tells whether the run was interrupted. An
            IogaugeError ends the run there.
        allow_exec: accept jobs with commands, which the caller runs.
        state: the state in which the flash of drive models begins; real targets are used as they are.
        on_drive: gets what the drives said of themselves, if they are sampled, when an interval arrives.
        trace_latency: trace the block layer's events, for the distributions of the parts of lat; needs root.
        drive_samples: sample temperature, throttling and errors of the drives each second (``machine.samples``).
        stamp_descriptors: the open stamp logs, by the ``stamp_log`` of their jobs.
        explain: record where the time of requests went; only on drive models, whose run is the same without it.
        start_at: called once all is prepared but the threads and their memory, and may wait. Returns the instant of
            this host's CLOCK_MONOTONIC, ns, at which the first stage starts, or as soon after it as possible; None:
            at once. Ctrl-C in it is a KeyboardInterrupt, since the run has not begun.

    Raises IogaugeError if a target is refused, the plan is impossible, or an engine cannot be opened. Later errors are
    in the record. Ctrl-C ends the run, which still returns a record, with ``stopped_by == "interrupt"``.
    """
    if readonly:
        refuse_writes(job_file)
    if not allow_exec:
        refuse_commands(job_file)
    refuse_models(job_file)
    say = on_message or (lambda _: None)
    repeatable_seed = REPEATABLE_SEED if seed is None else seed
    if seed is None:
        drawn = any(not job.randrepeat and job.randseed is None for job in job_file.jobs)
        seed = int.from_bytes(os.urandom(7)) if drawn else REPEATABLE_SEED
    wanted = needs(job_file)
    refuse_mixture(job_file, [need.path for need in wanted])
    rehearse(job_file, wanted, cpus=_core.allowed_cpus(), stamp_descriptors=stamp_descriptors)
    say_what_is_unchecked(job_file, [need.path for need in wanted], say=say)
    removed: list[str] = []
    with contextlib.ExitStack() as stack:
        # The first callback, so that the targets are closed before.
        stack.callback(remove_files, removed, say=say)
        await_answers((need.path for need in wanted), patience_s=give_up_ns / 1e9, say=say)
        targets = _open(wanted, destroy=destroy, readonly=readonly, say=say, state=state, stack=stack)
        removed.extend(need.path for need in wanted if need.unlink and not is_model(need.path))
        virtual = Virtual.of(targets)
        opened = virtual.opened if virtual else {path: _opened(target) for path, target in targets.items()}
        plan = make_plan(
            job_file,
            opened,
            seed=seed,
            repeatable_seed=repeatable_seed,
            interval_ns=interval_ns,
            give_up_ns=give_up_ns,
            request_log=spill is not None,
            log_drops=log_drops,
            cpus=CPUS if virtual else _core.allowed_cpus(),
            spins=not virtual,
            handed_over=None if virtual else handed_over,
            replays=open_rows(job_file, opened, stack),
            stamp_descriptors=stamp_descriptors,
            say=say,
        )
        facts = tuple(target.facts for target in targets.values())
        fallbacks = () if virtual else probe(plan)
        watch = None if virtual else Watch(drive_samples=drive_samples)
        if watch:
            stack.callback(watch.close)
            watch.started(plan, facts)
        instant = start_at()
        if instant is not None:
            plan = plan.model_copy(update={"start_at_ns": instant})
            if watch:
                watch.count_from_now(facts)
        interrupts = stack.enter_context(Interrupts())
        tracing = stack.enter_context(Tracing(plan, facts)) if trace_latency else None
        # From here on, a run always ends with a record.
        if on_start:
            on_start(plan, facts)
        uncounted = uncounted_commands(plan, facts)
        own, written = OwnBytes(plan, facts, uncounted=uncounted), Written(plan)
        latencies = OwnLatencies(plan, facts, uncounted=uncounted)

        def count_interval(interval: Interval) -> None:
            own.add(interval)
            written.add(interval)
            latencies.add(interval)
            if watch:
                watch.interval(interval)
            if on_interval:
                on_interval(interval)
            if watch and on_drive:
                for news in watch.drive_news():
                    on_drive(news)

        started_at = datetime.now(UTC).isoformat(timespec="milliseconds")
        explained: list[RowParts] = []
        if tracing:
            tracing.start()
        result = run_plan(
            plan,
            start=partial(virtual.start, explain=explain) if virtual else start_real,
            interrupts=interrupts,
            on_interval=count_interval,
            on_explained=explained.append,
            on_stage=on_stage,
            spill=spill.begin(job_file, plan) if spill else None,
            on_spilled=spill.ended if spill else lambda _: None,
            on_message=say,
        )
        if spill and spill.failure:
            cut = f"the request log ends after {spill.kept:,} requests: {spill.failure}"
            result = result.model_copy(update={"error": result.error or cut})
        record = RunRecord(
            jobs=job_file,
            plan=plan,
            result=result,
            targets=facts,
            device_stats=(),
            ceiling=ceiling,
            warnings=(),
            started_at=started_at,
            latency_traces=(tracing.result(),) if tracing else (),
            explained=explained_run(explained) if explained else None,
        )
        _report_in_flight(result, say)
        for target in dict.fromkeys(targets.values()):
            names = [path for path, other in targets.items() if other is target]
            entry = written.entry(names, target.facts, at=started_at, source=job_file.source)
            if entry:
                enter(target.facts, entry, say)
        if watch:
            record = watch.finished(
                record, row_figures(record), own_bytes=own.by_device(), fallbacks=fallbacks
            )
            devices = without_requests(stat.device for stat in record.device_stats)
            splits = latencies.splits(record.device_stats, without_requests=devices)
            record = record.model_copy(update={"latency_splits": splits})
        elif virtual:
            record = virtual.judged(record)
        if interrupts.count and record.result.stopped_by is None:
            # Ctrl-C came as the run ended: the next run must not begin.
            result = record.result.model_copy(update={"stopped_by": "interrupt"})
            record = record.model_copy(update={"result": result})
        return record


def _open(
    wanted: Sequence[Need],
    *,
    destroy: Collection[str],
    readonly: bool,
    say: Callable[[str], None],
    state: State,
    stack: contextlib.ExitStack,
) -> dict[str, Target]:
    """Open every target once, even if several names lead to it."""
    targets: dict[str, Target] = {}
    by_real_path: dict[str, Target] = {}
    for name, group in _by_real_path(wanted).items():
        sizes = [need.size_bytes for need in group if need.size_bytes is not None]
        if not sizes and not is_model(name) and not os.path.lexists(name):
            raise IogaugeError(
                f"{group[0].path}: no such file, and the job does not say how large to make it",
                hint="give size=, or the path of an existing file or device",
            )
        if any(need.verifies for need in group) and not any(need.write for need in group):
            require_written(group[0].path, size_bytes=max(sizes, default=0))
        for need in group:
            if need.unlink and not is_model(need.path):
                require_removable(need.path, destroy=destroy)
            if need.files and block_device_of(os.path.realpath(need.path)):
                raise IogaugeError(
                    f"{need.path}: it is a character device, which takes NVMe commands only",
                    hint=f"use ioengine=io_uring_cmd, or name the block device {name}",
                )
        by_real_path[name] = stack.enter_context(
            open_target(
                group[0].path,
                write=any(need.write for need in group),
                size_bytes=max(sizes, default=None),
                destroy=destroy,
                readonly=readonly,
                on_message=say,
                state=state,
                commands=any(need.commands for need in group),
            )
        )
        for need in group:
            targets[need.path] = by_real_path[name]
    return targets


def _by_real_path(wanted: Sequence[Need]) -> Mapping[str, list[Need]]:
    groups: dict[str, list[Need]] = {}
    for need in wanted:
        key = need.path if is_model(need.path) else real_path(need.path)
        groups.setdefault(key, []).append(need)
    return groups


def _opened(target: Target) -> Opened:
    return Opened(
        fd=target.fd,
        size_bytes=target.size_bytes,
        writable=target.writable,
        is_block_device=target.facts.kind == "block",
        namespace=target.namespace,
    )


def _report_in_flight(result: RunResult, say: Callable[[str], None]) -> None:
    if result.in_flight:
        count = len(result.in_flight)
        say(
            f"{count} request{'s' if count > 1 else ''} still in the kernel: results are complete without "
            f"{'them' if count > 1 else 'it'}, but this process cannot end before the kernel returns "
            f"{'them' if count > 1 else 'it'}"
        )
