"""The findings of a saved review as lines: the main one, a table, the other findings, and what is missing.

The table of a single suite has a row for each step; that of several has a row for each suite and target, with the
figures of one step, which it names. Findings are ranked as on the page of a report.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iogauge.cli.brief.cells import latency_cells, rate_cell
from iogauge.cli.brief.screen import bullets, in_a_line, rows_that_fit, wrapped
from iogauge.report.page.verdict import verdict
from iogauge.report.ranking import Finding, by_effect
from iogauge.results.position import Position, name_of
from iogauge.results.reported import summary_lines
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figures import StepFigures
from iogauge.store.reported import read_summary
from iogauge.text import numbers
from iogauge.text.grid import narrowed, shortened

if TYPE_CHECKING:
    from iogauge.library.reading.saved import Review

QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
LEFT_OUT_FIRST = ("runs", "steps", "p99.999", "p90", "p50", "p99.99", "MB/s", "p99.9", "mean")
"""The columns that a narrow terminal lacks, the first to go first."""
MOST_STEPS = 16
"""The most steps that are shown where a suite concludes a table from them."""
_FINDINGS = 6
"""The lines that are kept for findings below the table, where there are as many."""


def review_lines(review: Review, *, columns: int, most: int) -> list[str]:
    """Return a review as at most ``most`` lines, each at most ``columns`` wide."""
    results = review.suites
    first, *others = _findings(results) or [_rates(results)]
    before = [_title(review, columns), *wrapped(first, columns=columns, most=3), ""]
    table = _of_suite(results[0], columns) if len(results) == 1 else _suites(results, columns)
    table += summary_lines(read_summary(review.path))
    after = _notes(review, table, columns)
    room = most - len(before) - len(after)
    rows = max(room - _FINDINGS, room - sum(len(wrapped(text, columns=columns, most=9)) for text in others))
    fitted = rows_that_fit(table, most=max(min(rows, room), 2)) if table else []
    return [*before, *fitted, *bullets(others, columns=columns, most=room - len(fitted)), *after]


def _title(review: Review, columns: int) -> str:
    """Return what was measured, where, and how much of it is complete."""
    manifest, results = review.manifest, review.suites
    names = list(dict.fromkeys(result.plan.title for result in results))
    targets = list(dict.fromkeys(target for result in results for target in result.plan.targets))
    run = sum(result.complete for result in results)
    steps = numbers.counted(sum(len(result.plan.steps) for result in results), "step")
    what = names[0] if len(names) == 1 else f"{len(names)} suites"
    begin = f"{what}, {run} of {steps}, pace {manifest.pace}: "
    modelled = " (models)" if all(target.modelled for target in manifest.targets) else ""
    shorter = ", ".join(dict.fromkeys(_target(result) for result in results)) + modelled
    ways = (", ".join(targets), shorter, numbers.counted(len(targets), "target") + modelled)
    return next((text for way in ways if len(text := begin + way) <= columns), shortened(begin, columns))


def _findings(results: Sequence[SuiteResult]) -> list[str]:
    """Return the findings of all suites, the greatest and surest effect first; the first of all as a headline."""
    several = len(results) > 1
    targets = len({target for result in results for target in result.plan.targets}) > 1
    ranked = by_effect(
        [
            [
                Finding(sentence, result.plan.title if several else "", _target(result) if targets else "")
                for sentence in verdict(result, result.conclusions.findings).sentences
            ]
            for result in results
        ]
    )
    texts = [*(one.headline for one in ranked[:1]), *(one.text for one in ranked[1:])]
    return [text.replace("µs", "us") for text in texts]


def _rates(results: Sequence[SuiteResult]) -> str:
    """Return the highest rate: the finding of a review whose suites conclude nothing."""
    measured = [(result, position) for result in results for position in result]
    if not measured:
        return "no step is complete"
    result, best = max(measured, key=lambda pair: pair[1].figures.iops)
    return f"at most {rate_cell(best.figures.iops_figure)} IOPS, {result.plan.title}, {best.name}"


def _of_suite(result: SuiteResult, columns: int) -> list[str]:
    """Return the steps of a suite; if they are many, the first table that it concludes instead."""
    conclusions = result.conclusions
    concluded = [*(matrix.table for matrix in conclusions.matrices), *conclusions.tables]
    if len(result.positions) <= MOST_STEPS or not concluded:
        return _steps(result, columns)
    table = concluded[0]
    lines = narrowed([table.head, *table.rows], table.head[-2:0:-1], columns=columns)
    return [shortened(f"{table.title}:", columns), *lines]


def _steps(result: SuiteResult, columns: int) -> list[str]:
    """Return the table of a suite's steps; several series are a column."""
    if not result.positions:
        return []
    series = len(result.by_series()) > 1
    loaded = bool(result.plan.load_jobs)
    head = [
        *(["series"] if series else []),
        result.plan.axis.unit or "step",
        *(["writes"] if loaded else []),
        "IOPS",
        *([] if loaded else ["MB/s"]),
        "mean",
        *(f"p{100 * q:.12g}" for q in QUANTILES),
        "runs",
    ]
    rows = [_step(position, result, series=series) for position in result.positions]
    named = any(position.plan.label for position in result.positions)
    return narrowed(
        [head, *rows],
        LEFT_OUT_FIRST,
        columns=columns,
        left=int(series) + int(named),
        names=head[: int(series) + 1],
    )


