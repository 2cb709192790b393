"""``iogauge review``: take targets through published procedures, saving every step before the next begins.

TARGET is a block device or a file; a file that does not exist is made and filled with random data. model:NAME is a
drive model, which takes no hardware and little time ('iogauge model list' shows which there are). Several are
measured one after the other, and a report draws them together. Without --suite, the default set is conducted; a suite
of one's own is a Python file, or a TOML plan of steps. A saved review names that file, and judging it runs it again.
With --pace quick each step takes seconds, and some steps are scaled to what the target takes, found by a short
search; full is each procedure as it was published. --repeats conducts everything several times, each time in
another order, so that it can be said how much a figure differs from run to run.

The review is a directory. Whatever ends it, Ctrl-C, a crash or a full disk, steps that were complete are kept, and
--resume DIRECTORY goes on with the same plan and the same seeds.

A --fail-if condition, for instance 'read.p99.9 > 1ms', is checked on every step: exit status 3 where it holds
anywhere, 1 where it cannot be judged.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import confirm, process, status, streams
from iogauge.text import numbers

if TYPE_CHECKING:
    from iogauge import schema
    from iogauge.report.run.fail_if import Condition, Violation
    from iogauge.reviews.runner import Failed
    from iogauge.schema import Manifest, TargetFacts
    from iogauge.store import Review
    from iogauge.suites import Suite


class Pace(StrEnum):
    """``--pace``."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"


class State(StrEnum):
    """``--state``."""

    AS_IS = "as-is"
    FRESH = "fresh"
    FILLED = "filled"
    PRECONDITIONED = "preconditioned"


