"""``iogauge compare``: compare saved reviews, and say what differs.

Compare saved reviews step by step, and print what differs, by how much, and how sure that is.

REVIEW is the directory of a saved review, or 'published'. The first review is A; every other is compared with it. If
one review has several targets, they are compared with its first. 'published' is a built-in review: it sets every
measured drive beside the published figures of the same loads, the nearest first. 'published:p4800x' takes only the
drives that are named.

Findings come first. Then a table for each suite has the main figure of each step where it differs; --all shows every
figure.

Ratios are B to A, with 95 % intervals. With six repeats or more on both sides (iogauge review --repeats 6) differences
are tested, all of a suite as one family. A second family of tests shows that a figure is alike: within the margin at
every step of a series. Such a test needs more repeats: at least 7 among 5 claims, at least 9 among 20, and more if runs
vary. 'iogauge plan' gives the number for the largest suite of a review. A single run has only its own interval, which
does not show how runs differ.

Only steps that both sides have are compared. In a series with increasing writes, B's latency is also interpolated
between two of its steps, and marked.

--format html writes the page that 'iogauge report' makes of the same reviews, by default to comparison.html.

    iogauge compare optane flash

    iogauge compare saved published
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from iogauge.cli.judge_by import JudgeBy
from iogauge.cli.report_progress import ReportProgress
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
        str, typer.Option("--margin", metavar="PERCENT", help="Treat smaller differences as none.")
    ] = "5%",
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="Text for a terminal, Markdown, or a page with charts.  [default: what --output ends in, or text]",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write here, not to stdout.")
    ] = None,
    judge_by: JudgeBy = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show every figure, also those that do not differ.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Print a table for each suite and pair, and a sentence for each finding."""
    from iogauge.library.reading import compare as library
    from iogauge.library.reading import report
    from iogauge.library.reading.judge_by import absolute
    from iogauge.store.outputs import Existing

    process.begin()
    layout = Format.TEXT if as_json and format_ is None else _layout(output, format_)
    if layout is Format.HTML and as_json:
        raise status.UsageError("--json and --format html exclude each other", hint="ask for one of them")
    share = report.fraction(margin, name="margin")
    written = output or (Path("comparison.html") if layout is Format.HTML else None)
    existing = Existing.OWN if output is None else Existing.REPLACE
    claimed = (
        report.output_claims(reviews, say=streams.say).file(written, existing=existing) if written else None
    )
    if layout is Format.HTML and claimed:
        with ReportProgress() as progress:
            library.write_comparison(
                reviews,
                claimed,
                suites=suite or (),
                margin=share,
                judge_by=absolute(judge_by or ()),
                on_progress=progress,
            )
        streams.show(f"{claimed.path}\n")
        return
    comparison = library.compare(*reviews, suites=suite or (), margin=share)
    if as_json:
        text = json.dumps(comparison.to_dict(), indent=2, allow_nan=False) + "\n"
    elif layout is Format.MARKDOWN:
        text = comparison.to_markdown(every=every)
    else:
        text = comparison.to_text(every=every)
    if claimed is None:
        streams.show(text)
    else:
        claimed.write(text.encode())
        streams.show(f"{output}\n")


def _layout(output: Path | None, format_: Format | None) -> Format:
    """Return the format: ``--format``, or what the suffix of the file says, or text.

    Raises UsageError if the two contradict each other.
    """
    from iogauge.library.reading import report

    if format_ is Format.TEXT or (format_ is None and not report.names_format(output)):
        return Format.TEXT
    wanted: Literal["html", "md"] | None = None
    if format_ is not None:
        wanted = "html" if format_ is Format.HTML else "md"
    return Format(report.format_of(output, wanted))
