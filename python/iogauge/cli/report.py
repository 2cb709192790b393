"""``iogauge report``: write one self-contained page of saved reviews.

Write saved reviews as one page with charts, or as Markdown.

REVIEW is a directory that 'iogauge review' made. Several reviews share one page: each chart has a line for each drive,
and every drive is compared with the first, as 'iogauge compare' does. 'published' adds the published figures of the
same loads.

The page needs no network. Its charts can show other statistics, and can be saved from the page. Without --output, the
page is report.html: in the review's directory for one review, in the current directory for several.

--format md prints Markdown for a pull request, at most 8 kB: the answer, the key figures, and as much of the rest as
fits, folded; --verbose prints all of it. The suffix of --output decides the format too: .html or .md.

'iogauge export --pictures' writes the charts as SVG and PNG, and their data as CSV.

The report of an incomplete review has the steps that are complete.

    iogauge report saved --for wal

    iogauge report optane flash published --output page.html
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import process, streams
from iogauge.cli.terminal.judge_by import JudgeBy
from iogauge.cli.terminal.report_progress import ReportProgress
from iogauge.cli.terminal.shared_options import Verbose


class Format(StrEnum):
    """How a report is written."""

    HTML = "html"
    MD = "md"


def report(
    reviews: Annotated[
        list[str],
        typer.Argument(metavar="REVIEW...", help="Saved reviews, or 'published'.", show_default=False),
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The page to write.")
    ] = None,
    format_: Annotated[
        Format | None,
        typer.Option("--format", help="A page with charts, or Markdown; by default as --output ends."),
    ] = None,
    judge_by: JudgeBy = None,
    use: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="PROFILE",
            help="A use, such as wal, for a verdict; by default the review's own.",
        ),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Write the page and print its name, or print Markdown."""
    from iogauge.library.reading import report as library
    from iogauge.library.reading.judge_by import absolute

    process.begin()
    layout = library.format_of(output, None if format_ is None else format_.value)
    writes_page = layout == "html" or output is not None
    claims = library.output_claims(reviews, say=streams.say) if writes_page else None
    page = library.claim_page(claims, reviews, output, format="html") if claims else None
    with ReportProgress() as progress:
        made = library.read_report(
            reviews, judge_by=absolute(judge_by or ()), use=use or (), on_progress=progress
        )
        text = library.written(made, format=layout, verbose=verbose, on_progress=progress)
    if page is None:
        streams.show(text)
    else:
        page.write(text.encode())
        streams.show(f"{page.path}\n")
