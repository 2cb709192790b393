"""A comparison as text for a terminal, as Markdown, and as data for programs. All three say the same, findings first.

A table has each step's main figure, where it differs or cannot be judged; what is left out is counted, and shown where
all of it is asked for. Data have everything.

Shapes only: what is compared is ``pairwise.py``'s, and the sentences are ``findings.py``'s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from iogauge.comparison import versus_published_text
from iogauge.comparison.findings import findings, grounds, place_text, told_metrics
from iogauge.comparison.pairwise import Compared, SuiteCompared
from iogauge.comparison.sides import Differences
from iogauge.results.figure import metric_text, value_text
from iogauge.stats.comparison import FEWEST_BLOCKS, Verdict
from iogauge.text import numbers
from iogauge.text.grid import WIDTH, aligned
from iogauge.text.markdown import escaped, table

HEAD = ("step", "figure", "A", "B", "B is ... times A", "95 %", "finding")
_FINDINGS = {Verdict.DIFFERS: "differs", Verdict.ALIKE: "alike", Verdict.UNDECIDED: "undecided"}
_SAID = {
    "differs": ("differs", "differ"),
    "apart": ("is apart", "are apart"),
    "-": ("is not apart", "are not apart"),
}
"""Findings of one figure and of several, where the word is another one."""


def text(found: Differences, *, every: bool = False) -> str:
    """Return every comparison, its sentences before its tables, ending with a newline; ``every``: with all figures."""
    blocks = [_pair(*pair, suites, every=every) for pair, suites in found.by_pair().items()]
    blocks += [versus_published_text.lines(laid, every=every) for laid in found.laid]
    return "".join(f"{line}\n" for block in blocks for line in (*block, ""))


def markdown(found: Differences, *, every: bool = False) -> str:
    """Return the same as Markdown."""
    blocks = [_markdown(*pair, suites, every=every) for pair, suites in found.by_pair().items()]
    blocks += [versus_published_text.markdown(laid, every=every) for laid in found.laid]
    return "".join(f"{line}\n" for block in blocks for line in block)


def as_json(found: Differences) -> list[dict[str, Any]]:
    """Return the same in JSON's types: latencies in nanoseconds, rates as their metric's name says."""
    suites = [
        {
            "suite": each.suite,
            "a": {"name": each.before.name, "review": each.before.review},
            "b": {"name": each.after.name, "review": each.after.review},
            "blocks": each.blocks,
            "paired": each.paired and each.blocks > 1,
            "family": each.tests,
            "alike_family": each.claims,
            "margin": each.margin,
            "left_out": each.left_out,
            "basis": "; ".join(grounds(each)),
            "findings": list(findings(each)),
            "overall": [_figure(figure) for figure in each.overall],
            "figures": [_figure(figure) for figure in each.figures],
        }
        for each in found.suites
    ]
    return [*suites, *map(versus_published_text.as_json, found.laid)]


def shown_figures(figures: Sequence[Compared], *, every: bool) -> list[Compared]:
    """Return the figures of a series that its table has: its main one, where that says something."""
    if every:
        return list(figures)
    main = next(told_metrics(figures))
    return [each for each in figures if each.metric == main and (each.clear or not _judged(each))]


def folded_text(found: SuiteCompared, left: Sequence[Compared]) -> str:
    """Return what the figures that a table leaves out show, counted.

    A figure that is not clear of one run's own interval is not apart.
    """
    counts = Counter(finding_text(found, each).partition(" (")[0] for each in left)
    said = ", ".join(
        f"{number} {_SAID.get(what, (what, what))[number > 1]}" for what, number in counts.most_common()
    )
    return f"{numbers.counted(len(left), 'other figure')}: {said}"


def cells(found: SuiteCompared, each: Compared) -> list[str]:
    """Return one figure's row, in the order of ``HEAD``."""
    low, high = each.ratio.low, each.ratio.high
    return [
        place_text(each),
        metric_text(each.metric),
        value_text(each.metric, each.before),
        value_text(each.metric, each.after),
        numbers.mark(each) + numbers.figure(each.ratio.value),
        "-"
        if low is None or high is None
        else f"{_by_t(each)}{numbers.figure(low)} to {numbers.figure(high)}",
        finding_text(found, each),
    ]


def finding_text(found: SuiteCompared, each: Compared) -> str:
    """Return what is found of one figure, in a word or two."""
    if each.comparison is None:
        return "apart" if each.clear else "-"
    if each.comparison.blocks < FEWEST_BLOCKS and each.comparison.verdict == Verdict.UNDECIDED:
        finding = "not tested"
    else:
        finding = _FINDINGS[each.comparison.verdict]
    return finding + (f" ({each.comparison.blocks} blocks)" if each.comparison.blocks < found.blocks else "")


