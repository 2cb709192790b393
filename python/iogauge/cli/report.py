"""``iogauge report``: write one self-contained HTML page of saved reviews, or the same as Markdown.

DIRECTORY is what `iogauge review` made; several make one chart, with a line for each drive. The page needs no
network: its charts can be looked at with other statistics, and saved, where it lies. Without --output it is written
to report.html, in the review's directory or, of several, in this one.

--format md gives the findings, a table for each suite and the circumstances as Markdown, for a pull request; without
--output it is printed.

--export also writes every chart as SVG and PNG, and its data as CSV, for scripts and papers.

An incomplete review is reported as far as it got.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli import process, streams
from iogauge.cli.judge_by import JudgeBy, absolute

if TYPE_CHECKING:
    from iogauge.schema import SuitePlan
    from iogauge.stats.shown import Shown
    from iogauge.store import Review


class Format(StrEnum):
    """How a report is written."""

    HTML = "html"
    MD = "md"


def report(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIRECTORY...", help="Saved reviews.", show_default=False)
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")
    ] = None,
    format_: Annotated[
        Format, typer.Option("--format", help="A page with charts, or Markdown.")
    ] = Format.HTML,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="DIRECTORY", help="Write SVG, PNG and CSV here too.")
    ] = None,
    judge_by: JudgeBy = None,
) -> None:
    """Write the page, and the pictures if asked for; print the names of the files written, one a line."""
    from iogauge.report import html, markdown
    from iogauge.report.export import write_charts, write_text
    from iogauge.report.sections import Report

    process.begin()
    made = Report.of(directories, conclude=partial(_conclude, absolute(judge_by)))
    for drive in made.drives:
        if drive.missing:
            steps = ", ".join(step.plan.id for step in drive.missing)
            streams.say(f"warning: {drive.path} is incomplete: no step {steps}")
            streams.say(f"hint: complete it: {drive.manifest.completed_by(str(drive.path))}")
    if format_ is Format.MD and output is None:
        streams.show(markdown.markdown(made))
    else:
        page = output or (directories[0] / "report.html" if len(directories) == 1 else Path("report.html"))
        write_text(html.page(made) if format_ is Format.HTML else markdown.markdown(made), page)
        streams.show(f"{page}\n")
    if export is not None:
        for path in write_charts(made.charts, export):
            streams.show(f"{path}\n")


def _conclude(trusted: Collection[str], review: Review, plan: SuitePlan) -> Shown:
    from iogauge.stats.shown import Shown
    from iogauge.suites import suite_to_judge

    suite = suite_to_judge(plan, warn=lambda text: streams.say(f"warning: {text}"), trusted=trusted)
    judgement = suite.judge(review, plan)
    return Shown(
        findings=suite.findings(judgement),
        tables=judgement.tables,
        matrices=judgement.matrices,
        convergences=judgement.convergences,
    )
