"""A comparison as text for a terminal, as Markdown, and as data for programs; findings come first in each.

Before them, a sentence says in which settings the machines differ, since these may explain the figures; all such
settings follow after the tables.

A table shows the main figure of each step if it differs or could not be judged. The other figures are counted, and
shown if all figures are requested. Data always hold all of them.

``pairwise`` computes the figures, and ``findings`` makes the sentences.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from iogauge.comparison import versus_published_text
from iogauge.comparison.basis import basis
from iogauge.comparison.findings import findings, main_metrics
from iogauge.comparison.machines import HEAD as SETTINGS_HEAD
from iogauge.comparison.machines import MachineComparison
from iogauge.comparison.pairwise import FigurePair, SuiteComparison
from iogauge.comparison.sides import Differences
from iogauge.comparison.wording import figure_name, place_text, sides_text
from iogauge.stats.differences.comparison import FEWEST_BLOCKS, Verdict
from iogauge.text import numbers
from iogauge.text.grid import folded, heading, labelled
from iogauge.text.markdown import escaped, table
from iogauge.text.numbers import capitalised

HEAD = ("step", "figure", "A", "B", "B / A", "95 %", "finding")
_FINDINGS = {Verdict.DIFFERS: "differs", Verdict.ALIKE: "alike", Verdict.UNDECIDED: "undecided"}
_VERBS = {
    "differs": ("differs", "differ"),
    "apart": ("is apart", "are apart"),
    "-": ("is not apart", "are not apart"),
}
"""What a table's findings are in a sentence about one figure, and about several; other findings stay as they are."""

BETWEEN = "(between steps) one side has no such step: its latency is interpolated between the two around it"
"""What the name of a step with these words means."""

Rows = list[list[str]]


def text(differences: Differences, *, every: bool = False) -> str:
    """Return every comparison, sentences before tables, ending with a newline; ``every``: with all figures."""
    parts = [
        _lines(*names, suites, differences.machines_of(*names), every=every)
        for names, suites in differences.by_pair().items()
    ]
    parts += [versus_published_text.lines(drive, every=every) for drive in differences.versus_published]
    return "".join(f"{line}\n" for part in parts for line in (*part, ""))


def markdown(differences: Differences, *, every: bool = False) -> str:
    """Return the same as Markdown."""
    parts = [
        _markdown(*names, suites, differences.machines_of(*names), every=every)
        for names, suites in differences.by_pair().items()
    ]
    parts += [versus_published_text.markdown(drive, every=every) for drive in differences.versus_published]
    return "".join(f"{line}\n" for part in parts for line in part)


def as_json(differences: Differences) -> list[dict[str, Any]]:
    """Return the same in JSON's types, each value in the unit that ends its metric's name."""
    suites = [
        {
            "suite": suite.suite,
            "a": {"name": suite.before.name, "review": suite.before.review},
            "b": {"name": suite.after.name, "review": suite.after.review},
            "blocks": suite.blocks,
            "paired": suite.paired and suite.blocks > 1,
            "family": suite.tests,
            "alike_family": suite.claims,
            "margin": suite.margin,
            "left_out": suite.left_out,
            "basis": "; ".join(basis(suite)),
            "findings": list(findings(suite)),
            "overall": [_json_pair(pair) for pair in suite.overall],
            "figures": [_json_pair(pair) for pair in suite.figures],
            "settings": _json_settings(differences.machines_of(suite.before.name, suite.after.name)),
        }
        for suite in differences.suites
    ]
    return [*suites, *map(versus_published_text.as_json, differences.versus_published)]


def _json_settings(machines: MachineComparison | None) -> dict[str, Any] | None:
    """Return how the settings of a pair differ; None: they are not known."""
    if machines is None:
        return None
    return {
        "answer": machines.answer,
        "unknown": list(machines.unknown),
        "one_sided": machines.one_sided,
        "differing": [
            {
                "id": pair.after.id,
                "title": pair.after.title,
                "weight": pair.weight,
                "a": pair.before.value,
                "b": pair.after.value,
                "wanted": pair.after.wanted,
            }
            for pair in machines.differing
        ],
    }


