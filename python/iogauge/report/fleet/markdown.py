"""A fleet as Markdown, for a comment or a ticket: the answer, the findings, and its tables, folded.

Without ``verbose`` it is at most ``MOST_BYTES`` long, as the Markdown of a report is.
"""

from __future__ import annotations

from iogauge.report.fleet import tables
from iogauge.report.fleet.page import subject
from iogauge.report.fleet.sentences import answer, circumstances, findings
from iogauge.report.fleet.view import FleetView
from iogauge.report.markdown_brief import MOST_BYTES
from iogauge.results.conclusions import TextTable
from iogauge.text.markdown import escaped, table
from iogauge.text.numbers import capitalised
from iogauge.text.option import option


def markdown(view: FleetView, *, verbose: bool = False) -> str:
    """Return a fleet as Markdown, ending with a newline."""
    lines = [f"## {escaped(view.title)}", "", escaped(subject(view)), "", f"**{escaped(answer(view))}**", ""]
    lines += [f"- {escaped(text)}" for text in (*findings(view), *circumstances(view))]
    text = "\n".join(lines).rstrip() + "\n\n"
    left_out: list[str] = []
    for part in _tables(view):
        block = _folded(part)
        if verbose or len((text + block + _more([*left_out, part.title])).encode()) <= MOST_BYTES:
            text += block
        else:
            left_out.append(part.title)
    return text.rstrip() + "\n" + _more(left_out)


def _tables(view: FleetView) -> list[TextTable]:
    shown = [
        tables.outliers(view),
        tables.groups(view.groups),
        tables.differences(view.differences, hosts=len(view.hosts)),
        tables.starts(view.starts),
        tables.hosts(view),
    ]
    return [part for part in shown if part.rows]


def _folded(part: TextTable) -> str:
    head = ["<details>", f"<summary>{capitalised(part.title)}</summary>", ""]
    return "\n".join([*head, *table(part.head, part.rows, left=1), "</details>", "", ""])


def _more(titles: list[str]) -> str:
    if not titles:
        return ""
    return f"\nLeft out: {', '.join(titles)}. {option('verbose')} writes everything.\n"
