"""A saved review on one screen: its main finding, a table, the other findings, and the gravest warnings.

The table of a single suite has a row for each step; that of several has a row for each suite and target, with the
extremes over its steps. Figures have the digits that their intervals support.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iogauge.cli.brief.screen import EVERYTHING, bullets, rows_that_fit, wrapped
from iogauge.cli.brief.warnings import Command, warning_lines
from iogauge.cli.terminal import streams
from iogauge.results.position import Position, name_of
from iogauge.results.reported import summary_lines
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figure import Figure
from iogauge.store.reported import read_summary
from iogauge.text import numbers
from iogauge.text.grid import narrowed, shortened

if TYPE_CHECKING:
    from iogauge.library.reading.judge import Verdicts
    from iogauge.library.reading.saved import Review

LINES = 30
"""The most lines of a review, with its warnings."""
QUANTILES = (0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999)
LEFT_OUT_FIRST = (
    "runs", "steps", "p99.999", "p90", "p50", "p99.99", "MB/s", "most MB/s", "p99.9"
)  # fmt: skip
"""The columns that a narrow terminal lacks, the first to go first."""
MOST_STEPS = 16
"""The most steps that are shown where a suite concludes a table from them."""
_FINDINGS = 6
"""The lines that are kept for findings below the table, where there are as many."""
_NAME = 20
"""The most characters of a target's or a suite's name in a table."""


def show_brief(review: Review, *, command: Command, after: str = "") -> None:
    """Print a review on one screen of the terminal's width: results on stdout, then the warnings on stderr.

    ``after`` is a line that follows the results.
    """
    columns = streams.columns()
    warnings = warning_lines(review.warnings, command=command, columns=columns)
    last = [after] if after else []
    lines = review_lines(review, columns=columns, most=LINES - len(warnings) - len(last))
    streams.show("".join(f"{line}\n" for line in [*lines, *last]))
    streams.say("".join(f"{line}\n" for line in warnings), end="")


def show_verdicts(verdicts: Verdicts, review: Review, *, after: str) -> None:
    """Print the verdicts for the uses that a review is for, in the place of its tables, then the warnings on stderr."""
    streams.show(f"{verdicts.to_brief()}{EVERYTHING}\n{after}\n")
    for line in warning_lines(review.warnings, command="review", columns=streams.columns()):
        streams.say(line)


def review_lines(review: Review, *, columns: int, most: int) -> list[str]:
    """Return a review as at most ``most`` lines, each at most ``columns`` wide."""
    results = review.suites
    first, *others = _findings(results) or [_rates(results)]
    before = [_title(review, columns), *wrapped(first, columns=columns, most=3), ""]
    table = _of_suite(results[0], columns) if len(results) == 1 else _suites(results, columns)
    table += summary_lines(read_summary(review.path))
    after = [*_notes(review, table, columns), EVERYTHING]
    room = most - len(before) - len(after)
    rows = max(room - _FINDINGS, room - sum(len(wrapped(text, columns=columns, most=9)) for text in others))
    fitted = rows_that_fit(table, most=max(min(rows, room), 2)) if table else []
    return [*before, *fitted, *bullets(others, columns=columns, most=room - len(fitted)), *after]


def _title(review: Review, columns: int) -> str:
    """Return what was measured, where, and how much of it is complete."""
    manifest, results = review.manifest, review.suites
    names = list(dict.fromkeys(result.plan.title for result in results))
    targets = list(dict.fromkeys(target for result in results for target in result.plan.targets))
    run = sum(1 for result in results for _ in result.runs)
    steps = numbers.counted(run + sum(len(result.missing) for result in results), "step")
    what = names[0] if len(names) == 1 else f"{len(names)} suites"
    begin = f"{what}, {run} of {steps}, pace {manifest.pace}: "
    modelled = " (models)" if all(target.modelled for target in manifest.targets) else ""
    shorter = ", ".join(dict.fromkeys(_target(result) for result in results)) + modelled
    ways = (", ".join(targets), shorter, numbers.counted(len(targets), "target") + modelled)
    return next((text for way in ways if len(text := begin + way) <= columns), shortened(begin, columns))


def _findings(results: Sequence[SuiteResult]) -> list[str]:
    """Return the findings of all suites: the first of each, then the second of each, and so on."""
    several = len(results) > 1
    targets = len({target for result in results for target in result.plan.targets}) > 1
    by_suite: list[list[str]] = []
    for result in results:
        where = f"{result.plan.title}{f' of {_target(result)}' if targets else ''}: " if several else ""
        growth = result.growth if result.plan.load_jobs else None
        own = [] if growth is None else [_growth(growth.value, growth.low, growth.high)]
        by_suite.append([f"{where}{text}" for text in (*own, *result.conclusions.findings)])
    deepest = max(map(len, by_suite), default=0)
    return [texts[place] for place in range(deepest) for texts in by_suite if place < len(texts)]


def _growth(value: float, low: float | None, high: float | None) -> str:
    slower = numbers.times(value, low, high)
    return f"writes slow reads {slower}: mean read latency under the most writes, against the fewest"


def _rates(results: Sequence[SuiteResult]) -> str:
    """Return the highest rate: the finding of a review whose suites conclude nothing."""
    measured = [(result, position) for result in results for position in result]
    if not measured:
        return "no step is complete"
    result, best = max(measured, key=lambda pair: pair[1].figures.iops)
    return f"at most {_number(best.figures.iops_figure)} IOPS, {result.plan.title}, {best.name}"


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
    return narrowed([head, *rows], LEFT_OUT_FIRST, columns=columns, left=int(series) + int(named))


def _step(position: Position, result: SuiteResult, *, series: bool) -> list[str]:
    figures = position.figures
    rate = numbers.within(figures.rate_Bps / 1e6, None, None) if figures.rate_Bps else "-"
    achieved = numbers.bandwidth(position.achieved_Bps) if position.achieved_Bps else "-"
    loaded = bool(result.plan.load_jobs)
    return [
        *([shortened(position.series, _NAME)] if series else []),
        shortened(
            name_of(position.plan, result.plan.axis, series=False, unit=False), _NAME if series else 40
        ),
        *([achieved] if loaded else []),
        _number(figures.iops_figure),
        *([] if loaded else [rate]),
        _latency(figures.mean),
        *(_latency(figures.quantile(q)) for q in QUANTILES),
        str(len(position.runs)),
    ]


def _suites(results: Sequence[SuiteResult], columns: int) -> list[str]:
    """Return a row for each suite and target: the most IOPS, the least mean, and the worst p99 and p99.9."""
    targets = len({target for result in results for target in result.plan.targets}) > 1
    head = ["suite", *(["target"] if targets else []), "steps"]
    rows = [[*head, "most IOPS", "most MB/s", "least mean", "worst p99", "worst p99.9"]]
    before = ""
    for result in results:
        title = shortened(result.plan.title, 24)
        rows.append(
            [
                "" if title == before else title,
                *([_target(result)] if targets else []),
                str(len(result.positions)),
                *_extremes(result),
            ]
        )
        before = title
    return narrowed(rows, [*LEFT_OUT_FIRST, "worst p99.9"], columns=columns, left=1 + int(targets))


def _extremes(result: SuiteResult) -> list[str]:
    figures = [position.figures for position in result.positions]
    if not figures:
        return ["-"] * 5
    most_Bps = max(figure.rate_Bps for figure in figures)
    means = [figure.mean for figure in figures if figure.mean is not None]
    tails = [[tail for figure in figures if (tail := figure.quantile(q)) is not None] for q in (0.99, 0.999)]
    return [
        _number(max((figure.iops_figure for figure in figures), key=lambda rate: rate.value)),
        numbers.within(most_Bps / 1e6, None, None) if most_Bps else "-",
        _latency(min(means, key=lambda mean: mean.value, default=None)),
        *(_latency(max(tail, key=lambda worst: worst.value, default=None)) for tail in tails),
    ]


def _target(result: SuiteResult) -> str:
    """Return a target's short name: of a model or a path its last part."""
    names = [target.removeprefix("model:").rpartition("/")[2] for target in result.plan.targets]
    return shortened("+".join(names), _NAME)


def _number(figure: Figure) -> str:
    return numbers.within(figure.value, figure.low, figure.high)


def _latency(figure: Figure | None) -> str:
    if figure is None:
        return "-"
    return numbers.mark(figure) + numbers.duration_within(figure.value, figure.low, figure.high)


def _notes(review: Review, table: Sequence[str], columns: int) -> list[str]:
    """Return what marks mean, and what is missing, a line each."""
    notes = []
    if any("~" in line for line in table):
        notes.append("~ fewer than ten samples lie beyond this quantile")
    if any("?" in line for line in table):
        notes.append(numbers.TOO_SHORT)
    if missing := [step.id for result in review.suites for step in result.missing]:
        notes.append(f"missing: {', '.join(missing)}")
    if len({target for result in review.suites for target in result.plan.targets}) > 1:
        notes.append(f"the targets against each other: iogauge compare {numbers.argument(review.path)}")
    return [shortened(note, columns) for note in notes]
