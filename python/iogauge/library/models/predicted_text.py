"""How well models predict what their fit did not see, as text for a terminal or a document."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iogauge.calibrate.judgement import Group
    from iogauge.calibrate.kinds import Errors
    from iogauge.catalog.left_out import PredictedRow

HEAD = [
    "figures",
    "number",
    "fitted",
    "worst",
    "left out",
    "worst",
    "goal",
    "constant",
    "linear",
    "former, fitted",
    "former, kept",
]
_NONE = "-"
_UNKNOWN = "no reason is known"


def _percent(value: float | None) -> str:
    return _NONE if value is None else f"{100 * value:.2g} %" if value < 1 else f"{100 * value:.0f} %"


def _median(errors: Errors, *, of: int | None = None) -> str:
    """Return a median, and the number of figures where it is not ``of``."""
    number = len(errors.values)
    few = f" ({number})" if number and of is not None and number != of else ""
    return _percent(errors.median) + few


def _cells(group: Group) -> list[str]:
    number = len(group.left_out.values)
    mark = "" if group.reached else " *"
    return [
        f"{group.media}: {group.kind}",
        str(number),
        _median(group.fitted, of=number),
        _percent(group.fitted.worst),
        _median(group.left_out) + mark,
        _percent(group.left_out.worst),
        _percent(group.goal),
        _median(group.constant, of=number),
        _median(group.linear, of=number),
        _median(group.former_fitted, of=number),
        _median(group.former_kept, of=number),
    ]


def text(rows: Sequence[PredictedRow], *, of: int, columns: int | None = None) -> str:
    """Return the answer in a sentence, the table by kind, and why figures are far off, in at most ``columns``."""
    from iogauge.calibrate.judgement import groups
    from iogauge.text.grid import narrowed

    most = columns or sys.maxsize
    judged = groups(rows)
    table = [HEAD, *map(_cells, judged)]
    last = ("former, kept", "former, fitted", "linear", "constant", "worst", "goal")
    lines = narrowed(table, last, columns=most) if judged else []
    head = _wrapped(answer(rows, of=of), most)
    below = [line for reason in reasons(rows) for line in _wrapped(reason, most)]
    return "\n".join([*head, "", *lines, *([""] if below else []), *below, ""])


def _wrapped(part: str, most: int) -> list[str]:
    from iogauge.text.grid import labelled

    return labelled("", part, indent="", width=0, columns=most)


def markdown(rows: Sequence[PredictedRow], *, of: int) -> str:
    """Return the same as Markdown."""
    from iogauge.calibrate.judgement import groups

    lines = [answer(rows, of=of), ""]
    if judged := groups(rows):
        lines += [f"| {' | '.join(HEAD)} |", "|---|" + "---:|" * (len(HEAD) - 1)]
        lines += [f"| {' | '.join(_cells(group))} |" for group in judged]
        lines.append("")
    return "\n".join([*lines, *reasons(rows), *([""] if reasons(rows) else [])])


def answer(rows: Sequence[PredictedRow], *, of: int) -> str:
    """Return in a sentence how well the models predict tables that their fit did not see.

    >>> answer([], of=200)
    'No table has been left out yet.'
    """
    from iogauge.calibrate.judgement import MEDIA, groups

    judged = groups(rows)
    if not judged:
        return "No table has been left out yet."
    parts = []
    for media in MEDIA.values():
        of_media = [group for group in judged if group.media == media and group.goal is not None]
        medians = [f"{_percent(group.left_out.median)} for {group.kind}" for group in of_media]
        if medians:
            parts.append(f"{media} by {', '.join(medians)}")
    with_goal = [group for group in judged if group.goal is not None]
    reached = sum(group.reached for group in with_goal)
    sentences = [
        f"At the median, models miss the figures of a table that their fit did not see, of {', of '.join(parts)}."
        if parts
        else "No figure with a goal has been left out yet.",
        f"{reached} of {len(with_goal)} goals are reached." if with_goal else "",
    ]
    if len(rows) < of:
        sentences.append(f"So far {len(rows)} of {of} figures were left out.")
    if (digests := len({row.models for row in rows})) > 1:
        sentences.append(f"They are of {digests} states of the models: some tables are to be left out again.")
    return " ".join(sentence for sentence in sentences if sentence)


def reasons(rows: Sequence[PredictedRow]) -> list[str]:
    """Return why medians are above their goals, and why rows that are left out are far off, by reason."""
    from iogauge.calibrate.judgement import far_off, groups, reason_of
    from iogauge.calibrate.misses import GOALS_MISSED
    from iogauge.text.numbers import capitalised

    missed = [(group.media, str(group.kind)) for group in groups(rows) if not group.reached]
    medians = [f"- * {media}: {kind}: {GOALS_MISSED.get((media, kind), _UNKNOWN)}." for media, kind in missed]
    by_reason: dict[str, dict[str, list[str]]] = {}
    for row in far_off(rows):
        by_drive = by_reason.setdefault(reason_of(row.row) or _UNKNOWN, {})
        by_drive.setdefault(f"{row.drive} {row.host or 'specified'}", []).append(row.figure)
    far = [
        f"- {capitalised(reason)}. {'; '.join(f'{drive}: ' + ', '.join(of) for drive, of in by_drive.items())}."
        for reason, by_drive in by_reason.items()
    ]
    return medians + far
