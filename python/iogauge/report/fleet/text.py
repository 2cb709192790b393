"""A fleet as text for a terminal: all of it. ``cli/brief/fleet.py`` has what fits on one screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from iogauge.report.fleet import tables
from iogauge.report.fleet.sentences import answer, circumstances, event_line, findings
from iogauge.report.fleet.view import Difference, FleetView
from iogauge.results.conclusions import TextTable
from iogauge.text.grid import WIDTH, heading, labelled, narrowed

LEFT_OUT_FIRST = (
    *("slow for", "firmware", "slot", "model", "CPU", "kernel", "iogauge", "latest host"),
    *("mean", "requests", "p50", "why", "rate / peers", "p99 / peers", "p99.9", "missing"),
)
"""The columns to leave out of a table that is too wide, in this order; labels of hosts go after them."""


def fleet_text(view: FleetView, *, columns: int = WIDTH) -> str:
    """Return the answer, the findings and every table as lines of at most ``columns``, ending with a newline."""
    return "".join(f"{line}\n" for line in _lines(view, columns))


def sentences(texts: Iterable[str], *, columns: int, bullet: str = "- ") -> list[str]:
    """Return the lines of sentences, each with a bullet and wrapped at ``columns``."""
    return [line for text in texts for line in labelled("", text, indent=bullet, width=0, columns=columns)]


def table_lines(table: TextTable, *, columns: int) -> list[str]:
    """Return the lines of a table without the columns that do not fit in ``columns``."""
    labels = [name for name in table.head[1:] if name not in _STAY]
    return narrowed(
        [table.head, *table.rows],
        [*LEFT_OUT_FIRST, *labels],
        columns=columns,
        left=_left(table.head),
        names=table.head[:3],
    )


def difference_lines(differences: Sequence[Difference], *, hosts: int, columns: int) -> list[str]:
    """Return what differs between ``hosts`` hosts, a fact on a line: the commonest value first.

    >>> kernels = Difference(fact="kernel", values=(("6.1", ("a", "b")), ("6.8", ("c",))))
    >>> difference_lines([kernels], hosts=3, columns=80)
    ['  kernel: 6.1 (2 of 3 hosts); 6.8 (c)']
    """
    return [
        line
        for difference in differences
        for line in labelled(
            f"{difference.fact}:",
            "; ".join(_values(difference, hosts)),
            width=len(difference.fact) + 2,
            columns=columns,
        )
    ]


def _values(difference: Difference, hosts: int) -> Iterator[str]:
    for place, (value, names) in enumerate(difference.values):
        common = place == 0 and len(names) > 1
        yield f"{value} ({f'{len(names)} of {hosts} hosts' if common else tables.names_of(names)})"


_STAY = (
    "drive",
    "host",
    "hosts",
    "outcome",
    "step",
    "steps",
    "latency / peers",
    "p99",
    "by",
    "of",
    "IOPS",
    "direction",
)
_WORDS = ("drive", "host", "model", "firmware", "slot", "why", "outcome", "by", "of", "step", "direction")


def _left(head: Sequence[str]) -> int:
    """Return how many of the first columns are words."""
    words = [name in _WORDS for name in head]
    return [*words, False].index(False)


def _lines(view: FleetView, columns: int) -> Iterator[str]:
    yield from sentences([answer(view)], columns=columns, bullet="")
    yield from sentences([*findings(view), *circumstances(view)], columns=columns)
    shown = [
        tables.outliers(view),
        tables.groups(view.groups),
        tables.starts(view.starts),
        tables.hosts(view),
    ]
    for table in shown:
        if table.rows:
            yield ""
            yield from heading(table.title)
            yield from table_lines(table, columns=columns)
    if view.differences:
        yield ""
        yield from heading("what differs between hosts")
        yield from difference_lines(view.differences, hosts=len(view.hosts), columns=columns)
    if view.events:
        yield ""
        yield from heading("what happened")
        for event in view.events:
            text = event_line(event.host, event.kind, event.text)
            yield from labelled(event.at[11:19], text, indent="", width=9, columns=columns)
