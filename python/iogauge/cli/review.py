r"""``iogauge review``: run published procedures on targets, and save each step before the next begins.

Run published procedures on each TARGET in turn, save the results, and print the findings. TARGET is a block device, a
file or model:NAME. A file that does not exist is created and filled with random data. model:NAME is a drive model: it
needs no hardware and takes little time ('iogauge model list' lists the models).

Without --suite, the default set of suites runs. --for PROFILE, such as wal, runs only the steps that it needs, and
says whether the target is good enough for it ('iogauge judge --help' names the profiles). Your own suite is a Python
file (--suite) or a TOML file with steps (--plan). The review saves the path of a Python file; --resume runs that file
again, 'iogauge show' and 'iogauge report' only with --judge-by.

--pace quick takes seconds a step, and scales some steps to the rate that the target sustains in a short search.
--pace full is each procedure as published. --repeats runs the whole review several times, each time in another order;
this shows how much a figure differs from run to run.

The review is a directory. Complete steps are kept if the review is interrupted, crashes or fills the disk; --resume
DIRECTORY continues with the same plan and seeds. What is printed fits on a screen; --verbose prints every table,
finding, note and warning.

Each --fail-if condition is checked on every step ('read.p99.9 > 1ms') or on a row of a suite's table
('commit-latency[1 log].p99 > 5ms'). The exit status is 3 if a condition holds anywhere, and 1 if it cannot be judged.

    iogauge review /dev/nvme0n1 --suite mixed --destroy SERIAL

    iogauge review model:p4800x --fail-if 'mixed[70 %].p99 > 1ms' \
        --check-results checks.xml
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import checks, confirm, process, streams
from iogauge.cli.terminal.review_options import ReviewOptions, with_review_options
from iogauge.cli.terminal.shared_options import Destroy, NewDirectory, TraceLatency, Verbose, Watch
from iogauge.text import numbers

if TYPE_CHECKING:
    from iogauge.cli.watch.measuring import Measuring
    from iogauge.library.conditions import ReviewCondition
    from iogauge.machine.samples.news import DriveNews
    from iogauge.reviews.runner import Failed
    from iogauge.store import Review
    from iogauge.store.outputs import Output


@with_review_options
def review(
    options: ReviewOptions,
    output: NewDirectory = None,
    resume: Annotated[
        Path | None,
        typer.Option("--resume", metavar="DIRECTORY", help="Continue an interrupted review."),
    ] = None,
    destroy: Destroy = None,
    trace_latency: TraceLatency = False,
    note: Annotated[
        str | None,
        typer.Option(
            "--note", metavar="TEXT", help="Save this with the review; words such as #nightly are its tags."
        ),
    ] = None,
    fail_if: checks.FailIf = None,
    check_files: checks.Checks = None,
    check_results: checks.CheckResults = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before writing to a block device, or 100 GB to a file.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    watch: Watch = False,
    verbose: Verbose = False,
) -> None:
    """Make a review and print its findings."""
    # Import what takes long before process.begin: until then an interrupt costs nothing.
    import iogauge.cli.brief.saved
    import iogauge.execution
    import iogauge.suites  # noqa: F401
    from iogauge.library import conditions
    from iogauge.library import review as library
    from iogauge.store import Review as Stored
    from iogauge.store.outputs import Claims

    process.begin()
    names = checks.names(fail_if, check_files)
    checked = conditions.parsed([*names])

    def claims() -> Claims:
        saved_targets = Stored.open(resume).manifest.targets if resume is not None else ()
        return Claims(targets=options.targets or [target.path for target in saved_targets], say=streams.say)

    results = checks.outputs(check_results, names, claims, read=check_files)
    if resume is not None:
        named = [name for name in options.on_command_line if name != "meter"]
        others = {"output": output, "note": note}
        library.refuse_with_resume([*named, *(name for name, value in others.items() if value is not None)])
        saved = library.reopen(resume, checked, destroy=destroy or (), say=streams.say, meter=options.meter)
    else:
        saved = library.begin(
            options.targets or (),
            checked,
            output=output,
            destroy=destroy or (),
            command=("iogauge", *sys.argv[1:]),
            on_plan=partial(confirm.before, ask=not yes),
            say=streams.say,
            note=note or "",
            **options.for_library(),
        )
    failed = measure(saved, destroy=destroy or (), trace_latency=trace_latency, watch=watch)
    show(saved, checked, failed, as_json=as_json, verbose=verbose, names=names, results=results)


def measure(
    saved: Review, *, destroy: Sequence[str], trace_latency: bool = False, watch: bool = False
) -> tuple[Failed, ...]:
    """Run the missing steps, publish them, and show progress, or the screen of ``watch``."""
    from iogauge.library import review as library
    from iogauge.library.errors import Interrupted
    from iogauge.machine.samples.temperature import warmest_C

    manifest = saved.manifest
    what = manifest.plans[0].suite if len(manifest.plans) == 1 else "review"
    devices = [target.device for target in manifest.targets if target.device]
    # Asking an NVMe drive for its temperature is a command, which could wake it.
    quiet = any(plan.undisturbed for plan in manifest.plans)

    targets = [target.path for target in manifest.targets]
    title, virtual = f"{what} of {', '.join(targets)}", library.is_virtual(manifest)
    measuring: list[Measuring] = []

    def watched(steps: int) -> Measuring:
        from iogauge.cli.terminal.progress import Progress
        from iogauge.cli.watch.measuring import Measuring

        progress = partial(
            Progress,
            title=title,
            steps=steps,
            virtual=virtual,
            temperature_C=lambda: None if quiet else warmest_C(devices),
        )
        measuring.append(
            Measuring(
                progress, title=title, targets=targets, review=saved.path, virtual=virtual, screen=watch
            )
        )
        return shown.enter_context(measuring[0])

    def on_drive(news: DriveNews) -> None:
        measuring[0].feed.drive(news)

    try:
        # The display ends first, by the interrupt too: a step that was stopped is not said to be done.
        with ExitStack() as shown:
            failed = library.measure(
                saved, watched, destroy=destroy, trace_latency=trace_latency, on_drive=on_drive
            )
            if failed:
                measuring[0].feed.conclude("failed", f"{numbers.counted(len(failed), 'step')} failed")
            return failed
    except Interrupted as interrupted:
        stopped = str(interrupted)
    streams.say(f"{process.word()}: {stopped}\nhint: iogauge review --resume {numbers.argument(saved.path)}")
    raise typer.Exit(process.status())


def show(
    saved: Review,
    fail_if: Sequence[ReviewCondition],
    failed: Sequence[Failed],
    *,
    as_json: bool,
    verbose: bool = False,
    names: Mapping[str, str] | None = None,
    results: Sequence[Output] = (),
) -> None:
    """Print the findings as JSON, in full, or on one screen, and choose the exit status.

    ``names`` are those of the conditions, for the files ``results``.
    """
    from iogauge.cli.brief.saved import show_saved
    from iogauge.cli.brief.screen import saved_everything
    from iogauge.library import conditions
    from iogauge.library.reading.judge import judge_own
    from iogauge.library.reading.saved import Review as Judged
    from iogauge.report.run import surroundings

    review = Judged(
        saved,
        # The command line named these suites, or resumed a review of them.
        trusted=frozenset(plan.suite for plan in saved.manifest.plans),
        on_message=lambda text: streams.say(f"warning: {text}"),
    )
    violations = conditions.violations(saved, fail_if)
    quoted = numbers.argument(saved.path)
    verdicts = judge_own(review.suites, say=streams.say)
    report = f"next: iogauge report {quoted}"
    if as_json:
        data = review.to_dict(violations=violations, failed=failed) | (verdicts.to_dict() if verdicts else {})
        streams.show(f"{json.dumps(data, indent=2, allow_nan=False)}\n")
    elif verbose:
        streams.show(f"{verdicts}\n{review}{report}\n" if verdicts else f"{review}{report}\n")
    else:
        show_saved(review, verdicts, command="review", last=(saved_everything(saved.path), report))
    if as_json or verbose:
        streams.say(surroundings.warnings(review.warnings), end="")
    review.keep_computed()
    for step in failed:
        streams.say(f"error: step {step.step_id} {step.why}")
    if failed:
        streams.say(f"hint: mend the cause, then try these again: iogauge review --resume {quoted}")
    checks.say([(f"{step_id}: ", violation) for step_id, violation in violations], results)
    broken = [violation for _, violation in violations]
    checks.write(results, names or {}, broken, suite=str(saved.path))
    checks.conclude(broken, failed=bool(failed))
