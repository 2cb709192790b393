"""Names as a table shows them, written by hand: capitals, spaces and the commas of thousands do not matter."""

from __future__ import annotations

import re
from collections.abc import Iterable

from iogauge.errors import UsageError
from iogauge.results.position import name_of
from iogauge.schema import Axis, StepPlan, SuitePlan
from iogauge.text.option import option
from iogauge.workload.suggest import closest

ANY = "*"
"""The position that stands for all."""
_LISTED = 6


def same(name: str) -> str:
    """Return a name in the form in which two spellings of it are equal.

    >>> same(" 1,250  MB/s") == same("1250 mb/s"), same("1 log") == same("2 logs")
    (True, False)
    """
    return " ".join(re.sub(r"(?<=\d),(?=\d{3})", "", name).lower().split())


def names_of(step: StepPlan, axis: Axis) -> tuple[str, str]:
    """Return the names of a step's position in a table: with its unit, and without."""
    return name_of(step, axis, series=False), name_of(step, axis, series=False, unit=False)


def suite_names(plan: SuitePlan) -> tuple[str, ...]:
    """Return the names of a plan's suite: its own, and the file of one that is yours."""
    return tuple(dict.fromkeys((plan.key.partition(".")[0], plan.suite)))


def unknown(
    text: str, noun: str, name: str, known: Iterable[str], *, short: Iterable[str] = ()
) -> UsageError:
    """Return the error for a name in the condition ``text`` that is none of ``known``, nor of their ``short`` forms.

    >>> error = unknown("mixd.p99 > 1ms", "suite", "mixd", ["mixed", "spec"])
    >>> str(error), error.hint
    ("fail_if 'mixd.p99 > 1ms': there is no suite 'mixd'", "did you mean 'mixed'?")
    """
    names = list(dict.fromkeys(known))
    spellings = {same(candidate): candidate for candidate in (*short, *names)}
    spelled = spellings.get(closest(name, spellings) or "")
    listed = ", ".join(repr(candidate) for candidate in names[:_LISTED]) + (
        ", ..." if len(names) > _LISTED else ""
    )
    return UsageError(
        f"{option('fail_if')} '{text}': there is no {noun} {name!r}",
        hint=f"did you mean {spelled!r}?"
        if spelled
        else f"use one of {listed}"
        if listed
        else "there is none",
    )
