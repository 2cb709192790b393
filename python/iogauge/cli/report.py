"""``iogauge report``: write one self-contained HTML page of saved reviews, or the same as Markdown.

REVIEW is a directory that `iogauge review` made. Several make one chart, with a line for each drive, and every drive
is compared with the first: what is found is what 'iogauge compare' says, and --format html of that makes this page.
'published' lays every drive over the published figures of its loads.

The page needs no network: its charts can be looked at with other statistics, and saved, where it lies. Without
--output it is written to report.html, in the review's directory or, of several, in this one.

--format md gives the findings, a table for each suite and the circumstances as Markdown, for a pull request; without
--output it is printed.

--export also writes every chart as SVG and PNG, and its data as CSV, for scripts and papers.

An incomplete review is reported as far as it got.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.claimed import beside_reviews
from iogauge.cli.judge_by import JudgeBy
from iogauge.cli.report_made import draw_page, read_report
from iogauge.cli.terminal import process, streams

if TYPE_CHECKING:
    from iogauge.store.outputs import Claims, Output


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
        Format, typer.Option("--format", help="A page with charts, or Markdown.")
    ] = Format.HTML,
    export: Annotated[
        Path | None, typer.Option("--export", metavar="DIRECTORY", help="Write SVG, PNG and CSV here too.")
    ] = None,
    judge_by: JudgeBy = None,
) -> None:
    """Write the page, and the pictures if asked for; print the names of the files written, one a line."""
    from iogauge.report import markdown
    from iogauge.report.export import claim_charts, write_charts

    process.begin()
    writes_page = format_ is Format.HTML or output is not None
    claims = beside_reviews(reviews) if writes_page or export is not None else None
    page = _claimed_page(claims, reviews, output) if claims and writes_page else None
    made = read_report(reviews, judge_by=judge_by)
    pictures = claim_charts(made.charts, export, claims) if claims and export is not None else {}
    if page is None:
        streams.show(markdown.markdown(made))
    else:
        if format_ is Format.HTML:
            draw_page(made, page)
        else:
            page.write(markdown.markdown(made).encode())
        streams.show(f"{page.path}\n")
    if export is not None:
        for path in write_charts(made.charts, pictures):
            streams.show(f"{path}\n")


def _claimed_page(claims: Claims, reviews: list[str], output: Path | None) -> Output:
    from iogauge.results.published import is_published
    from iogauge.store.outputs import Existing

    if output is not None:
        return claims.file(output, existing=Existing.REPLACE)
    saved = [name for name in reviews if not is_published(name)]
    if len(saved) == 1:
        # In a review's own directory the name is the page's, also where a copy or the file system lost our mark on it.
        return claims.file(Path(saved[0]) / "report.html", existing=Existing.REPLACE)
    return claims.file(Path("report.html"), existing=Existing.OWN)
