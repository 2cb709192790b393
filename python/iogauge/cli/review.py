"""``iogauge review``: run published procedures on targets, and save each step before the next begins.

Run published procedures on each TARGET in turn, save the results, and print the findings. TARGET is a block device, a
file or model:NAME. A file that does not exist is created and filled with random data. model:NAME is a drive model: it
needs no hardware and takes little time ('iogauge model list' lists the models).

Without --suite, the default set of suites runs. Your own suite is a Python file (--suite) or a TOML file with steps
(--plan). The review saves the name of a Python file; judging the review runs that file again.

--pace quick takes seconds a step, and scales some steps to the rate that a short search finds the target to sustain.
--pace full is each procedure as published. --repeats runs the whole review several times, each time in another order;
this shows how much a figure differs from run to run.

The review is a directory. Complete steps are kept if the review is interrupted, crashes or fills the disk; --resume
DIRECTORY continues with the same plan and seeds.

Each --fail-if condition, for instance 'read.p99.9 > 1ms', is checked on every step. The exit status is 3 if a
condition holds on any step, and 1 if it cannot be judged.

    iogauge review /dev/nvme0n1 --suite mixed --destroy SERIAL

    iogauge review model:p4800x
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
        typer.Option("--output", metavar="DIRECTORY", help="Where to save.  [default: a new directory here]"),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="DIRECTORY", help="Continue an interrupted review."),
    ] = None,
    destroy: Annotated[
        list[str] | None,
        typer.Option(
            "--destroy",
            metavar="SERIAL-OR-PATH",
            help="Allow the contents of this drive or file to be destroyed; repeatable.",
        ),
    ] = None,
    fail_if: Annotated[
        list[str] | None,
        typer.Option(
            "--fail-if", metavar="CONDITION", help="Exit with status 3 if this holds on a step; repeatable."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before a review that writes much.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Make a review and print its findings."""
    # Import what takes long before process.begin: until then an interrupt costs nothing.
    import iogauge.execution
    import iogauge.suites  # noqa: F401
    from iogauge.library import conditions
    from iogauge.library import review as library

    process.begin()
    checked = conditions.parsed(fail_if or ())
    if resume is not None:
        library.refuse_with_resume([*options.on_command_line, *(["output"] if output is not None else [])])
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
    """Run the missing steps, and show progress."""
    from iogauge.library import review as library
    from iogauge.library.errors import Interrupted
    from iogauge.machine.temperature import warmest_C

    manifest = saved.manifest
    what = manifest.plans[0].suite if len(manifest.plans) == 1 else "review"
    devices = [target.device for target in manifest.targets if target.device]

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
        # The display ends first, by the interrupt too: a step that was stopped is not said to be done.
        with ExitStack() as shown:
            return library.measure(saved, watched, destroy=destroy)
    except Interrupted as interrupted:
        stopped = str(interrupted)
    streams.say(f"{process.word()}: {stopped}\nhint: iogauge review --resume {numbers.argument(saved.path)}")
    raise typer.Exit(process.status())


def _show(saved: Review, fail_if: Sequence[Condition], failed: Sequence[Failed], *, as_json: bool) -> None:
    """Print the findings, and choose the exit status by the conditions."""
    from iogauge.library import conditions
    from iogauge.library.reading.saved import Review as SavedReview
    from iogauge.report.run.surroundings import warnings

    review = SavedReview(
        saved,
        # The command line named these suites, or resumed a review of them.
        trusted=frozenset(plan.suite for plan in saved.manifest.plans),
        on_message=lambda text: streams.say(f"warning: {text}"),
    )
    violations = conditions.violations(saved, fail_if)
    quoted = numbers.argument(saved.path)
    if as_json:
        text = json.dumps(review.to_dict(violations=violations, failed=failed), indent=2, allow_nan=False)
        streams.show(f"{text}\n")
    else:
        streams.show(f"{review}next: iogauge report {quoted}\n")
    streams.say(warnings(review.warnings), end="")
    review.keep_computed()
    for step in failed:
        streams.say(f"error: step {step.step_id} {step.why}")
    if failed:
        streams.say(f"hint: mend the cause, then try these again: iogauge review --resume {quoted}")
    for step_id, violation in violations:
        kind = "error" if violation.unknown else "failed"
        streams.say(
            f"{kind}: {step_id}: {violation.message}"
            + (f"\nhint: {violation.hint}" if violation.hint else "")
        )
    if any(not violation.unknown for _, violation in violations):
        raise typer.Exit(status.VIOLATED)
    if violations or failed:
        raise typer.Exit(status.ERROR)
