"""A comparison as text for a terminal, as Markdown, and as data for programs. All three say the same.

Shapes only: what is compared is ``compare.py``'s, and the sentences are ``compare_findings.py``'s.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from iogauge.report.compare import Compared, SuiteCompared
from iogauge.report.compare_findings import basis, findings, steps_averaged
from iogauge.report.figure_row import metric_text, value_text
from iogauge.report.grid import WIDTH, aligned
from iogauge.stats import words
from iogauge.stats.comparison import Verdict

HEAD = ("step", "figure", "A", "B", "B is ... times A", "95 %", "finding")


def text(found: Sequence[SuiteCompared]) -> str:
    """Return every comparison as a table and its sentences, ending with a newline."""
    return "".join(f"{line}\n" for each in found for line in (*_text(each), ""))


def markdown(found: Sequence[SuiteCompared]) -> str:
    """Return the same as Markdown."""
    return "".join(f"{line}\n" for each in found for line in (*_markdown(each), ""))


def as_json(found: Sequence[SuiteCompared]) -> list[dict[str, Any]]:
    """Return the same in JSON's types: latencies in nanoseconds, rates as their metric's name says."""
    return [
        {
            "suite": each.suite,
            "a": {"name": each.before.name, "review": each.before.review},
            "b": {"name": each.after.name, "review": each.after.review},
            "blocks": each.blocks,
            "paired": each.paired and each.blocks > 1,
            "margin": each.margin,
            "left_out": each.left_out,
            "basis": basis(each),
            "findings": list(findings(each)),
            "overall": [_figure(figure) for figure in each.overall],
            "figures": [_figure(figure) for figure in each.figures],
        }
        for each in found
    ]


def _text(found: SuiteCompared) -> Iterator[str]:
    title = f"{found.title}: A is {found.before.name}, B is {found.after.name}"
    yield title
    yield "-" * min(len(title), WIDTH)
    for series, figures in found.by_series().items():
        if series:
            yield f"{series}:"
        yield from aligned([HEAD, *_cells(found, series, figures)], left=2)
    yield from findings(found)
    yield from (f"note: {note}" for note in _notes(found))


def _markdown(found: SuiteCompared) -> Iterator[str]:
    yield f"## {found.title}: A is {found.before.name}, B is {found.after.name}"
    yield ""
    for series, figures in found.by_series().items():
        if series:
            yield from (f"### {series}", "")
        yield _line(HEAD)
        yield _line(["---", "---", *["---:"] * (len(HEAD) - 2)])
        yield from map(_line, _cells(found, series, figures))
        yield ""
    yield from (f"- {sentence}." for sentence in findings(found))
    yield from (f"- Note: {note}." for note in _notes(found))


def _whole(found: SuiteCompared, series: str) -> list[Compared]:
    return [each for each in found.overall if each.place.series == series]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _notes(found: SuiteCompared) -> Iterator[str]:
    yield basis(found)
    if any(not each.supported for each in found.figures):
        yield "~ fewer than ten samples lie beyond this quantile in a run of A or of B"
    if any(_by_t(each) for each in (*found.figures, *found.overall)):
        yield "t: fewer than six blocks; the interval is Student's, takes log ratios for normal, and decides nothing"
    if any(each.averaged and each.averaged[0] < each.averaged[1] for each in found.overall):
        yield "a mean over steps leaves out those without a block, between B's steps, or with a quantile marked ~"
    if any(each.between for each in found.figures):
        yield "(between steps) B has no step there: its latency is read between its two around it"


def _cells(found: SuiteCompared, series: str, figures: Sequence[Compared]) -> Iterator[list[str]]:
    before = ""
    for each in (*figures, *_whole(found, series)):
        place = each.place.label or f"{each.place.at:g} {each.place.unit}"
        if each.averaged is not None:
            place = steps_averaged(each)
        elif each.between:
            place += " (between steps)"
        low, high = each.ratio.low, each.ratio.high
        yield [
            "" if place == before else place,
            metric_text(each.metric),
            value_text(each.metric, each.before),
            value_text(each.metric, each.after),
            ("" if each.supported else "~ ") + words.figure(each.ratio.value),
            "-"
            if low is None or high is None
            else f"{_by_t(each)}{words.figure(low)} to {words.figure(high)}",
            _finding(found, each),
        ]
        before = place


def _by_t(each: Compared) -> str:
    return "t " if each.comparison is not None and each.comparison.by_t else ""


def _finding(found: SuiteCompared, each: Compared) -> str:
    if each.comparison is None:
        return "apart" if each.clear else "-"
    verdict, blocks = each.comparison.verdict, each.comparison.blocks
    fewer = f" ({blocks} blocks)" if blocks < found.blocks else ""
    return ("alike" if verdict == Verdict.ALIKE else str(verdict)) + fewer


def _figure(each: Compared) -> dict[str, Any]:
    test = each.comparison
    return {
        "series": each.place.series,
        "label": each.place.label,
        "at": each.place.at,
        "metric": each.metric,
        "a": each.before,
        "b": each.after,
        "ratio": {"value": each.ratio.value, "low": each.ratio.low, "high": each.ratio.high},
        "supported": each.supported,
        "between_steps": each.between,
        "clear": each.clear,
        "averaged": each.averaged and {"steps": each.averaged[0], "of": each.averaged[1]},
        "test": test
        and {
            "blocks": test.blocks,
            "interval": "t" if test.by_t else "signed-rank",
            "p": test.p,
            "p_corrected": test.p_corrected,
            "p_alike": test.p_alike,
            "p_alike_corrected": test.p_alike_corrected,
            "inner_low": test.inner_low,
            "inner_high": test.inner_high,
            "verdict": str(test.verdict),
        },
    }
