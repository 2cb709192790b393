"""Make lines of progress that fit the terminal: they leave out parts in a stated order, and cut no figure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from iogauge.text.grid import last_words

LEFT_OUT_FIRST = ("MB/s", "mean", "p99")
"""The parts of the figures to leave out on a narrow terminal, in this order. The rate stays."""
_LABEL = 16
"""A label keeps at least this many characters as long as there is a latency to leave out."""
_BAR = 24

Figures = Callable[[Collection[str]], Sequence[str]]
"""Returns the figures of each row, without the named parts."""


def fitted(place: str, label: str, figures: Figures, *, took: str = "", columns: int) -> str:
    """Return one line, of at most ``columns``, with what a step or a row measured.

    As long as the line is too wide, it leaves out, in this order: how long the step took, MB/s, the mean, the first
    words of the label, p99, rows at the end.

    >>> def figures(without):
    ...     return [" ".join(word for word in ("5 IOPS", "mean", "p99") if word not in without)]
    >>> for columns in (60, 40, 35, 28, 22):
    ...     print(fitted("[2/3] ", "Mixed of t.bin, 70 %", figures, took="took 3 s", columns=columns))
    [2/3] Mixed of t.bin, 70 %: 5 IOPS mean p99; took 3 s
    [2/3] Mixed of t.bin, 70 %: 5 IOPS p99
    [2/3] ...of t.bin, 70 %: 5 IOPS p99
    [2/3] ...t.bin, 70 %: 5 IOPS
    [2/3] ...70 %: 5 IOPS
    """
    ends = [f"; {took}", ""] if took else [""]
    for gone, end in [(0, end) for end in ends] + [(1, ""), (2, "")]:
        line = f"{place}{label}: {'; '.join(figures(LEFT_OUT_FIRST[:gone]))}{end}"
        if len(line) <= columns:
            return line
    for gone in (2, 3):
        rows = "; ".join(figures(LEFT_OUT_FIRST[:gone]))
        room = columns - len(place) - len(rows) - 2
        if room >= min(len(label), _LABEL):
            return f"{place}{last_words(label, room)}: {rows}"
    rates = figures(LEFT_OUT_FIRST)
    short = f"{place}{last_words(label, _LABEL)}: "
    kept = [number for number in range(1, len(rates)) if len(short + _counted(rates, number)) <= columns]
    if kept:
        return short + _counted(rates, kept[-1])
    room = columns - len(place) - len(rates[0]) - 2
    return f"{place}{last_words(label, room)}: {rates[0]}" if room >= len("...") else rates[0]


def _counted(rows: Sequence[str], number: int) -> str:
    return "; ".join([*rows[:number], f"and {len(rows) - number} more"])


def bar_line(share: float, state: Mapping[str, str], *, columns: int) -> str:
    """Return a bar and the state beside it: texts by name.

    As long as the line is too wide, it leaves out, in this order: the simulated time, the temperature, the bar, the
    time that has passed.

    >>> state = {"passed": "5 s in", "simulated": "9 s simulated", "left": "5 s left"}
    >>> for columns in (60, 50, 20, 12):
    ...     print(bar_line(0.5, state, columns=columns))
      [############............] 5 s in, 9 s simulated, 5 s left
      [############............] 5 s in, 5 s left
      5 s in, 5 s left
      5 s left
    """
    filled = round(share * _BAR)
    bar = f"[{'#' * filled}{'.' * (_BAR - filled)}] "
    kept = dict(state)
    line = f"  {bar}{', '.join(kept.values())}"
    for going in ("simulated", "warm", "bar", "passed"):
        if len(line) <= columns:
            break
        kept.pop(going, None)
        bar = "" if going == "bar" else bar
        line = f"  {bar}{', '.join(kept.values())}"
    return line
