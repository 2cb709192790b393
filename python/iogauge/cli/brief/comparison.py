"""A comparison on one screen: the greatest difference in a sentence, then a row for each main figure of each step.

Where they are too many, the surest and greatest differences keep their rows. ``comparison.text`` has every finding in
full, and a table for each suite.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from string import ascii_uppercase

from iogauge.cli.brief.screen import EVERYTHING, bullets, wrapped
from iogauge.comparison.basis import basis
from iogauge.comparison.findings import main_metrics, statements
from iogauge.comparison.pairwise import FigurePair, Side, SuiteComparison
from iogauge.comparison.sides import Differences
from iogauge.comparison.text import BETWEEN, finding_text, notes
from iogauge.comparison.versus_published import nearest
from iogauge.comparison.wording import figure_name, place_text, sides_text, times_text
from iogauge.text import numbers
from iogauge.text.grid import narrowed, shortened

LINES = 30
"""The most lines of a comparison."""
LEFT_OUT_FIRST = ("finding", "95 %")
"""The columns that a narrow terminal lacks, the first to go first. ``95 %`` is the interval of ``B has``."""
_LETTERS = 6
"""The most sides that the lines above the table name."""
_NOTES = 6
"""The most lines of notes below the table."""

Row = tuple[SuiteComparison, FigurePair]


def comparison_text(differences: Differences, *, columns: int) -> str:
    """Return a comparison as at most ``LINES`` lines, each at most ``columns`` wide."""
    suites = [suite for suite in differences.suites if suite.figures]
    findings = [(suite, statement) for suite in suites for statement in statements(suite)]
    findings.sort(key=lambda finding: _rank(finding[1].evidence[-1]))
    letters = _letters(differences)
    before = _legend(letters, columns)
    for suite, statement in findings[:1]:
        before += wrapped(f"{suite.title}: {statement.text}", columns=columns, most=4)
    published = [sentence for drive in differences.versus_published for sentence in nearest(drive)]
    versus = [line for text in published[:2] for line in wrapped(text, columns=columns, most=4)]
    if len(published) > 2:
        versus.append(f"... {numbers.counted(len(published) - 2, 'more drive')} with published figures")

    rows = [row for suite in suites for row in _rows(suite)]
    evidence = {id(statement.evidence[-1]) for _, statement in findings}
    most_telling = sorted(rows, key=lambda row: (id(row[1]) not in evidence, _rank(row[1])))
    number = min(len(rows), LINES)
    while True:
        kept = {id(pair) for _, pair in most_telling[:number]}
        shown = [row for row in rows if id(row[1]) in kept]
        table = ["", *_table(shown, letters, columns=columns)] if shown else []
        if number < len(rows):
            table.append(f"... {numbers.counted(len(rows) - number, 'more row')}")
        noted = _notes(differences, suites, table)
        notes_ = bullets(noted, columns=columns, most=_NOTES, bullet="", noun="note")
        lines = [*before, *table, *versus, *notes_, EVERYTHING]
        if len(lines) <= LINES or number <= 1:
            return "".join(f"{line}\n" for line in lines)
        number = max(number - (len(lines) - LINES), 1)


def _rows(suite: SuiteComparison) -> Iterator[Row]:
    """Yield the main figures of every step, and those over a series that a finding is about."""
    of_findings = [pair for statement in statements(suite) for pair in statement.evidence]
    for series, pairs in suite.by_series().items():
        metrics = [*main_metrics(pairs)]
        yield from ((suite, pair) for pair in pairs if pair.metric in metrics)
        yield from ((suite, pair) for pair in suite.overall_of(series) if pair in of_findings)


def _rank(pair: FigurePair) -> tuple[bool, bool, float]:
    """Established differences first, then those that too few blocks show; of each the greatest first."""
    return (not pair.clear, not pair.apparent, -pair.distance)


def _letters(differences: Differences) -> dict[Side, str]:
    """Return a letter for each side, A for the base; beyond the alphabet, none."""
    sides = dict.fromkeys(side for suite in differences.suites for side in (suite.before, suite.after))
    return dict(zip(sides, chain(ascii_uppercase, repeat("-")), strict=False))


def _legend(letters: dict[Side, str], columns: int) -> list[str]:
    """Return what each letter stands for: the only place with the full names."""
    texts = [f"{letter} is {side.spelled_out}" for side, letter in letters.items()]
    if len(texts) == 2 and len(line := ", ".join(texts)) <= columns:
        return [line]
    lines = [shortened(text, columns) for text in texts]
    if len(lines) <= _LETTERS:
        return lines
    return [*lines[: _LETTERS - 1], f"... {len(lines) - _LETTERS + 1} more sides"]


def _table(shown: Sequence[Row], letters: dict[Side, str], *, columns: int) -> list[str]:
    """Return a row for each pair. The name of its step begins with the suite, unless there is only one."""
    several = len({suite.suite for suite, _ in shown}) > 1
    rows = [["step", "figure", "B is", "A", "B", "B has", "95 %", "finding"]]
    for suite, pair in shown:
        names = (suite.title if several else "", pair.position.series, place_text(pair))
        rows.append(
            [
                ", ".join(filter(None, names)),
                figure_name(pair),
                letters[suite.after],
                *sides_text(pair),
                *_times(pair),
                finding_text(suite, pair).partition(" (")[0],
            ]
        )
    if len(letters) == 2:
        rows = [[*row[:2], *row[3:]] for row in rows]
    return narrowed(rows, LEFT_OUT_FIRST, columns=columns, left=rows[0].index("A"), names=["step"])


def _times(pair: FigurePair) -> tuple[str, str]:
    """Return how many times B has more or less than A, and the interval."""
    value, _, bounds = times_text(pair).partition(" ")
    if not math.isfinite(pair.distance):
        return "-", ""
    if not pair.bounded:
        value = f"{numbers.within(math.exp(pair.distance), None, None)}x"
    return f"{numbers.mark(pair)}{value} {'less' if pair.falls else 'more'}", bounds[
        1:-1
    ] if pair.bounded else ""


def _notes(
    differences: Differences, suites: Sequence[SuiteComparison], table: Sequence[str]
) -> Iterator[str]:
    """Yield what marks in the table mean, what the findings rest on, how machines differ, who has nothing in common."""
    yield from numbers.meanings(table)
    if any(BETWEEN[: len("(between steps)")] in line for line in table):
        yield BETWEEN
    yield from (machine.answer for machine in differences.machines)
    yield from notes(suites, basis)
    apart = [suite.after.name for suite in differences.suites if not suite.figures]
    if apart:
        yield f"nothing in common with A: {', '.join(apart)}"
