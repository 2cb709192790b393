r"""``iogauge show``: print the results of a saved review, without measuring anything.

Print what 'iogauge review' printed at its end, judged again by this version of iogauge: the main finding, a table and
the gravest warnings, on one screen, or the verdict if the review was made for a use (--for). --verbose prints every
table, finding, note and warning. --step prints one step in full, as 'iogauge run --verbose' prints a run. --variation
adds, to all of that, how much the figures of repeats differ from run to run, for each step. An incomplete review is
shown with the steps that are complete.

'published' is a built-in review with the figures that others published for their drives; 'published:p4800x' shows only
the drives that are named.

Conditions are checked as 'iogauge review' checks them (--fail-if, --checks); the exit status is 3 if one holds, and 1
if one cannot be judged.

    iogauge show saved --suite mixed

    iogauge show saved --fail-if 'commit-latency[1 log].p99 > 5ms' \
        --checks checks.toml --check-results checks.xml
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from iogauge.cli.terminal import checks, process, status, streams
from iogauge.cli.terminal.judge_by import JudgeBy
from iogauge.cli.terminal.shared_options import Verbose


def show(
    review: Annotated[
        str, typer.Argument(metavar="REVIEW", help="A saved review, or 'published'.", show_default=False)
    ],
    suite: Annotated[
        list[str] | None, typer.Option("--suite", metavar="NAME", help="Only this suite; repeatable.")
    ] = None,
    step: Annotated[
        str | None,
        typer.Option("--step", metavar="ID", help="One step in full, by the id that --json shows."),
    ] = None,
    variation: Annotated[
        bool,
        typer.Option(
            "--variation", help="Also show how figures differ from run to run, and parts of latency."
        ),
    ] = False,
    judge_by: JudgeBy = None,
    fail_if: checks.FailIf = None,
    check_files: checks.Checks = None,
    check_results: checks.CheckResults = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    verbose: Verbose = False,
) -> None:
    """Print the findings."""
    from iogauge.cli.brief.saved import show_saved
    from iogauge.cli.brief.screen import EVERYTHING
    from iogauge.library import conditions
    from iogauge.library.reading import report
    from iogauge.library.reading.judge import judge_own
    from iogauge.library.reading.judge_by import absolute
    from iogauge.library.reading.published import published
    from iogauge.library.reading.saved import open_review
    from iogauge.report.run.surroundings import warnings
    from iogauge.results.published import is_published

    process.begin()
    names = checks.names(fail_if, check_files)
    checked = conditions.parsed([*names])
    if is_published(review):
        if suite or step or variation or names:
            raise status.UsageError(
                f"{review} has no suites and no steps",
                hint="leave --suite, --step, --variation and conditions out",
            )
        figures = published(*filter(None, [review.partition(":")[2]]))
        streams.show(
            json.dumps(figures.to_dict(), indent=2, allow_nan=False) + "\n" if as_json else str(figures)
        )
        return
    saved = open_review(
        review,
        suites=suite or (),
        judge_by=absolute(judge_by or ()),
        on_message=(lambda text: streams.say(f"warning: {text}")) if step is None else (lambda _: None),
    )
    if step is None:
        results = checks.outputs(
            check_results, names, lambda: report.output_claims([review], say=streams.say), read=check_files
        )
        violations = saved.violations(checked)
        verdicts = None if suite else judge_own(saved.suites, say=streams.say)
        if as_json:
            data = saved.to_dict(violations=violations) | (verdicts.to_dict() if verdicts else {})
            streams.show(json.dumps(data, indent=2, allow_nan=False) + "\n")
        elif verbose or variation:
            streams.show((f"{verdicts}\n" if verdicts else "") + saved.to_text(variation=variation))
        else:
            show_saved(saved, verdicts, command="show", last=(EVERYTHING,))
        if as_json or verbose or variation:
            streams.say(warnings(saved.warnings), end="")
        saved.keep_computed()
        checks.say([(f"{step_id}: ", violation) for step_id, violation in violations], results)
        broken = [violation for _, violation in violations]
        checks.write(results, names, broken, suite=review)
        checks.conclude(broken)
    elif suite or variation or names:
        raise status.UsageError(
            "--step excludes --suite, --variation and conditions",
            hint="leave them out: the id of a step includes its suite",
        )
    else:
        run = saved.step(step)
        streams.show(run.to_json() + "\n" if as_json else run.to_text())
        streams.say(warnings(run.warnings), end="")
