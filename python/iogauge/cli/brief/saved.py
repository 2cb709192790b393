"""The screen of a saved review: what the command that made it prints at its end, and ``show`` again later.

A search, a ladder and the minute of ``quick`` have tables of their own; a review for a use has its verdicts, any other
one its findings and a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from iogauge.cli.brief.review import review_lines
from iogauge.cli.brief.warnings import Command, changing_lines, context_lines, warning_lines
from iogauge.cli.terminal import streams
from iogauge.text import numbers

if TYPE_CHECKING:
    from iogauge.library.reading.judge import Verdicts
    from iogauge.library.reading.saved import Review

LINES = 30
"""The most lines of a review, with its warnings."""


class _Answer(NamedTuple):
    """Lines for stdout, and which warnings are among them."""

    lines: Sequence[str]
    has_changing: bool = False
    has_context: bool = False


def show_saved(review: Review, verdicts: Verdicts | None, *, command: Command, last: Sequence[str]) -> None:
    """Print a review on one screen of the terminal's width: results on stdout, then other warnings on stderr.

    ``last`` are the lines that follow the results.
    """
    columns = streams.columns()
    warnings = review.warnings
    if verdicts:
        answer = _Answer(verdicts.to_brief().splitlines())
        said = {notice.code for fitness in verdicts for notice in fitness.warnings}
        warnings = tuple(notice for notice in warnings if notice.code not in said)
    else:
        answer = _own(review, command, columns=columns, last=len(last)) or _any(
            review, command, columns=columns, last=len(last)
        )
    streams.show("".join(f"{line}\n" for line in (*answer.lines, *last)))
    marked = numbers.TOO_FEW in numbers.meanings(answer.lines)
    if not answer.has_changing:
        for line in changing_lines(warnings, command=command, columns=columns):
            streams.say(line)
    if not answer.has_context:
        for line in context_lines(warnings, command=command, columns=columns, marked=marked):
            streams.say(line)


def _own(review: Review, command: Command, *, columns: int, last: int) -> _Answer | None:
    """Return the answer of the command ``find``, ``ladder`` or ``quick``; None: another review."""
    from iogauge.cli.brief.quick import quick_lines
    from iogauge.library.find.search import SUITE as FIND
    from iogauge.library.quick import SUITE as QUICK
    from iogauge.library.tunings.ladder import SUITE as LADDER
    from iogauge.report.find_text import find_text
    from iogauge.report.ladder_text import ladder_text

    if len(review.suites) != 1:
        return None
    result = review.suites[0]
    if result.plan.suite == QUICK:
        most = LINES - last
        lines = quick_lines(result, review.warnings, command=command, columns=columns, most=most)
        return _Answer(lines, has_changing=True, has_context=True)
    writers = {FIND: find_text, LADDER: ladder_text}
    if result.plan.suite not in writers:
        return None
    changing = changing_lines(review.warnings, command=command, columns=columns)
    return _Answer(writers[result.plan.suite](result, changing).splitlines(), has_changing=True)


def _any(review: Review, command: Command, *, columns: int, last: int) -> _Answer:
    warnings = warning_lines(review.warnings, command=command, columns=columns, marked=True)
    return _Answer(review_lines(review, columns=columns, most=LINES - len(warnings) - last))
