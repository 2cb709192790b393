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
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.review_options import ReviewOptions, with_review_options
from iogauge.cli.terminal import confirm, process, status, streams
from iogauge.text import numbers

if TYPE_CHECKING:
    from iogauge.cli.terminal.progress import Progress
    from iogauge.report.run.fail_if import Condition
    from iogauge.reviews.runner import Failed
    from iogauge.store import Review


@with_review_options
def review(
    options: ReviewOptions,
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
    fail_if: Annotated[
        list[str] | None,
        typer.Option("--fail-if", metavar="CONDITION", help="Exit with status 3 where this holds."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask, on a terminal, before much is written.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Make a review and print what it shows."""
    # All that takes long to import, and only then is there anything that an interrupt could cost.
    import iogauge.execution
    import iogauge.suites  # noqa: F401
    from iogauge.library import conditions
    from iogauge.library import review as library

    process.begin()
    checked = conditions.parsed(fail_if or ())
    if resume is not None:
        library.refuse_beside_resume(
            [*options.given, *(["--output"] if output is not None else [])], name="--resume"
        )
        saved = library.reopen(resume, checked, destroy=destroy or (), say=streams.say)
    else:
        saved = library.begin(
            options.targets or (),
            checked,
            output=output,
            destroy=destroy or (),
            command=("iogauge", *sys.argv[1:]),
            on_plan=(lambda _: None) if yes else confirm.before,
            say=streams.say,
            **options.for_library(),
        )
    failed = _measure(saved, destroy=destroy or ())
    _show(saved, checked, failed, as_json=as_json)


def _measure(saved: Review, *, destroy: Sequence[str]) -> tuple[Failed, ...]:
    """Run what is missing, with a display of how far it is."""
    from iogauge.library import review as library
    from iogauge.library.errors import Interrupted
    from iogauge.machine.temperature import warmest_C

    manifest = saved.manifest
    what = manifest.plans[0].suite if len(manifest.plans) == 1 else "review"
    devices = [target.device for target in manifest.targets if target.device]
    with ExitStack() as shown:

        def watched(steps: int) -> Progress:
            from iogauge.cli.terminal.progress import Progress

            progress = Progress(
                title=f"{what} of {', '.join(target.path for target in manifest.targets)}",
                steps=steps,
                virtual=library.is_virtual(manifest),
                temperature_C=lambda: warmest_C(devices),
            )
            return shown.enter_context(progress)

        try:
            return library.measure(saved, watched, destroy=destroy)
        except Interrupted as interrupted:
            stopped = str(interrupted)
    streams.say(f"{process.word()}: {stopped}\nhint: iogauge review --resume {numbers.argument(saved.path)}")
    raise typer.Exit(process.status())


def _show(saved: Review, fail_if: Sequence[Condition], failed: Sequence[Failed], *, as_json: bool) -> None:
    """Print what was found, and choose the exit status by the conditions."""
    from iogauge.library import conditions
    from iogauge.library.reading.saved import Review as Shown
    from iogauge.report.run.surroundings import warnings

    shown = Shown(
        saved,
        # It was run to measure: whoever named it, or went on with it, wanted it.
        trusted=frozenset(plan.suite for plan in saved.manifest.plans),
        on_message=lambda text: streams.say(f"warning: {text}"),
    )
    violations = conditions.violations(saved, fail_if)
    quoted = numbers.argument(saved.path)
    if as_json:
        text = json.dumps(shown.to_dict(violations=violations, failed=failed), indent=2, allow_nan=False)
        streams.show(f"{text}\n")
    else:
        streams.show(f"{shown}next: iogauge report {quoted}\n")
    streams.say(warnings(shown.warnings), end="")
    shown.keep_computed()
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