def review(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[TARGET...]", help="Block devices, files or model:NAME.")
    ] = None,
    suite: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            metavar="NAME",
            help="A procedure ('iogauge plan' lists them), or a Python file with one, which is run; repeatable.",
        ),
    ] = None,
    plan: Annotated[
        list[str] | None,
        typer.Option("--plan", metavar="FILE", help="A TOML file with steps of one's own; repeatable."),
    ] = None,
    pace: Annotated[
        Pace | None,
        typer.Option("--pace", help="Seconds a step, longer, or as it was published.", show_default="quick"),
    ] = None,
    state: Annotated[
        State | None,
        typer.Option(
            "--state",
            help="Prepare targets first. fresh: a purge; filled: then write all in order; preconditioned: then write "
            "at random until steady.",
            show_default="as-is",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option("--repeats", metavar="NUMBER", help="Conduct everything so often.", min=1, max=1000),
    ] = None,
    until_supported: Annotated[
        float | None,
        typer.Option(
            "--until-supported",
            metavar="QUANTILE",
            help="Lengthen steps, at most 20 times, until this quantile is supported: 0.99999.",
        ),
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
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask, on a terminal, before much is written.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Conduct a review and print what it shows."""
    # All that takes long to import, and only then is there anything that an interrupt could cost.
    import iogauge.execution
    import iogauge.store
    import iogauge.suites  # noqa: F401
    from iogauge.report.run.fail_if import parse

    process.begin()
    conditions = [parse(each) for each in fail_if or ()]
    given = {
        "TARGET": targets or None, "--suite": suite or None, "--plan": plan or None, "--pace": pace, "--state": state,
        "--repeats": repeats, "--until-supported": until_supported, "--size": size,
        "--runtime": runtime, "--output": output, "--seed": seed,
    }  # fmt: skip
    if resume is not None:
        _refuse_beside_resume([name for name, value in given.items() if value is not None])
        saved = _resumed(resume, conditions, destroy=destroy or ())
    else:
        suites = suites_asked((*(suite or ()), *(plan or ())))
        saved = _begun(
            targets or usual_targets(suites),
            conditions,
            suites=suites,
            pace="quick" if pace is None else pace.value,
            state="as-is" if state is None else state.value,
            repeats=repeats or 1,
            until_supported=quantile_asked(until_supported),
            size_bytes=size_asked(size),
            runtime_ns=time_asked(runtime),
            output=output,
            destroy=destroy or (),
            seed=secrets.randbits(32) if seed is None else seed,
            yes=yes,
        )
    failed = _measure(saved, destroy=destroy or ())
    _show(saved, conditions, failed, as_json=as_json)


def _begun(
    targets: Sequence[str],
    conditions: Sequence[Condition],
    *,
    suites: Sequence[Suite],
    pace: schema.Pace,
    state: schema.State,
    repeats: int,
    until_supported: float | None,
    size_bytes: int | None,
    runtime_ns: int | None,
    output: Path | None,
    destroy: Sequence[str],
    seed: int,
    yes: bool,
) -> Review:
    """Open the targets, which refuses what must not be written, and make the review's directory."""
    from iogauge import execution as runner
    from iogauge.machine.facts import machine_facts
    from iogauge.reviews.manifest import new_manifest
    from iogauge.store import Review
    from iogauge.store.outputs import Claims
    from iogauge.store.review import refuse_occupied
    from iogauge.target.layers import layers_of
    from iogauge.target.ledger import state_of

    if output is not None:
        Claims(targets=anchored(targets), say=streams.say).new_directory(output)
        refuse_occupied(output)
    # It is the largest that any of the suites wants of a file.
    size_of_file = size_bytes or max(suite.FILE_BYTES[pace] for suite in suites)
    facts = [
        _facts(path, size_bytes=size_of_file, destroy=destroy, state=state) for path in anchored(targets)
    ]
    manifest = new_manifest(
        suites,
        facts,
        pace=pace,
        state=state,
        repeats=repeats,
        until_supported=until_supported,
        seed=seed,
        size_bytes=size_bytes,
        runtime_ns=runtime_ns,
        found={target.path: known for target in facts if (known := state_of(target))},
        layers=layers_of,
        command=("iogauge", *sys.argv[1:]),
        machine=machine_facts(),
        ceiling=None if all(target.modelled for target in facts) else runner.measure_ceiling(),
    )
    _require(conditions, manifest)
    if not yes:
        confirm.before(manifest)
    first = facts[0]
    name = first.modelled.drive if first.modelled else Path(first.path).name
    directory = output or Path(f"iogauge-{name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    saved = Review.create(directory, manifest)
    streams.say(f"{directory}: seed {seed}")
    return saved


def anchored(targets: Sequence[str]) -> list[str]:
    """Return paths that mean the same from wherever the review is resumed.

    A symbolic link such as /dev/disk/by-id/... stays what the user chose.
    """
    from iogauge import models
    from iogauge.target import is_model

    if "" in targets:
        raise status.UsageError("a TARGET is empty", hint="name a block device, a file or model:NAME")
    paths = [models.anchored(each) if is_model(each) else str(Path(each).absolute()) for each in targets]
    if twice := sorted(path for path, count in Counter(paths).items() if count > 1):
        raise status.UsageError(f"{twice[0]} is named twice", hint="name each target once; see --repeats")
    return paths


def _facts(path: str, *, size_bytes: int | None, destroy: Sequence[str], state: schema.State) -> TargetFacts:
    """Open a target as the steps will, and return what it is."""
    from iogauge import execution as runner
    from iogauge.target import ModelTarget, open_target
    from iogauge.target.answering import await_answers

    await_answers((path,), say=streams.say)
    with open_target(
        path, write=True, size_bytes=size_bytes, destroy=destroy, on_message=streams.say, state=state
    ) as opened:
        if isinstance(opened, ModelTarget):
            runner.check_model(opened.drive, opened.machine)
        return opened.facts


def _resumed(directory: Path, conditions: Sequence[Condition], *, destroy: Sequence[str]) -> Review:
    """Open a saved review, and check that its targets and machine are still the same."""
    from iogauge.machine.facts import machine_facts
    from iogauge.reviews.manifest import check_same_target, differences, most_used
    from iogauge.reviews.runner import remaining
    from iogauge.store import Review
    from iogauge.suites import suite_of

    saved = Review.open(directory)
    manifest = saved.manifest
    if program := manifest.measured_by:
        raise status.UsageError(
            f"{directory}: its steps are run by {program}, and go on with its results",
            hint=f"DIRECTORY is what 'iogauge plan --as' wrote: {manifest.completed_by(str(directory))}",
        )
    _require(conditions, manifest)
    if remaining(saved, suite_of):
        for target in manifest.targets:
            used = most_used(manifest, target.path)
            facts = _facts(target.path, size_bytes=used, destroy=destroy, state=manifest.state)
            check_same_target(manifest, facts)
        for text in () if _virtual(manifest) else differences(manifest, machine_facts()):
            streams.say(f"warning: {text}")
    return saved


def _virtual(manifest: Manifest) -> bool:
    """Whether nothing real is measured."""
    return all(target.modelled for target in manifest.targets)


def _measure(saved: Review, *, destroy: Sequence[str]) -> tuple[Failed, ...]:
    """Run what is missing, with a display of how far it is."""
    from iogauge.cli.terminal.progress import Progress
    from iogauge.execution import execute, layered, purge
    from iogauge.machine.temperature import warmest_C
    from iogauge.machine.trace import trace_of
    from iogauge.reviews.runner import Interrupted, conduct, remaining
    from iogauge.suites import suite_of

    manifest = saved.manifest
    what = manifest.plans[0].suite if len(manifest.plans) == 1 else "review"
    title = f"{what} of {', '.join(target.path for target in manifest.targets)}"
    try:
        with saved.lock():
            steps = remaining(saved, suite_of)
            if not steps:
                return ()
            devices = [target.device for target in manifest.targets if target.device]
            with Progress(
                title=title,
                steps=steps,
                virtual=_virtual(manifest),
                temperature_C=lambda: warmest_C(devices),
            ) as progress:
                run = layered(partial(execute, state=manifest.state), manifest)
                return conduct(
                    saved,
                    suite_of,
                    execute=run,
                    watcher=progress,
                    destroy=destroy,
                    purge=purge,
                    trace=trace_of,
                )
    except (Interrupted, KeyboardInterrupt):
        steps = len(saved.manifest.steps)
        unknown = any(plan.search and not plan.steps for plan in saved.manifest.plans)
        done = f"{len(saved.completed())} of {steps}{' and more' if unknown else ''} steps are saved"
        streams.say(f"{process.word()}: {done}\nhint: iogauge review --resume {numbers.argument(saved.path)}")
        raise typer.Exit(process.status()) from None


def _show(saved: Review, conditions: Sequence[Condition], failed: Sequence[Failed], *, as_json: bool) -> None:
    """Print what was found, and choose the exit status by the conditions."""
    from iogauge.report import review_text
    from iogauge.report.run.surroundings import warnings

    manifest = saved.manifest
    judged = review_text.judged(
        saved,
        manifest.plans,
        warn=lambda text: streams.say(f"warning: {text}"),
        # It was run to measure: whoever named it, or went on with it, wanted it.
        trusted={plan.suite for plan in manifest.plans},
    )
    violations = _violations(saved, conditions)
    quoted = numbers.argument(saved.path)
    if as_json:
        shown = review_text.as_json(
            judged, manifest, path=str(saved.path), violations=violations, failed=failed
        )
        streams.show(json.dumps(shown, indent=2, allow_nan=False) + "\n")
    else:
        streams.show(review_text.tables(judged, manifest) + f"next: iogauge report {quoted}\n")
    streams.say(warnings(review_text.warnings(judged, manifest)), end="")
    saved.keep_computed()
    for step in failed:
        streams.say(f"error: step {step.step_id} {step.why}")
    if failed:
        streams.say(f"hint: mend the cause, then try these again: iogauge review --resume {quoted}")
    for step_id, found in violations:
        kind = "error" if found.unknown else "failed"
        streams.say(f"{kind}: {step_id}: {found.message}" + (f"\nhint: {found.hint}" if found.hint else ""))
    if any(not found.unknown for _, found in violations):
        raise typer.Exit(status.VIOLATED)
    if violations or failed:
        raise typer.Exit(status.ERROR)


def _violations(saved: Review, conditions: Sequence[Condition]) -> list[tuple[str, Violation]]:
    """Check every condition on every step that it can be about: a step without writers has no write."""
    found = []
    measured = [plan for plan in saved.manifest.plans if not plan.prepares]
    for step in [step for plan in measured for step in plan.steps] if conditions else ():
        if not step.judged or not saved.has(step.id):
            continue  # it is there for what comes after it, or it failed, which is said by itself
        record = saved.record(step.id)
        for condition in conditions:
            if condition.concerns(record.jobs):
                found += [(step.id, violation) for violation in condition.check(record)]
    return found


def _require(conditions: Sequence[Condition], manifest: Manifest) -> None:
    """Refuse, before anything is measured, a condition that no step could ever meet."""
    from iogauge import workload

    planned = [*manifest.steps, *(plan.search for plan in manifest.plans if plan.search)]
    files = [workload.parse(step.job_file, source=step.id) for step in planned] if conditions else []
    for condition in conditions:
        if not any(map(condition.concerns, files)):
            condition.require(files[-1])


def suites_asked(names: Sequence[str]) -> list[Suite]:
    """Return the suites of the names and paths given, or the default set."""
    from iogauge.suites import DEFAULT, SUITES, suite_of

    wanted = dict.fromkeys(names or DEFAULT)
    if unknown := [name for name in wanted if name not in SUITES and not name.endswith((".py", ".toml"))]:
        raise status.UsageError(f"there is no suite {unknown[0]!r}", hint=f"suites: {', '.join(SUITES)}")
    suites = [suite_of(name) for name in wanted]
    if twice := [name for name, count in Counter(suite.NAME for suite in suites).items() if count > 1]:
        raise status.UsageError(f"two suites are named {twice[0]!r}", hint="give one of them another name")
    return suites


def usual_targets(suites: Sequence[Suite]) -> list[str]:
    """Return what the suites themselves name, where the command names no target."""
    found = list(dict.fromkeys(target for suite in suites for target in suite.targets))
    if not found:
        raise status.UsageError(
            "name a TARGET, or a review to go on with",
            hint="iogauge review /dev/nvme0n1, or --resume DIRECTORY",
        )
    return found


def size_asked(text: str | None) -> int | None:
    """Read ``--size``, bytes; None: not given."""
    from iogauge.workload.numbers import integer
    from iogauge.workload.problem import BadValue

    if text is None:
        return None
    try:
        return integer(text, minimum=1)
    except BadValue as error:
        raise status.UsageError(f"--size {text}: {error}", hint=error.hint) from None


def time_asked(text: str | None) -> int | None:
    """Read ``--runtime``, nanoseconds; None: not given."""
    from iogauge.workload.numbers import LARGEST, SECOND, duration_ns, in_range
    from iogauge.workload.problem import BadValue

    if text is None:
        return None
    try:
        return in_range(duration_ns(text, default_unit_ns=SECOND), minimum=1, maximum=LARGEST, unit="ns")
    except BadValue as error:
        raise status.UsageError(f"--runtime {text}: {error}", hint=error.hint) from None


def quantile_asked(value: float | None) -> float | None:
    """Check ``--until-supported``, a fraction; None: not given."""
    if value is not None and not 0 < value < 1:
        raise status.UsageError(
            f"--until-supported {value:g}: a quantile is a fraction, above 0 and below 1",
            hint="for the 99.999th percentile: --until-supported 0.99999",
        )
    return value


def _refuse_beside_resume(named: Sequence[str]) -> None:
    if named:
        raise status.UsageError(
            f"--resume goes on with a review as it was planned: {', '.join(named)} cannot be given with it",
            hint="leave them out, or begin a new review",
        )
