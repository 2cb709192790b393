"""Run published procedures on targets, and save every step before the next begins.

``review`` does all of it. The command calls its parts: ``begin`` or ``reopen``, then ``measure``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from iogauge import schema
from iogauge.errors import UsageError
from iogauge.library import conditions
from iogauge.library import options as review_options
from iogauge.library.errors import ConditionError, Interrupted, StepsError
from iogauge.library.options import ReviewOptions, StrPath
from iogauge.library.progress import OnProgress, Reporter
from iogauge.library.public import public
from iogauge.library.reading.saved import Review
from iogauge.schema import Manifest, StepPlan, SuitePlan, TargetFacts
from iogauge.store import Review as Stored
from iogauge.target.refusal import TargetRefused
from iogauge.text.option import call, either, option

if TYPE_CHECKING:
    from iogauge.library.conditions import ReviewCondition
    from iogauge.library.tunings.rungs import LadderOptions
    from iogauge.machine.power.meter import PowerMeter
    from iogauge.machine.samples.news import DriveNews
    from iogauge.reviews.runner import Failed, Watcher

Say = Callable[[str], None]


@public
def review(
    targets: Sequence[StrPath] | StrPath = (),
    *,
    output: StrPath | None = None,
    resume: StrPath | None = None,
    destroy: Sequence[StrPath] | StrPath = (),
    trace_latency: bool = False,
    note: str | None = None,
    fail_if: Sequence[str] | str = (),
    on_plan: Callable[[Manifest], None] = lambda _: None,
    on_progress: OnProgress = lambda _: None,
    **options: Unpack[ReviewOptions],
) -> Review:
    """Review targets and return the saved review; every step is saved before the next begins.

    Args:
        targets: block devices, files or drive models (``"model:p4800x"``), one or several. A file that does not exist
            is created and filled with random data.
        output: the directory to save in; by default a new one here.
        resume: continue the interrupted review in this directory, as it was planned, instead of a new one.
        destroy: serial numbers of drives, or paths, whose content may be lost.
        trace_latency: trace in every step how long requests wait in the block layer, and how long in the device;
            needs root.
        note: is saved as ``notes.md`` in the directory; words such as ``#nightly`` are the review's tags.
        fail_if: conditions such as ``"read.p99.9 > 1ms"``, checked on every step, or
            ``"mixed[70 %].p99 > 1ms"``, on a figure of a suite's table.
        on_plan: is called with the plan before anything is saved or measured; an exception cancels the review.
        on_progress: is called with each piece of news (``Progress``), as ``print`` can be.
        options: ``suites``, ``pace``, ``state``, ``purge_by``, ``drive_samples``, ``repeats``, ``until_supported``,
            ``size``, ``runtime``, ``seed``, ``meter`` and ``use`` (see ``ReviewOptions``).

    Raises:
        UsageError: an option is invalid.
        IogaugeError: a target is refused, or a step cannot be saved.
        StepsError: some steps failed; the others are complete.
        ConditionError: a condition of ``fail_if`` holds, or cannot be judged.
        Interrupted: Ctrl-C, a KeyboardInterrupt; complete steps are saved.
    """
    checked = conditions.parsed(review_options.as_list(fail_if))
    destroy = review_options.as_list(destroy)
    reporter = Reporter(on_progress)
    if resume is not None:
        refuse_with_resume(
            [
                name
                for name, value in {
                    "targets": targets or None,
                    "output": output,
                    "note": note,
                    **options,
                }.items()
                if value is not None and name != "meter"
            ]
        )
        saved = reopen(
            Path(resume), checked, destroy=destroy, say=reporter.message, meter=options.get("meter")
        )
    else:
        saved = begin(
            targets,
            checked,
            output=None if output is None else Path(output),
            destroy=destroy,
            command=review_options.command(review_options.as_list(targets), options),
            on_plan=on_plan,
            say=reporter.message,
            note=note or "",
            **options,
        )
    failed = measure(saved, lambda _: reporter, destroy=destroy, trace_latency=trace_latency)
    return concluded(saved, checked, failed)


def concluded(saved: Stored, fail_if: Sequence[ReviewCondition], failed: Sequence[Failed]) -> Review:
    """Return the review. Raises StepsError if steps failed, and ConditionError if a condition holds or is undecided."""
    if failed:
        raise StepsError(saved.path, failed)
    if broken := conditions.violations(saved, fail_if):
        steps, violations = zip(*broken, strict=True)
        raise ConditionError(violations, steps=steps, path=saved.path)
    # The user named these suites, or resumed their review: their files have already been run.
    return Review(saved, trusted=frozenset(plan.suite for plan in saved.manifest.plans))


def refuse_with_resume(names: Sequence[str]) -> None:
    """Raise UsageError if options are named that a resumed review already has."""
    if names:
        taken = [
            either(command="TARGET", library="targets") if name == "targets" else option(name)
            for name in names
        ]
        raise UsageError(
            f"{option('resume')} continues a review as it was planned: {', '.join(taken)} cannot be given with it",
            hint="leave them out, or begin a new review",
        )


def begin(
    targets: Sequence[StrPath] | StrPath,
    fail_if: Sequence[ReviewCondition],
    *,
    output: Path | None,
    destroy: Sequence[str],
    command: Sequence[str],
    on_plan: Callable[[Manifest], None],
    say: Say,
    note: str = "",
    ladder: LadderOptions | None = None,
    goal: schema.Goal | None = None,
    reads_only: str = "",
    or_read: bool = False,
    order_seed: int | None = None,
    **options: Unpack[ReviewOptions],
) -> Stored:
    """Open the targets, which refuses those that must not be written, and create the review's directory.

    ``note`` is saved with it; empty: there is none. ``ladder`` is for the suite of this name; None: the published one.
    ``goal`` is for the suite ``find``.
    ``reads_only`` is why suites that can leave their
    writes out. With ``or_read``, a target that may not be written is such a reason, and no error. ``order_seed`` is the
    seed of the steps' order alone; None: the review's seed is.
    """
    from iogauge import execution
    from iogauge.library.tunings.rungs import LadderOptions, ladder_of
    from iogauge.machine.idle_states import idle_states
    from iogauge.store.notes import check_notes, write_notes
    from iogauge.store.outputs import Claims
    from iogauge.store.review import refuse_occupied
    from iogauge.target.layers import layers_of
    from iogauge.target.ledger import state_of

    paths = review_options.anchored(review_options.as_list(targets))
    state = options.get("state", "as-is")
    ladder = ladder or LadderOptions()
    check_notes(note)
    conditions.require_suites(
        fail_if, review_options.suites_named(review_options.as_list(options.get("suites", ())))
    )
    if output is not None:
        Claims(targets=paths, say=say).new_directory(output)
        refuse_occupied(output)
    for path in paths:
        execution.refuse_files(path, by=options.get("purge_by", "discard"))

    def planned(*, write: bool, reads_only: str = reads_only) -> Manifest:
        return review_options.new_review(
            paths,
            lambda path, file_bytes: _facts(
                *review_options.anchored([path]),
                size_bytes=file_bytes,
                destroy=destroy,
                state=state,
                say=say,
                write=write,
            ),
            command=command,
            name_target=f"{call('review', '/dev/nvme0n1')}, or {option('resume', 'DIRECTORY')}",
            layers=layers_of,
            idle_states=idle_states,
            ladder=lambda target: ladder_of(ladder, target, say=say),
            state_of=state_of,
            ceiling=execution.measure_ceiling,
            goal=goal,
            reads_only=reads_only,
            order_seed=order_seed,
            **options,
        )

    try:
        # A file that is missing, or iogauge's own and too small, is written before it is read.
        manifest = planned(write=True)
    except TargetRefused as refused:
        reason = "; ".join(filter(None, (str(refused), refused.hint))) if or_read else reads_only
        manifest = _reading(partial(planned, write=False, reads_only=reason), refused)
    conditions.require(fail_if, manifest)
    for path in {
        path for plan in manifest.plans if any(step.purge for step in plan.steps) for path in plan.targets
    }:
        execution.check_purge(path, destroy=destroy, by=manifest.purge_by)
    on_plan(manifest)
    first = manifest.targets[0]
    name = first.modelled.drive if first.modelled else Path(first.path).name
    directory = output or Path(f"iogauge-{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    saved = Stored.create(directory, manifest)
    if note:
        write_notes(directory, note)
    say(f"{directory}: seed {manifest.seed}")
    return saved


def _reading(planned: Callable[[], Manifest], refused: TargetRefused) -> Manifest:
    """Return the plan of a review that only reads its targets. Raises ``refused`` if it writes to them."""
    from iogauge.reviews.manifest import only_reads

    try:
        manifest = planned()
    except TargetRefused:
        raise refused from None
    if not only_reads(manifest):
        raise refused
    return manifest


def reopen(
    directory: Path,
    fail_if: Sequence[ReviewCondition],
    *,
    destroy: Sequence[str],
    say: Say,
    meter: str | None = None,
) -> Stored:
    """Open a saved review to continue it, and check that its targets are the same; warn if the machine, or a setting of
    it, differs.

    Raises UsageError if another program runs its steps, and IogaugeError if its target is another one now.
    """
    from iogauge.machine.audit import audits_of
    from iogauge.machine.facts import machine_facts
    from iogauge.reviews.manifest import (
        check_same_target,
        differences,
        most_used,
        only_reads,
        settings_changed,
    )
    from iogauge.reviews.offline import exporter
    from iogauge.reviews.runner import remaining
    from iogauge.suites import suite_of

    saved = Stored.open(directory)
    manifest = saved.manifest
    if program := manifest.measured_by:
        raise UsageError(
            f"{directory}: its steps are run by {program}, so its results continue the review",
            hint=f"DIRECTORY is what {exporter()} wrote: {manifest.completed_by(str(directory))}",
        )
    conditions.require(fail_if, manifest)
    if remaining(saved, suite_of):
        _require_meter(manifest, meter)
        targets = []
        for target in manifest.targets:
            used = most_used(manifest, target.path)
            facts = _facts(
                target.path,
                size_bytes=used,
                destroy=destroy,
                state=manifest.state,
                say=say,
                write=not only_reads(manifest),
            )
            check_same_target(manifest, facts)
            targets.append(facts)
        for text in () if is_virtual(manifest) else differences(manifest, machine_facts()):
            say(f"warning: {text}")
        begun = saved.audits()
        for text in settings_changed(begun, audits_of(targets)) if begun else ():
            say(f"warning: {text}")
    return saved


def _require_meter(manifest: Manifest, meter: str | None) -> None:
    """Raise UsageError unless the user names the meter of a review, which may come from a stranger: it is a command."""
    for plan in manifest.plans:
        if plan.meter != meter and (plan.meter or meter):
            raise UsageError(
                f"this review measures power by {plan.meter!r}, a command that runs only if you name it"
                if plan.meter
                else "this review began without a meter",
                hint=f"add {option('meter', plan.meter)}" if plan.meter else f"leave out {option('meter')}",
            )


def measure(
    saved: Stored,
    watched: Callable[[int], Watcher],
    *,
    destroy: Sequence[str],
    trace_latency: bool = False,
    on_drive: Callable[[DriveNews], None] | None = None,
    start_at: Callable[[StepPlan], int | None] | None = None,
) -> tuple[Failed, ...]:
    """Run the missing steps of a review, and return those that failed.

    ``watched`` is called with the number of missing steps, if any, and returns their watcher. ``on_drive`` gets what
    the drives say of themselves. ``start_at`` is called when a step is prepared, may wait, and returns when the step
    starts (``execution.execute``); no step begins before its turn then. Raises Interrupted at Ctrl-C.
    """
    from iogauge.execution import execute, layered, purge, require_tracing
    from iogauge.execution.parallel import Parallel
    from iogauge.library.tunings.rungs import tuned_as
    from iogauge.machine.fingerprint import fingerprint_of
    from iogauge.reviews import runner
    from iogauge.suites import suite_of

    if trace_latency and not is_virtual(saved.manifest):
        require_tracing()
    execute_step = layered(
        partial(execute, state=saved.manifest.state, trace_latency=trace_latency, on_drive=on_drive),
        saved.manifest,
    )
    ahead = start_at is None and is_virtual(saved.manifest)
    cpus = len(os.sched_getaffinity(0)) if ahead else 1
    try:
        with saved.lock(), Parallel(execute_step, cpus=cpus) as parallel:
            steps = runner.remaining(saved, suite_of)
            if not steps:
                return ()
            return runner.run_review(
                saved,
                suite_of,
                execute=parallel,
                begin_early=parallel.begin,
                watcher=watched(steps),
                destroy=destroy,
                purge=partial(purge, by=saved.manifest.purge_by),
                tune=tuned_as,
                fingerprint=fingerprint_of,
                power_meter=partial(_power_meter, saved.manifest),
                start_at=start_at,
            )
    except (runner.Interrupted, KeyboardInterrupt):
        planned = len(saved.manifest.steps)
        unknown = any(plan.search and not plan.steps for plan in saved.manifest.plans)
        raise Interrupted(
            f"{len(saved.completed())} of {planned}{' and more' if unknown else ''} steps are saved",
            path=saved.path,
        ) from None


def _power_meter(manifest: Manifest, plan: SuitePlan, step: StepPlan) -> PowerMeter | None:
    """Return what measures the power of a step; a drive model computes its own."""
    from iogauge.machine.power.drive_state import drive_state
    from iogauge.machine.power.meter import PowerMeter
    from iogauge.machine.power.sources import sources_of

    target = manifest.target(plan.targets[0])
    if step.power_ns is None or target.modelled:
        return None
    return PowerMeter(sources_of(plan.meter), span_ns=step.power_ns, ask=lambda: drive_state(target))


def is_virtual(manifest: Manifest) -> bool:
    """Return whether all targets are drive models."""
    return all(target.modelled for target in manifest.targets)


def _facts(
    path: str,
    *,
    size_bytes: int | None,
    destroy: Sequence[str],
    state: schema.State,
    say: Say,
    write: bool,
) -> TargetFacts:
    """Open a target as the steps will, and return its facts."""
    from iogauge import execution
    from iogauge.target import ModelTarget, open_target
    from iogauge.target.answering import await_answers

    await_answers((path,), say=say)
    with open_target(
        path, write=write, size_bytes=size_bytes, destroy=destroy, on_message=say, state=state
    ) as opened:
        if isinstance(opened, ModelTarget):
            execution.check_model(opened.drive, opened.machine)
        return opened.facts
