"""``iogauge show``: print the results of a saved review, without measuring anything.

Print what 'iogauge review' printed at its end, judged again by this version of iogauge. --step prints one step in full,
as 'iogauge run' prints a run. --variation adds how much the figures of repeats differ from run to run, for each step.
An incomplete review is shown with the steps that are complete.

'published' is a built-in review with the figures that others published for their drives; 'published:p4800x' shows only
the drives that are named.

    iogauge show saved --suite mixed
"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from iogauge.cli.judge_by import JudgeBy
from iogauge.cli.terminal import process, status, streams


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
        bool, typer.Option("--variation", help="Also show how figures differ from run to run.")
    ] = False,
    judge_by: JudgeBy = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print the findings."""
    from iogauge.library.reading.judge_by import absolute
    from iogauge.library.reading.published import published
    from iogauge.library.reading.saved import open_review
    from iogauge.report.run.surroundings import warnings
    from iogauge.results.published import is_published

    process.begin()
    if is_published(review):
        if suite or step or variation:
            raise status.UsageError(
                f"{review} has no suites and no steps", hint="leave --suite, --step and --variation out"
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
        streams.show(
            json.dumps(saved.to_dict(), indent=2, allow_nan=False) + "\n"
            if as_json
            else saved.to_text(variation=variation)
        )
        streams.say(warnings(saved.warnings), end="")
        saved.keep_computed()
    elif suite or variation:
        raise status.UsageError(
            "--step excludes --suite and --variation",
            hint="leave them out: the id of a step includes its suite",
        )
    else:
        run = saved.step(step)
        streams.show(run.to_json() + "\n" if as_json else run.to_text())
        streams.say(warnings(run.warnings), end="")
