r"""``iogauge compare``: compare saved reviews, and say what differs.

Compare saved reviews step by step, and print what differs, by how much, and how sure that is.

REVIEW is the directory of a saved review, or 'published'. The first review is A; every other is compared with it. If
one review has several targets, they are compared with its first. --baseline names another A: a review, a target, or
part of a drive's name. 'published' is a built-in review: it sets every measured drive beside the published figures of
the same loads, the nearest first. 'published:p4800x' takes only the drives that are named.

The greatest difference comes first, then the main figures of each step, on one screen; where they do not fit, the
surest and greatest differences stay. --verbose prints every finding, and a table for each suite with the main figure of
each step where it differs; --all shows every figure.

Ratios are B to A, with 95 % intervals. With six repeats or more on both sides (iogauge review --repeats 6) differences
are tested, all of a suite as one family. A second family of tests shows that a figure is alike: within the margin at
every step of a series. Such a test needs more repeats: at least 7 if the family has 5 tests, at least 9 if it has 20,
and more if runs vary. 'iogauge plan' gives the number for the largest suite of a review. A single run has only its own
interval, which does not show how runs differ.

Only steps that both sides have are compared. In a series with increasing writes, the latency of a side that lacks a
step is interpolated between two of its own, and marked.

Reviews of a collection (iogauge collect) are named COLLECTION/ID. If they were not copied into it, their figures are
put side by side, without tests; only --baseline and --json go with that.

--format html writes the page that 'iogauge report' makes of the same reviews, by default to comparison.html.

--fail-if 'worse by > 5%' is for regressions: the exit status is 3 if a main figure of B is that much worse than A's,
and 1 if that cannot be decided. 'mixed[70 %].p99 worse by > 10%' judges one figure. The ten gravest figures have a
line each; --check-results has all.

    iogauge compare optane flash

    iogauge compare saved published

    iogauge compare before after --fail-if 'worse by > 5%' \
        --check-results checks.xml

    iogauge compare three-targets --baseline model:p3700
"""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from iogauge.cli.terminal import checks, process, status, streams
from iogauge.cli.terminal.judge_by import JudgeBy
from iogauge.cli.terminal.report_progress import ReportProgress
from iogauge.cli.terminal.shared_options import Verbose

if TYPE_CHECKING:
    from iogauge.library.reading.compare import Comparison
    from iogauge.report.run.fail_if import Violation
    from iogauge.store.outputs import Output


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
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="Compare with this review, target or drive.  [default: the first]",
        ),
    ] = None,
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
    fail_if: checks.FailIf = None,
    check_files: checks.Checks = None,
    check_results: checks.CheckResults = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show every figure, also those that do not differ.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    verbose: Verbose = False,
) -> None:
    """Print a table for each suite and pair, and a sentence for each finding."""
    from iogauge.library.conditions import parsed_of_comparison
    from iogauge.library.reading import collected, report
    from iogauge.library.reading import compare as library
    from iogauge.library.reading.judge_by import absolute
    from iogauge.store.outputs import Existing

    process.begin()
    names = checks.names(fail_if, check_files)
    conditions = parsed_of_comparison([*names])
    layout = Format.TEXT if as_json and format_ is None else _layout(output, format_)
    if layout is Format.HTML and as_json:
        raise status.UsageError("--json and --format html exclude each other", hint="ask for one of them")
    share = report.fraction(margin, name="margin")
    simple = layout is Format.TEXT and not (names or suite or output)
    if simple and (figures := collected.compare_figures(reviews, baseline=baseline)):
        streams.show(_json(figures.to_dict()) if as_json else figures.to_text())
        return
    reviews = collected.located(reviews)
    baseline = collected.located([baseline])[0] if baseline else None
    written = output or (Path("comparison.html") if layout is Format.HTML else None)
    existing = Existing.OWN if output is None else Existing.REPLACE
    claimed = (
        report.output_claims(reviews, say=streams.say).file(written, existing=existing) if written else None
    )
    results = checks.outputs(
        check_results, names, lambda: report.output_claims(reviews, say=streams.say), read=check_files
    )
    comparison = None
    violations: list[Violation] = []
    if names or layout is not Format.HTML:
        comparison = library.compare(*reviews, suites=suite or (), margin=share, baseline=baseline)
        violations = comparison.violations(conditions)
    if layout is Format.HTML and claimed:
        with ReportProgress() as progress:
            library.write_comparison(
                reviews,
                claimed,
                suites=suite or (),
                margin=share,
                baseline=baseline,
                judge_by=absolute(judge_by or ()),
                on_progress=progress,
            )
        streams.show(f"{claimed.path}\n")
    elif comparison:
        _print(comparison, layout, claimed, every=every, verbose=verbose, as_json=as_json)
    checks.say([("", violation) for violation in violations], results)
    checks.write(results, names, violations, suite=" ".join(reviews))
    checks.conclude(violations)


def _print(
    comparison: Comparison,
    layout: Format,
    claimed: Output | None,
    *,
    every: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Print a comparison, or write it into the claimed file."""
    from iogauge.cli.brief.comparison import comparison_text

    if as_json:
        text = _json(comparison.to_dict())
    elif layout is Format.MARKDOWN:
        text = comparison.to_markdown(every=every)
    elif verbose or every or claimed is not None:
        text = comparison.to_text(every=every)
    else:
        text = comparison_text(comparison.differences, columns=streams.columns())
    if claimed is None:
        streams.show(text)
    else:
        claimed.write(text.encode())
        streams.show(f"{claimed.path}\n")


def _json(rows: list[dict[str, Any]]) -> str:
    return json.dumps(rows, indent=2, allow_nan=False) + "\n"


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
