"""The screen of a fleet: which drives are slow, who is missing, the merged figures, and how even it was."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iogauge.cli.brief.screen import bullets, in_a_line, rows_that_fit, wrapped

if TYPE_CHECKING:
    from iogauge.report.fleet.view import FleetView

LINES = 22
"""The most lines with ``last``: the prompt and the command stay on a screen of 24."""
_ANSWER, _RAN, _DRIVES = 5, 6, 6


def fleet_lines(view: FleetView, *, columns: int, last: Sequence[str] = ()) -> list[str]:
    """Return a fleet on at most ``LINES`` lines of at most ``columns``; ``last`` are the lines that end them."""
    from iogauge.report.fleet import tables
    from iogauge.report.fleet.sentences import answer, how_it_ran
    from iogauge.report.fleet.text import table_lines

    lines = wrapped(answer(view), columns=columns, most=_ANSWER)
    end = [
        *bullets(how_it_ran(view), columns=columns, most=_RAN),
        *(
            [in_a_line("hosts differ in:", [it.fact for it in view.differences], columns=columns)]
            if view.differences
            else []
        ),
        *last,
    ]
    drives = tables.outliers(view)
    if drives.rows:
        lines += ["", *rows_that_fit(table_lines(drives, columns=columns), most=_DRIVES)]
    merged = tables.groups(view.groups_by("fleet"), of_fleet=True)
    room = LINES - len(lines) - len(end) - 2
    if merged.rows and room >= 2:
        lines += ["", *rows_that_fit(table_lines(merged, columns=columns), most=room)]
    return [*lines, "", *end]
