"""``iogauge compare``: lay reviews side by side, step by step, and say what differs and how sure that is.

REVIEW is the directory of a saved review, or 'published'. The first one named is A; every other is compared with it. A
review of several targets compares these with its first. 'published' is a built-in review: every measured drive is laid
over the published figures of the same loads, the nearest first; 'published:p4800x' takes those of some drives alone.

What was found comes first. Tables have each step's main figure where it differs; --all shows every figure.

Ratios are of B to A, with 95 % intervals. With six repeats or more on both sides (iogauge review --repeats 6) they are
tested, all of a suite as one family. That a figure is alike, within the margin at every step of a series, is a claim of
a second family, of every figure of every series: among 5 claims it takes 7 repeats at least, and among 20 claims 9,
more where runs vary. 'iogauge plan' says how many for the largest suite of a review. A single run has only its own
interval, which does not say how runs differ.

Steps are compared where both sides have them. Where writes press harder and harder, B's latency is also read between
two of its steps, and marked.

--format html writes the page that 'iogauge report' makes of the same reviews, by default to comparison.html.
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.claimed import beside_reviews
from iogauge.cli.judge_by import JudgeBy
from iogauge.cli.report_made import write_page
from iogauge.cli.terminal import process, status, streams


class Format(StrEnum):
    """``--format``."""

    TEXT = "text"
    MARKDOWN = "md"
    HTML = "html"


def compare(
    reviews: Annotated[
        list[str],
        typer.Argument(metavar="REVIEW...", help="Saved reviews, or 'published'.", show_default=False),
    ],
    suite: Annotated[
        list[str] | None, typer.Option("--suite", metavar="NAME", help="Only this suite; repeatable.")
    ] = None,
    margin: Annotated[
        str, typer.Option("--margin", metavar="PERCENT", help="Differences up to this are taken as none.")
    ] = "5%",
    layout: Annotated[
        Format, typer.Option("--format", help="Text for a terminal, Markdown, or a page with charts.")
    ] = Format.TEXT,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write it here, not to stdout.")
    ] = None,
    judge_by: JudgeBy = None,
    every: Annotated[bool, typer.Option("--all", help="Every figure, also what does not differ.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Print a table for each suite and pair, and a sentence for each finding."""
    from iogauge.comparison import text as compare_text
    from iogauge.comparison.sides import compare_named
    from iogauge.store.outputs import Existing

    process.begin()
    if layout is Format.HTML and as_json:
        raise status.UsageError("--json and --format html exclude each other", hint="ask for one of them")
    claimed = beside_reviews(reviews).file(output, existing=Existing.REPLACE) if output is not None else None
    if layout is Format.HTML:
        page = claimed or beside_reviews(reviews).file(Path("comparison.html"), existing=Existing.OWN)
        write_page(
            reviews, page, suites=suite or (), margin=_fraction(margin), judge_by=judge_by, alone=False
        )
        streams.show(f"{page.path}\n")
        return
    found = compare_named(reviews, suites=suite or (), margin=_fraction(margin))
    if as_json:
        text = json.dumps(compare_text.as_json(found), indent=2, allow_nan=False) + "\n"
    else:
        show = compare_text.markdown if layout is Format.MARKDOWN else compare_text.text
        text = show(found, every=every)
    if claimed is None:
        streams.show(text)
    else:
        claimed.write(text.encode())
        streams.show(f"{output}\n")


def _fraction(text: str) -> float:
    """Read a margin: a percentage, its sign may be left out."""
    try:
        value = float(text.removesuffix("%")) / 100
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise status.UsageError(
            f"--margin {text}: is not a percentage above 0 and below 100", hint="for instance --margin 5%"
        )
    return value
