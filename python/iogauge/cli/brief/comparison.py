"""A comparison on one screen: the greatest difference in a sentence, then a row for each finding, the surest first.

``comparison.text`` has every finding in full, and a table for each suite.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_uppercase

from iogauge.cli.brief.screen import EVERYTHING, rows_that_fit, wrapped
from iogauge.comparison.findings import Statement, statements
from iogauge.comparison.pairwise import FigurePair, SuiteComparison
from iogauge.comparison.sides import Differences
from iogauge.comparison.text import finding_text, notes
from iogauge.comparison.versus_published import nearest
from iogauge.comparison.wording import place_text
from iogauge.results.figures import metric_text, value_text
from iogauge.text import numbers
from iogauge.text.grid import narrowed, shortened

LINES = 30
"""The most lines of a comparison."""
LEFT_OUT_FIRST = ("A", "B", "step", "suite")
"""The columns that a narrow terminal lacks, the first to go first."""
_LETTERS = 6
"""The most sides that the lines above the table name."""
_NAME = 24
"""The most characters of a suite, a series or a step in the table."""

Finding = tuple[SuiteComparison, Statement, FigurePair]


def comparison_text(differences: Differences, *, columns: int) -> str:
    """Return a comparison as at most ``LINES`` lines, each at most ``columns`` wide."""
    suites = [suite for suite in differences.suites if suite.figures]
    findings = [
        (suite, statement, statement.evidence[-1]) for suite in suites for statement in statements(suite)
    ]
    findings.sort(key=_rank)
    letters = _letters(differences)
    before = _legend(letters, columns)
    for suite, statement, _ in findings[:1]:
        before += wrapped(f"{suite.title}: {statement.text}", columns=columns, most=4)
    published = [sentence for drive in differences.versus_published for sentence in nearest(drive)]
    after = [line for text in published[:2] for line in wrapped(text, columns=columns, most=4)]
    if len(published) > 2:
        after.append(
            f"... {numbers.counted(len(published) - 2, 'more drive')} with published figures: {EVERYTHING}"
        )
    after += _notes(differences, suites, columns)
    table = _table(findings, letters, columns=columns) if findings else []
    rows = rows_that_fit(table, most=LINES - len(before) - len(after) - 2) if table else []
    lines = [*before, *([""] if rows else []), *rows, *after, EVERYTHING]
    return "".join(f"{line}\n" for line in lines)


def _rank(finding: Finding) -> tuple[bool, bool, float]:
    """Established differences first, then those that too few blocks show; of each the greatest first."""
    _, _, pair = finding
    return (not pair.clear, not pair.apparent, -pair.distance)


def _letters(differences: Differences) -> dict[str, str]:
    """Return a letter for each side by its name, A for the base; beyond the alphabet, none."""
    names = dict.fromkeys(name for pair in differences.by_pair() for name in pair)
    return dict(zip(names, ascii_uppercase, strict=False))


def _legend(letters: dict[str, str], columns: int) -> list[str]:
    if len(letters) == 2:
        line = ", ".join(f"{letter} is {name}" for name, letter in letters.items())
        if len(line) <= columns:
            return [line]
    lines = [shortened(f"{letter} is {name}", columns) for name, letter in letters.items()]
    if len(lines) <= _LETTERS:
        return lines
    return [*lines[: _LETTERS - 1], f"... {len(lines) - _LETTERS + 1} more sides: {EVERYTHING}"]


def _table(findings: Sequence[Finding], letters: dict[str, str], *, columns: int) -> list[str]:
    several = len(letters) > 2
    head = ["suite", "series", "step", "figure", "A", "B", "B / A", "finding"]
    if several:
        head.insert(4, "B is")
    rows = [head]
    for suite, _, pair in findings:
        row = [
            shortened(suite.title, _NAME),
            shortened(pair.position.series or suite.title, _NAME),
            shortened(place_text(pair), _NAME),
            metric_text(pair.metric),
            value_text(pair.metric, pair.before),
            value_text(pair.metric, pair.after),
            _ratio(pair),
            finding_text(suite, pair).partition(" (")[0],
        ]
        if several:
            row.insert(4, letters.get(suite.after.name, "-"))
        rows.append(row)
    # A column that says the same everywhere says nothing.
    for place in (1, 0):
        if len({row[place] for row in rows[1:]}) == 1:
            rows = [[*row[:place], *row[place + 1 :]] for row in rows]
    return narrowed(rows, LEFT_OUT_FIRST, columns=columns, left=rows[0].index("A"))


def _ratio(pair: FigurePair) -> str:
    """Return B over A; an interval with an open side is left out."""
    value, low, high = pair.ratio.value, pair.ratio.low, pair.ratio.high
    shown = numbers.times(value, low, high) if pair.bounded else f"{numbers.within(value, None, None)}x"
    return numbers.mark(pair) + shown


def _notes(differences: Differences, suites: Sequence[SuiteComparison], columns: int) -> list[str]:
    """Return what the findings rest on, how the machines differ, and which sides have nothing in common."""
    lines = [machine.answer for machine in differences.machines[:2]]
    lines += list(notes(suites))[:3]
    apart = [suite.after.name for suite in differences.suites if not suite.figures]
    if apart:
        lines.append(f"nothing in common with A: {', '.join(apart)}")
    return [shortened(line, columns) for line in lines]