def notes(suites: Sequence[SuiteCompared]) -> Iterator[str]:
    """Yield what a reader of the tables has to know, each once, with the suites that it is of where not of all."""
    suites = [each for each in suites if each.figures]
    given: dict[str, list[str]] = {}
    for found in suites:
        for note in (*grounds(found), *_marks(found)):
            given.setdefault(note, []).append(found.title)
    for note, titles in given.items():
        yield note if len(titles) == len(suites) else f"{', '.join(titles)}: {note}"


def _marks(found: SuiteCompared) -> Iterator[str]:
    if any(not each.supported for each in found.figures):
        yield "~ fewer than ten samples lie beyond this quantile in a run of A or of B"
    if any(not each.long_enough for each in found.figures):
        yield numbers.TOO_SHORT
    if any(_by_t(each) for each in (*found.figures, *found.overall)):
        yield "t: fewer than six blocks; the interval is Student's, takes log ratios for normal, and decides nothing"
    if any(each.averaged and each.averaged[0] < each.averaged[1] for each in found.overall):
        yield "a mean over steps leaves out those without a block, between B's steps, or with a quantile marked ~"
    if any(each.between for each in found.figures):
        yield "(between steps) B has no step there: its latency is read between its two around it"


def _pair(before: str, after: str, suites: Sequence[SuiteCompared], *, every: bool) -> Iterator[str]:
    title = f"A is {before}, B is {after}"
    yield title
    yield "=" * min(len(title), WIDTH)
    for found in suites:
        yield f"{found.title}:"
        yield from (f"- {sentence}" for sentence in findings(found))
        if not found.figures:
            yield from (f"- {each}" for each in grounds(found))
    for found in suites:
        if found.figures:
            yield ""
            yield found.title
            yield "-" * min(len(found.title), WIDTH)
            yield from _table(found, every=every)
    yield ""
    yield from (f"note: {note}" for note in notes(suites))


def _table(found: SuiteCompared, *, every: bool) -> Iterator[str]:
    parts, folded = _parts(found, every=every)
    for series, rows in parts:
        if series:
            yield f"{series}:"
        yield from aligned([HEAD, *rows], left=2)
    if folded:
        yield f"{folded_text(found, folded)} (--all shows them)"


def _parts(found: SuiteCompared, *, every: bool) -> tuple[list[tuple[str, list[list[str]]]], list[Compared]]:
    """Return the rows of each series that has some, and the figures that are left out of them."""
    parts = []
    folded: list[Compared] = []
    for series, figures in found.by_series().items():
        shown = shown_figures(figures, every=every)
        folded += [each for each in figures if each not in shown]
        rows = [cells(found, each) for each in (*shown, *_whole(found, series, figures, every=every))]
        if rows:
            parts.append((series, list(_once(rows))))
    return parts, folded


def _markdown(before: str, after: str, suites: Sequence[SuiteCompared], *, every: bool) -> Iterator[str]:
    yield from (f"## A is {escaped(before)}, B is {escaped(after)}", "")
    for found in suites:
        yield from (f"**{escaped(found.title)}**", "")
        yield from (f"- {escaped(sentence)}." for sentence in findings(found) or grounds(found))
        yield ""
    for found in suites:
        if not found.figures:
            continue
        yield from (f"### {escaped(found.title)}", "")
        parts, folded = _parts(found, every=every)
        for series, rows in parts:
            if series:
                yield from (f"#### {escaped(series)}", "")
            yield from table(HEAD, rows, left=2)
        if folded:
            yield f"- {escaped(folded_text(found, folded))}."
        yield ""
    yield from (f"- Note: {escaped(note)}." for note in notes(suites))
    yield ""


def _whole(
    found: SuiteCompared, series: str, figures: Sequence[Compared], *, every: bool
) -> Iterator[Compared]:
    """Yield the series as a whole: by what sentences speak of, or by all that was compared."""
    told = set(told_metrics(figures))
    for each in found.overall:
        if each.position.series == series and (every or each.metric in told):
            yield each


def _once(rows: Sequence[list[str]]) -> Iterator[list[str]]:
    """Yield rows with the name of a place in the first of its rows alone."""
    before = ""
    for place, *others in rows:
        yield ["" if place == before else place, *others]
        before = place


def _judged(each: Compared) -> bool:
    """Whether there is a test, or an interval, that could have told a difference."""
    if each.comparison is not None:
        return each.comparison.blocks >= FEWEST_BLOCKS
    return each.ratio.low is not None and each.ratio.high is not None


def _by_t(each: Compared) -> str:
    return "t " if each.comparison is not None and each.comparison.by_t else ""


def _figure(each: Compared) -> dict[str, Any]:
    test = each.comparison
    return {
        "series": each.position.series,
        "label": each.position.label,
        "at": each.position.at,
        "metric": each.metric,
        "a": each.before,
        "b": each.after,
        "ratio": {"value": each.ratio.value, "low": each.ratio.low, "high": each.ratio.high},
        "supported": each.supported,
        "long_enough": each.long_enough,
        "pressures_Bps": each.pressures_Bps,
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
