"""A fitted job beside its trace on one screen: the answer, then a line for each property and latency."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iogauge.text import numbers
from iogauge.text.grid import aligned, labelled
from iogauge.traces.fitting.compared import Property

_SMALL = 0.005


def screen(
    what: str,
    properties: Sequence[Property],
    latency: Mapping[float, tuple[Property, float]],
    *,
    on: str,
    notes: Sequence[str],
) -> list[str]:
    """Return the lines, at most 24 of 80 columns.

    ``latency`` has each quantile and how far it may be from the replay's; ``on`` says which model both ran on.
    """
    missed = [
        one.name for one, goal in latency.values() if one.difference is None or abs(one.difference) > goal
    ]
    errors = [f"{one.name} {_difference(one)}" for one, _ in latency.values()]
    goals = numbers.listed([f"{100 * goal:g}" for _, goal in latency.values()])
    verdict = f"{numbers.listed(missed)} beyond" if missed else "within"
    lines = labelled("", f"{what}.", indent="", width=0)
    lines += labelled(
        "", f"On {on}: {', '.join(errors)}, {verdict} the goal of {goals} %.", indent="", width=0
    )
    table = [["", "trace", "job", "difference"]]
    for one in (*filter(_matters, properties), *(one for one, _ in latency.values())):
        table.append([one.name, _value(one, one.trace), _value(one, one.fitted), _difference(one)])
    lines += ["", *aligned(table)]
    if notes:
        lines += labelled("", "; ".join(notes), indent="", width=0)
    return lines


def _matters(one: Property) -> bool:
    """Return whether a property is shown: no share that is small in both."""
    return one.unit != "share" or max(one.trace, one.fitted) >= _SMALL


def _value(one: Property, value: float) -> str:
    match one.unit:
        case "1/s":
            return numbers.rate(value)
        case "B/s":
            return numbers.bandwidth(value)
        case "B":
            return numbers.size(round(value))
        case "share":
            return numbers.percent(value)
        case "ns":
            return numbers.duration(value, 3)
    return numbers.figure(value)


def _difference(one: Property) -> str:
    if one.difference is None:
        return "-"
    points = round(100 * one.difference, 1) + 0.0
    return f"{points:+.1f} {'points' if one.unit == 'share' else '%'}"
