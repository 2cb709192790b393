"""``iogauge review``: take a target through a published procedure, saving every step before the next begins.

TARGET is a block device or a file; a file that does not exist is made and filled with random data. model:NAME is a
drive model, which takes no hardware and little time ('iogauge model list' shows which there are). With --pace
quick each step takes seconds, and the steps are scaled to what the target takes, found by a short search; full is
the procedure as it was published.

The review is a directory. Whatever ends it, Ctrl-C, a crash or a full disk, steps that were complete are kept, and
--resume DIRECTORY goes on with the same plan and the same seeds.

A --fail-if condition, for instance 'read.p99.9 > 1ms', is checked on every step: exit status 3 where it holds
anywhere, 1 where it cannot be judged.
"""

from __future__ import annotations

import json
import secrets
import shlex
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from iogauge.cli import process, status, streams

if TYPE_CHECKING:
    from iogauge.report.fail_if import Condition, Violation
    from iogauge.schema import SuitePlan
    from iogauge.store import Review
    from iogauge.suites import Suite


class Pace(StrEnum):
    """``--pace``."""

    QUICK = "quick"
    FULL = "full"


def review(
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="Block device, file or model:NAME.")
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            "--suite",
            metavar="NAME",
            help="The procedure: queue-depth, mixed, reader-under-writers, transfer-size or write-pressure.",
            show_default="write-pressure",
        ),
    ] = None,
    pace: Annotated[
        Pace | None,
        typer.Option("--pace", help="Seconds a step, or as it was published.", show_default="quick"),
    ] = None,
    size: Annotated[
        str | None,
        typer.Option("--size", metavar="BYTES", help="How much of the target to use, for instance 4g."),
    ] = None,
    runtime: Annotated[
        str | None, typer.Option("--runtime", metavar="TIME", help="Measured time of each step, in seconds.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIRECTORY", help="Where to save; by default a new one here."),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="DIRECTORY", help="Go on with a review that was interrupted."),
    ] = None,
    destroy: Annotated[
        list[str] | None,
        typer.Option(
            "--destroy", metavar="SERIAL-OR-PATH", help="Content of this drive or file may be lost."
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="NUMBER", help="Makes every random choice repeat.", min=0)
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option("--fail-if", metavar="CONDITION", help="Exit with status 3 where this holds."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Conduct a review and print what it shows."""
    # All that takes long to import, and only then is there anything that an interrupt could cost.
    import iogauge.run
    import iogauge.store
    import iogauge.suites  # noqa: F401
    from iogauge.report.fail_if import parse

    process.begin()
    conditions = [parse(each) for each in fail_if or ()]
    given = {
        "TARGET": target, "--suite": suite, "--pace": pace, "--size": size,
        "--runtime": runtime, "--output": output, "--seed": seed,
    }  # fmt: skip
    if resume is not None:
        _refuse_beside_resume([name for name, value in given.items() if value is not None])
        saved = _resumed(resume, conditions, destroy=destroy or ())
    elif target is None:
        raise status.UsageError(
            "name a TARGET, or a review to go on with",
            hint="iogauge review /dev/nvme0n1, or --resume DIRECTORY",
        )
    else:
        saved = _begun(
            target,
            conditions,
            suite=_suite(suite or "write-pressure"),
            pace="quick" if pace is None else pace.value,
            size_bytes=_size(size),
            runtime_ns=_time(runtime),
            output=output,
            destroy=destroy or (),
            seed=secrets.randbits(32) if seed is None else seed,
        )
    _measure(saved, destroy=destroy or ())
    _show(saved, conditions, as_json=as_json)


def _begun(
    target: str,
    conditions: Sequence[Condition],
    *,
    suite: Suite,
    pace: Literal["quick", "full"],
    size_bytes: int | None,
    runtime_ns: int | None,
    output: Path | None,
    destroy: Sequence[str],
    seed: int,
) -> Review:
    """Open the target, which refuses what must not be written, and make the review's directory."""
    from iogauge import models
    from iogauge import run as runner
    from iogauge.machine.facts import machine_facts
    from iogauge.store import Review
    from iogauge.suites import Asked
    from iogauge.suites.begin import new_manifest
    from iogauge.target import ModelTarget, is_model, open_target

    # It is resumed from wherever. A symbolic link such as /dev/disk/by-id/... stays what the user chose.
    path = models.anchored(target) if is_model(target) else str(Path(target).absolute())
    size_of_file = size_bytes or suite.FILE_BYTES[pace]
    with open_target(
        path, write=True, size_bytes=size_of_file, destroy=destroy, on_message=streams.say
    ) as opened:
        facts = opened.facts
        if isinstance(opened, ModelTarget):
            runner.check_model(opened.drive, opened.machine)
    manifest = new_manifest(
        suite,
        Asked(target=facts, pace=pace, seed=seed, size_bytes=size_bytes, runtime_ns=runtime_ns),
        command=("iogauge", *sys.argv[1:]),
        machine=machine_facts(),
        ceiling=None if facts.modelled else runner.measure_ceiling(),
    )
    _require(conditions, manifest.plan)
    name = facts.modelled.drive if facts.modelled else Path(path).name
    directory = output or Path(f"iogauge-{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    saved = Review.create(directory, manifest)
    streams.say(f"{directory}: seed {seed}")
    return saved


def _resumed(directory: Path, conditions: Sequence[Condition], *, destroy: Sequence[str]) -> Review:
    """Open a saved review, and check that its target and machine are still the same."""
    from iogauge.machine.facts import machine_facts
    from iogauge.store import Review
    from iogauge.suites.begin import check_same_target, differences
    from iogauge.target import open_target

    saved = Review.open(directory)
    manifest = saved.manifest
    _require(conditions, manifest.plan)
    if len(saved.completed()) < len(manifest.plan.steps) or not manifest.plan.steps:
        size_bytes = manifest.plan.size_bytes
        path = manifest.target.path
        with open_target(
            path, write=True, size_bytes=size_bytes, destroy=destroy, on_message=streams.say
        ) as opened:
            check_same_target(manifest, opened.facts)
        for text in differences(manifest, machine_facts()) if not manifest.target.modelled else ():
            streams.say(f"warning: {text}")
    return saved


def _measure(saved: Review, *, destroy: Sequence[str]) -> None:
    """Run what is missing, with a display of how far it is."""
    from iogauge.cli.progress import Progress
    from iogauge.run import execute
    from iogauge.suites.conduct import Interrupted, conduct, remaining, search

    plan = saved.manifest.plan
    title = f"{plan.suite} on {saved.manifest.target.path}"
    virtual = saved.manifest.target.modelled is not None
    try:
        with saved.lock():
            if plan.search is not None and not plan.steps:
                with Progress(title=title, virtual=virtual) as progress:
                    search(saved, _suite(plan.suite), execute=execute, watcher=progress, destroy=destroy)
            if steps := remaining(saved):
                with Progress(title=title, steps=steps, virtual=virtual) as progress:
                    conduct(saved, execute=execute, watcher=progress, destroy=destroy)
    except (Interrupted, KeyboardInterrupt):
        done = f"{len(saved.completed())} of {len(saved.manifest.plan.steps) or '?'} steps are saved"
        streams.say(f"{process.word()}: {done}\nhint: iogauge review --resume {shlex.quote(str(saved.path))}")
        raise typer.Exit(process.status()) from None


def _show(saved: Review, conditions: Sequence[Condition], *, as_json: bool) -> None:
    """Print what was found, and choose the exit status by the conditions."""
    from iogauge.cli import review_shown
    from iogauge.report.surroundings import warnings

    suite = _suite(saved.manifest.plan.suite)
    judgement = suite.judge(saved)
    findings = suite.findings(judgement)
    violations = _violations(saved, conditions)
    manifest = saved.manifest
    if as_json:
        shown = review_shown.as_json(
            judgement, manifest, path=str(saved.path), findings=findings, violations=violations
        )
        streams.show(json.dumps(shown, indent=2, allow_nan=False) + "\n")
    else:
        following = f"next: iogauge report {shlex.quote(str(saved.path))}\n"
        streams.show(review_shown.table(judgement, manifest, findings=findings) + following)
    streams.say(warnings(review_shown.warnings(judgement, manifest)), end="")
    for step, found in violations:
        kind = "error" if found.unknown else "failed"
        streams.say(f"{kind}: {step}: {found.message}" + (f"\nhint: {found.hint}" if found.hint else ""))
    if any(not found.unknown for _, found in violations):
        raise typer.Exit(status.VIOLATED)
    if violations:
        raise typer.Exit(status.ERROR)


def _violations(saved: Review, conditions: Sequence[Condition]) -> list[tuple[str, Violation]]:
    """Check every condition on every step that it can be about: a step without writers has no write."""
    found = []
    for step in saved.manifest.plan.steps if conditions else ():
        record = saved.record(step.id)
        for condition in conditions:
            if condition.concerns(record.jobs):
                found += [(step.id, violation) for violation in condition.check(record)]
    return found


def _require(conditions: Sequence[Condition], plan: SuitePlan) -> None:
    """Refuse, before anything is measured, a condition that no step could ever meet."""
    from iogauge import workload

    planned = [*plan.steps, *([plan.search] if plan.search else [])]
    files = [workload.parse(step.job_file, source=step.id) for step in planned] if conditions else []
    for condition in conditions:
        if not any(map(condition.concerns, files)):
            condition.require(files[-1])


def _suite(name: str) -> Suite:
    from iogauge.suites import SUITES

    if name not in SUITES:
        raise status.UsageError(f"there is no suite {name!r}", hint=f"suites: {', '.join(SUITES)}")
    return SUITES[name]


def _size(text: str | None) -> int | None:
    from iogauge.workload.numbers import integer
    from iogauge.workload.problem import BadValue

    if text is None:
        return None
    try:
        return integer(text, minimum=1)
    except BadValue as error:
        raise status.UsageError(f"--size {text}: {error}", hint=error.hint) from None


def _time(text: str | None) -> int | None:
    from iogauge.workload.numbers import LARGEST, SECOND, duration_ns, in_range
    from iogauge.workload.problem import BadValue

    if text is None:
        return None
    try:
        return in_range(duration_ns(text, default_unit_ns=SECOND), minimum=1, maximum=LARGEST, unit="ns")
    except BadValue as error:
        raise status.UsageError(f"--runtime {text}: {error}", hint=error.hint) from None


def _refuse_beside_resume(named: Sequence[str]) -> None:
    if named:
        raise status.UsageError(
            f"--resume goes on with a review as it was planned: {', '.join(named)} cannot be given with it",
            hint="leave them out, or begin a new review",
        )
