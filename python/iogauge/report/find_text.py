"""What a search found, for people: the answer first, then every load that was tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.report.review_text import spread
from iogauge.results.conclusions import SearchResult, TriedLoad
from iogauge.results.suite_result import SuiteResult
from iogauge.text import numbers
from iogauge.text.grid import folded, labelled

_MOST_ROWS = 14
"""Loads that the table has: those nearest to the limit, each with its longest run."""


def find_text(result: SuiteResult, warnings: Sequence[str] = ()) -> str:
    """Return the answer and the loads around it as text of at most 80 columns, ending with a newline.

    ``warnings`` are lines about what changes the answer; they follow it.
    """
    return "".join(f"{line}\n" for line in _lines(result, warnings))


def _lines(result: SuiteResult, warnings: Sequence[str]) -> Iterator[str]:
    conclusions = result.conclusions
    if not conclusions.findings:
        yield "nothing was measured yet: resume the review"
        return
    headline, *others = conclusions.findings
    yield from labelled("", headline, indent="", width=0)
    yield from warnings
    for finding in others:
        yield from labelled("-", finding, indent="", width=2)
    search = conclusions.search
    assert search is not None  # a search with findings has tried loads
    yield ""
    tried = _nearest(search)
    yield from folded([_head(result, search), *(_row(result, load) for load in tried)])
    if further := len(search.deciding) - len(tried):
        yield f"... {numbers.counted(further, 'load')} further from the limit"
    latencies = [latency for load in tried for latency in load.latencies if latency is not None]
    if any(not latency.supported for latency in latencies):
        yield "~ has too few samples for this figure: run longer"
    if any(not latency.long_enough for latency in latencies):
        yield numbers.TOO_SHORT
    for note in result.plan.notes:
        yield from labelled("-", note, indent="", width=2)


def _nearest(search: SearchResult) -> tuple[TriedLoad, ...]:
    """Return the loads nearest to the limit, the lowest first."""
    near = search.holds or search.breaks or search.loads[-1].at
    chosen = sorted(search.deciding, key=lambda load: max(load.at / near, near / load.at))[:_MOST_ROWS]
    return tuple(sorted(chosen, key=lambda load: load.at))


def _head(result: SuiteResult, search: SearchResult) -> list[str]:
    goal = result.plan.goal
    assert goal is not None
    quantity = "IOPS" if goal.quantity == "iops" else "MB/s"
    first = "requested" if goal.over == "rate" else search.unit
    return [
        first,
        "served" if goal.over == "rate" and goal.quantity == "iops" else quantity,
        *(limit.figure for limit in goal.limits),
        "limit",
    ]


def _row(result: SuiteResult, load: TriedLoad) -> list[str]:
    goal = result.plan.goal
    assert goal is not None
    shown = numbers.rate if goal.quantity == "iops" else numbers.megabytes
    outcome = load.verdict + ("" if load.served else ": not served")
    return [
        numbers.position(load.at),
        numbers.in_digits(load.rate.value, load.rate.low, load.rate.high, shown)[0],
        *(
            "-"
            if latency is None
            else numbers.mark(latency) + spread(latency.value, latency.low, latency.high, numbers.duration)
            for latency in load.latencies
        ),
        outcome,
    ]
