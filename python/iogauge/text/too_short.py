"""What runs are too short to say, in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iogauge.text import numbers

SHORT_S = 60
"""Published procedures run a step for a minute. Steps at least this long get no remark."""


def may_miss(seconds: Iterable[float]) -> str:
    """Say how rare a stall the shortest run can miss; empty where no run is shorter than a minute.

    An event that occurs at random, three times a run on average, is missing from one run in twenty (Hanley and
    Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249, 1983).

    >>> may_miss([60, 3])
    'one in twenty steps of 3 s misses a stall that comes at random about every 1 s'
    >>> may_miss([60, 59.97, 0]), may_miss([])
    ('', '')
    """
    shortest_s = float(f"{min((span_s for span_s in seconds if span_s > 0), default=SHORT_S):.2g}")
    if shortest_s >= SHORT_S:
        return ""
    return (
        f"one in twenty steps of {shortest_s:g} s misses a stall that comes at random "
        f"about every {shortest_s / 3:.2g} s"
    )


UNDECIDED = "cannot be determined: the runs are too short, as neighbouring seconds correlate"
"""The end of a sentence about figures whose intervals are open because their runs are too short."""


def left_out(figure_of: str, places: Sequence[str]) -> str:
    """Return a clause that names the places whose figure is inconclusive; empty if there are none.

    >>> left_out("the rate of", ["2 logs", "8 logs"])
    '; the rate of 2 logs and 8 logs cannot be determined: the runs are too short, as neighbouring seconds correlate'
    >>> left_out("the rate of", [])
    ''
    """
    return f"; {figure_of} {numbers.listed(places)} {UNDECIDED}" if places else ""