def _step(position: Position, result: SuiteResult, *, series: bool) -> list[str]:
    figures = position.figures
    achieved = numbers.bandwidth(position.achieved_Bps) if position.achieved_Bps else "-"
    loaded = bool(result.plan.load_jobs)
    return [
        *([position.series] if series else []),
        name_of(position.plan, result.plan.axis, series=False, unit=False),
        *([achieved] if loaded else []),
        rate_cell(figures.iops_figure),
        *([] if loaded else [_megabytes(figures)]),
        *latency_cells([figures.mean, *(figures.quantile(q) for q in QUANTILES)]),
        str(len(position.runs)),
    ]


def _suites(results: Sequence[SuiteResult], columns: int) -> list[str]:
    """Return a row for each suite and target: the figures of the step that stands for it, which the row names."""
    targets = len({target for result in results for target in result.plan.targets}) > 1
    names = ["suite", *(["target"] if targets else []), "step"]
    rows = [[*names, "IOPS", "MB/s", "mean", "p99", "p99.9", "steps"]]
    before = ""
    for result in results:
        title = result.plan.title
        shown, before = "" if title == before else title, title
        rows.append([shown, *([_target(result)] if targets else []), *_leading(result)])
    return narrowed(rows, LEFT_OUT_FIRST, columns=columns, left=len(names), names=names)


def _leading(result: SuiteResult) -> list[str]:
    """Return the name and the figures of the step that stands for a suite, and the number of its steps."""
    position = result.leading
    if position is None:
        return [*"------", "0"]
    figures = position.figures
    latencies = latency_cells([figures.mean, figures.quantile(0.99), figures.quantile(0.999)])
    steps = str(len(result.positions))
    return [position.name, rate_cell(figures.iops_figure), _megabytes(figures), *latencies, steps]


def _megabytes(figures: StepFigures) -> str:
    return rate_cell(figures.rate_figure) if figures.rate_Bps else "-"


def _target(result: SuiteResult) -> str:
    """Return a target's short name: of a model or a path its last part."""
    names = [target.removeprefix("model:").rpartition("/")[2] for target in result.plan.targets]
    return "+".join(names)


def _notes(review: Review, table: Sequence[str], columns: int) -> list[str]:
    """Return what marks mean, and what is missing, a line each."""
    notes = numbers.meanings(table)
    if missing := [step.id for result in review.suites for step in result.missing]:
        notes.append(in_a_line("missing:", missing, columns=columns))
    if len({target for result in review.suites for target in result.plan.targets}) > 1:
        notes.append(f"the targets against each other: iogauge compare {numbers.argument(review.path)}")
    return notes
