"""A comparison on one screen: the greatest difference in a sentence, then a row for each finding, the surest first.

``comparison.text`` has every finding in full, and a table for each suite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, repeat
from string import ascii_uppercase

from iogauge.cli.brief.screen import EVERYTHING, bullets, rows_that_fit, wrapped
from iogauge.comparison.basis import basis
from iogauge.comparison.findings import Statement, statements
from iogauge.comparison.pairwise import FigurePair, Side, SuiteComparison
from iogauge.comparison.sides import Differences
from iogauge.comparison.text import BETWEEN, finding_text, notes
from iogauge.comparison.versus_published import nearest
from iogauge.comparison.wording import place_text
from iogauge.results.figures import metric_text, value_text
from iogauge.text import numbers
from iogauge.text.grid import narrowed, shortened

LINES = 30
"""The most lines of a comparison."""
LEFT_OUT_FIRST = ("A", "B", "finding")
"""The columns that a narrow terminal lacks, the first to go first."""
_LETTERS = 6
"""The most sides that the lines above the table name."""
_NOTES = 6
"""The most lines of notes below the table."""

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
    table = _table(findings, letters, columns=columns) if findings else []
    after += bullets(_notes(differences, suites, table), columns=columns, most=_NOTES, bullet="", noun="note")
    rows = rows_that_fit(table, most=LINES - len(before) - len(after) - 2) if table else []
    lines = [*before, *([""] if rows else []), *rows, *after, EVERYTHING]
    return "".join(f"{line}\n" for line in lines)


def _rank(finding: Finding) -> tuple[bool, bool, float]:
    """Established differences first, then those that too few blocks show; of each the greatest first."""
    _, _, pair = finding
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
    return [*lines[: _LETTERS - 1], f"... {len(lines) - _LETTERS + 1} more sides: {EVERYTHING}"]


def _table(findings: Sequence[Finding], letters: dict[Side, str], *, columns: int) -> list[str]:
    """Return a row for each finding. The name of its step begins with the suite, unless there is only one."""
    several = len({suite.suite for suite, _, _ in findings}) > 1
    rows = [["step", "figure", "B is", "A", "B", "B / A", "finding"]]
    for suite, _, pair in findings:
        names = (suite.title if several else "", pair.position.series, place_text(pair))
        rows.append(
            [
                ", ".join(filter(None, names)),
                metric_text(pair.metric),
                letters[suite.after],
                value_text(pair.metric, pair.before),
                value_text(pair.metric, pair.after),
                _ratio(pair),
                finding_text(suite, pair).partition(" (")[0],
            ]
        )
    if len(letters) == 2:
        rows = [[*row[:2], *row[3:]] for row in rows]
    # A column that says the same everywhere says least.
    alike = ["finding"] if len({row[-1] for row in rows[1:]}) == 1 else []
    return narrowed(rows, [*alike, *LEFT_OUT_FIRST], columns=columns, left=rows[0].index("A"), names=["step"])


def _ratio(pair: FigurePair) -> str:
    """Return B over A; an interval with an open side is left out."""
    value, low, high = pair.ratio.value, pair.ratio.low, pair.ratio.high
    shown = numbers.times(value, low, high) if pair.bounded else f"{numbers.within(value, None, None)}x"
    return numbers.mark(pair) + shown


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