def _json_pair(pair: FigurePair) -> dict[str, Any]:
    test = pair.comparison
    return {
        "series": pair.position.series,
        "label": pair.position.label,
        "at": pair.position.at,
        "metric": pair.metric,
        "a": pair.before,
        "b": pair.after,
        "ratio": {"value": pair.ratio.value, "low": pair.ratio.low, "high": pair.ratio.high},
        "supported": pair.supported,
        "long_enough": pair.long_enough,
        "pressures_Bps": pair.pressures_Bps,
        "between_steps": pair.interpolated,
        "clear": pair.clear,
        "averaged": pair.averaged and {"steps": pair.averaged[0], "of": pair.averaged[1]},
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


def _lines(
    before: str,
    after: str,
    suites: Sequence[SuiteComparison],
    machines: MachineComparison | None,
    *,
    every: bool,
) -> Iterator[str]:
    yield from heading(f"A is {before}, B is {after}", rule="=")
    for side in (suites[0].before, suites[0].after):
        if side.full_name:
            yield side.spelled_out
    if machines:
        yield from (*labelled("", machines.answer, indent="", width=0), "")
    for suite in suites:
        yield f"{suite.title}:"
        for sentence in findings(suite) if suite.figures else basis(suite):
            yield from labelled("", sentence, indent="- ", width=0)
    for suite in suites:
        if suite.figures:
            yield ""
            yield from heading(suite.title)
            tables, left_out = _tables(suite, every=every)
            for series, rows in tables:
                if series:
                    yield f"{series}:"
                yield from folded([HEAD, *rows], left=2, names=2)
            if left_out:
                yield f"{folded_text(suite, left_out)} (--all shows them)"
    yield ""
    if machines and machines.rows:
        yield from heading("Settings that differ")
        for setting, a, b in machines.rows:
            yield from labelled("", f"{setting}: {a} / {b}", indent="", width=0)
        yield from _noted(machines.notes)
        yield ""
    yield from _noted(notes(suites))


def _noted(texts: Iterable[str]) -> Iterator[str]:
    for note in texts:
        yield from labelled("note: ", note, indent="", width=6)


def _markdown(
    before: str,
    after: str,
    suites: Sequence[SuiteComparison],
    machines: MachineComparison | None,
    *,
    every: bool,
) -> Iterator[str]:
    yield from (f"## A is {escaped(before)}, B is {escaped(after)}", "")
    for side in (suites[0].before, suites[0].after):
        if side.full_name:
            yield from (f"{escaped(side.spelled_out)}.", "")
    if machines:
        yield from (f"{escaped(capitalised(machines.answer))}.", "")
    for suite in suites:
        yield from (f"**{escaped(suite.title)}**", "")
        yield from (f"- {escaped(sentence)}." for sentence in findings(suite) or basis(suite))
        yield ""
    for suite in suites:
        if suite.figures:
            yield from (f"### {escaped(suite.title)}", "")
            tables, left_out = _tables(suite, every=every)
            for series, rows in tables:
                if series:
                    yield from (f"#### {escaped(series)}", "")
                yield from table(HEAD, rows, left=2)
            if left_out:
                yield f"- {escaped(folded_text(suite, left_out))}."
            yield ""
    if machines and machines.rows:
        yield from ("### Settings that differ", "")
        yield from table(SETTINGS_HEAD, machines.rows, left=3)
    notes_ = (*(machines.notes if machines else ()), *notes(suites))
    yield from (f"- Note: {escaped(note)}." for note in notes_)
    yield ""


def _tables(suite: SuiteComparison, *, every: bool) -> tuple[list[tuple[str, Rows]], list[FigurePair]]:
    """Return the table of each series that has rows, and the pairs that the tables leave out."""
    tables = []
    left_out: list[FigurePair] = []
    for series, pairs in suite.by_series().items():
        shown = shown_pairs(pairs, every=every)
        left_out += [pair for pair in pairs if pair not in shown]
        metrics = set(main_metrics(pairs))
        overall = [pair for pair in suite.overall_of(series) if every or pair.metric in metrics]
        if rows := [cells(suite, pair) for pair in (*shown, *overall)]:
            tables.append((series, list(_without_repetition(rows))))
    return tables, left_out


def shown_pairs(pairs: Sequence[FigurePair], *, every: bool) -> list[FigurePair]:
    """Return the pairs of a series that its table shows: of the main metric, if they differ or could not be judged."""
    if every:
        return list(pairs)
    main = next(main_metrics(pairs))
    return [pair for pair in pairs if pair.metric == main and (pair.clear or not _judged(pair))]


def _judged(pair: FigurePair) -> bool:
    """Return whether a test, or an interval, could have shown a difference."""
    if pair.comparison is not None:
        return pair.comparison.blocks >= FEWEST_BLOCKS
    return pair.bounded


def _without_repetition(rows: Rows) -> Iterator[list[str]]:
    """Yield rows with a step's name in the first of its rows alone."""
    before = ""
    for place, *others in rows:
        yield ["" if place == before else place, *others]
        before = place


def folded_text(suite: SuiteComparison, pairs: Sequence[FigurePair]) -> str:
    """Return the number of pairs that a table leaves out, and how many have which finding."""
    counts = Counter(finding_text(suite, pair).partition(" (")[0] for pair in pairs)
    parts = (
        f"{number} {_VERBS.get(finding, (finding, finding))[number > 1]}"
        for finding, number in counts.most_common()
    )
    return f"{numbers.counted(len(pairs), 'other figure')}: {', '.join(parts)}"


def cells(suite: SuiteComparison, pair: FigurePair) -> list[str]:
    """Return the row of a pair, in the order of ``HEAD``."""
    low, high = pair.ratio.low, pair.ratio.high
    mark = "t " if _by_t(pair) else ""
    return [
        place_text(pair),
        figure_name(pair),
        *sides_text(pair),
        numbers.mark(pair) + numbers.figure(pair.ratio.value),
        "-" if low is None or high is None else f"{mark}{numbers.figure(low)} to {numbers.figure(high)}",
        finding_text(suite, pair),
    ]


def finding_text(suite: SuiteComparison, pair: FigurePair) -> str:
    """Return the finding about one pair in a word or two."""
    test = pair.comparison
    if test is None:
        return "apart" if pair.clear else "-"
    untested = test.blocks < FEWEST_BLOCKS and test.verdict == Verdict.UNDECIDED
    finding = "not tested" if untested else _FINDINGS[test.verdict]
    return finding + (f" ({test.blocks} blocks)" if test.blocks < suite.blocks else "")


def notes(
    suites: Sequence[SuiteComparison],
    of: Callable[[SuiteComparison], Iterable[str]] = lambda suite: (*basis(suite), *_marks(suite)),
) -> Iterator[str]:
    """Yield the notes to the tables, once each; a note that does not apply to all suites names its suites."""
    suites = [suite for suite in suites if suite.figures]
    titles: dict[str, list[str]] = {}
    for suite in suites:
        for note in of(suite):
            titles.setdefault(note, []).append(suite.title)
    for note, names in titles.items():
        yield note if len(names) == len(suites) else f"{', '.join(names)}: {note}"


def _marks(suite: SuiteComparison) -> Iterator[str]:
    """Yield the meaning of each mark in a suite's tables."""
    if any(not pair.supported for pair in suite.figures):
        yield "~ a run of A or B has fewer than ten samples beyond this quantile"
    if any(not pair.long_enough for pair in suite.figures):
        yield numbers.TOO_SHORT
    if any(_by_t(pair) for pair in (*suite.figures, *suite.overall)):
        yield "t: fewer than six blocks: the interval is Student's, assumes normal log ratios, and decides nothing"
    if any(pair.averaged and pair.averaged[0] < pair.averaged[1] for pair in suite.overall):
        yield "a mean over steps leaves out steps that lack a block, are interpolated, or have a quantile marked ~"
    if any(pair.interpolated for pair in suite.figures):
        yield BETWEEN


def _by_t(pair: FigurePair) -> bool:
    return pair.comparison is not None and pair.comparison.by_t
