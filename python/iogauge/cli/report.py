"""``iogauge report``: write one self-contained HTML page of saved reviews.

DIRECTORY is what `iogauge review` made; several make one chart, with a line for each drive. The page needs no
network: its charts can be looked at with other statistics, and saved, where it lies. Without --output it is written
to report.html, in the review's directory or, of several, in this one.

--export also writes every chart as SVG and PNG, and its data as CSV, for scripts and papers.

An incomplete review is reported as far as it got.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli import process, streams
from iogauge.cli.judge_by import JudgeBy, absolute

if TYPE_CHECKING:
    from iogauge.schema import SuitePlan
    from iogauge.store import Review


def report(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIRECTORY...", help="Saved reviews.", show_default=False)
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")
    ] = None,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="DIRECTORY", help="Write SVG, PNG and CSV here too.")
    ] = None,
    judge_by: JudgeBy = None,
) -> None:
    """Write the page, and the pictures if asked for; print the names of the files written, one a line."""
    from iogauge.report.export import write_charts
    from iogauge.report.html import Report

    process.begin()
    made = Report.of(directories, findings=partial(_findings, absolute(judge_by)))
    for drive in made.drives:
        if drive.missing:
            steps = ", ".join(step.plan.id for step in drive.missing)
            streams.say(f"warning: {drive.path} is incomplete: no step {steps}")
            streams.say(f"hint: complete it: iogauge review --resume {drive.path}")
    page = output or (directories[0] / "report.html" if len(directories) == 1 else Path("report.html"))
    made.write(page)
    streams.show(f"{page}\n")
    if export is not None:
        for path in write_charts(made.charts, export):
            streams.show(f"{path}\n")


def _findings(trusted: Collection[str], review: Review, plan: SuitePlan) -> tuple[str, ...]:
    from iogauge.suites import suite_to_judge

    suite = suite_to_judge(plan, warn=lambda text: streams.say(f"warning: {text}"), trusted=trusted)
    return suite.findings(suite.judge(review, plan))
