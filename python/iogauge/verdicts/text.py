"""A verdict in words: one sentence, lines for a terminal, and data for JSON. The sentence comes first everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from iogauge.results.figures import unit_of
from iogauge.results.names import short_name
from iogauge.stats.figure import Figure
from iogauge.stats.limits import Outcome
from iogauge.text import grid, numbers
from iogauge.text.option import call
from iogauge.verdicts.fitness import Fitness, JudgedCriterion, metric_of
from iogauge.verdicts.warnings import warnings_of_all

SCALE = 44
"""Columns of a criterion's scale."""
MOST_REFERENCES = 7
"""References of a kind that a line of text names; the data has all."""
LONGEST_S = 3600
"""The longest step that a remedy recommends."""
MARKS = "~ too few samples for the quantile; ? too short a run for an interval"
SPARE = 1.2
"""A remedy's step is this many times as long as should just decide."""


def sentence(fitness: Fitness) -> str:
    """Return the answer and what decides it, in one sentence."""
    use, target = fitness.profile.title, fitness.target
    count = len(fitness.criteria)
    if fitness.answer == "yes":
        every = "its criterion is met" if count == 1 else f"all {count} criteria are met"
        return f"{target} is fit for {use}: {every}"
    if fitness.answer == "no":
        first, *more = fitness.of(Outcome.MISSED)
        others = f"; {len(more)} more missed" if more else ""
        return f"{target} is not fit for {use}: {first.criterion.name}, {measured(first)}{others}"
    return f"{target}: not shown whether it is fit for {use}: {'; '.join(_open(fitness))}"


def _open(fitness: Fitness) -> Iterator[str]:
    """Yield what is undecided, as parts of a sentence: the first figure that shows nothing, then what is missing."""
    undecided, missing = fitness.of(Outcome.NOT_SHOWN), len(fitness.of(Outcome.NOT_MEASURED))
    if undecided:
        yield f"{undecided[0].criterion.name}, {measured(undecided[0])}"
    if len(undecided) > 1:
        yield f"{len(undecided) - 1} more undecided"
    if missing:
        every = len(fitness.criteria)
        yield (
            "its criterion was not measured" if every == 1 else f"{missing} of {every} criteria not measured"
        )


def limit_text(judged: JudgedCriterion) -> str:
    """Return a criterion's limit, such as ``at most 1 ms``."""
    criterion = judged.criterion
    unit = unit_of(metric_of(criterion))
    return f"{'at most' if criterion.upper else 'at least'} {_short(criterion.limit, unit)}"


def measured(judged: JudgedCriterion) -> str:
    """Return what is asked, what was measured, and why that is undecided or what decides it."""
    return f"{_asked(judged)}: {_shown(judged)}"


def of_quantity(judged: JudgedCriterion, text: str) -> str:
    """Return a value or a limit behind its quantity; the unit of a rate says what it is."""
    quantity = judged.criterion.quantity
    return text if quantity in ("iops", "rate") else f"{quantity} {text}"


def _asked(judged: JudgedCriterion) -> str:
    return of_quantity(judged, limit_text(judged))


def _shown(judged: JudgedCriterion) -> str:
    """Return the figure with its interval, and what that does not say; empty: nothing was measured."""
    return "; ".join(filter(None, (figure_text(judged.figure), judged.ruling.why)))


def figure_text(figure: Figure | None) -> str:
    """Return a figure with its interval; empty without one."""
    return "" if figure is None else str(figure)


def extent_text(judged: JudgedCriterion) -> str:
    """Say how far along its axis a criterion holds; empty if it is not about that."""
    extent = judged.extent
    if extent is None:
        return ""
    if extent.holds is None:
        return ""
    holds = f"holds to {numbers.placed(extent.holds, extent.unit)}"
    if extent.ends is None:
        return f"{holds}, the most measured"
    state = "missed" if extent.missed else "not shown"
    return f"{holds}, {state} at {numbers.placed(extent.ends, extent.unit)}"


def remedy(fitness: Fitness) -> str:
    """Return what would decide an undecided verdict, with its command; empty if it is decided, or nothing would."""
    if fitness.answer != "not shown":
        return ""
    use = fitness.profile.name
    if fitness.of(Outcome.NOT_MEASURED):
        return f"measure what is missing: {call('review', fitness.path, use=use)}"
    undecided = fitness.of(Outcome.NOT_SHOWN)
    if slowed_by := next((judged.slowed_by for judged in undecided if judged.slowed_by), None):
        return (
            f"{slowed_by.hint.partition(';')[0]}; then measure again: {call('review', fitness.path, use=use)}"
        )
    lengths_s = [
        judged.runtime_s * judged.ruling.longer * SPARE for judged in undecided if judged.ruling.longer
    ]
    if len(lengths_s) < len(undecided):
        return f"measure again, several times: {call('review', fitness.path, use=use, repeats=5)}"
    if (longest_s := max(lengths_s)) > LONGEST_S:
        return "the figure is so near its limit that an hour a step would not decide"
    again = call("review", fitness.path, use=use, runtime=f"{math.ceil(longest_s)}s")
    return f"run each step for about {numbers.clock_time(longest_s)}: {again}"


def ends(same: Iterable[JudgedCriterion]) -> tuple[float, float]:
    """Return the ends of the scale for one criterion of several targets: their limit is in one place."""
    values = [value for judged in same for value in (judged.criterion.limit, *_places(judged))]
    return min(values) / 1.2, max(values) * 1.2


def _places(judged: JudgedCriterion) -> Iterator[float]:
    """Yield what has a place on a criterion's scale beside its limit."""
    figure = judged.figure
    if figure is not None:
        values = figure.value, figure.low, figure.high, *(other.figure.value for other in judged.references)
        yield from (value for value in values if value is not None and value > 0)


def scale(judged: JudgedCriterion, low: float, high: float) -> str:
    """Return figure, interval, limit and references on a logarithmic scale with these ends; empty without a figure.

    ``*`` is the figure, ``=`` its interval, ``o`` a reference, ``|`` the limit.
    """
    figure = judged.figure
    if figure is None:
        return ""
    bounds = [bound for bound in (figure.low, figure.high) if bound is not None and bound > 0]
    others = [reference.figure.value for reference in judged.references if reference.figure.value > 0]
    places = ["."] * SCALE

    def place(value: float) -> int:
        return round((SCALE - 1) * math.log(value / low) / math.log(high / low))

    if len(bounds) == 2:
        for column in range(place(bounds[0]), place(bounds[1]) + 1):
            places[column] = "="
    for value in others:
        places[place(value)] = "o"
    places[place(judged.criterion.limit)] = "|"
    if figure.value > 0:
        places[place(figure.value)] = "*"
    return f"{''.join(places)}  {_short(low, figure.unit)} to {_short(high, figure.unit)}"


def lines(verdicts: Sequence[Fitness]) -> Iterator[str]:
    """Yield the verdicts for one use, for a terminal: the answers, each criterion with all targets, the remedies."""
    profile = verdicts[0].profile
    for fitness in verdicts:
        yield from grid.labelled("", sentence(fitness), indent="", width=0)
    yield from _warning_lines(verdicts)
    if full := [model for model in dict.fromkeys(fitness.model for fitness in verdicts) if " " in model]:
        yield from grid.labelled("tested:", ", ".join(full), indent="", width=8)
    for number, criterion in enumerate(profile.criterion):
        yield ""
        same = [(fitness.target, fitness.criteria[number]) for fitness in verdicts]
        yield from grid.labelled("", f"{criterion.name}: {_asked(same[0][1])}", indent="", width=0)
        low, high = ends(judged for _, judged in same)
        for target, judged in same:
            yield from _rows(judged, target if len(same) > 1 else "", low, high)
        for kind in ("modelled", "published"):
            if references := references_text(same[0][1], kind):
                yield from grid.labelled(kind, references, width=14)
        yield from grid.labelled("limit by", criterion.source, width=14)
    if any(
        numbers.mark(reference.figure) for judged in verdicts[0].criteria for reference in judged.references
    ):
        yield ""
        yield from grid.labelled("marks:", MARKS, indent="", width=7)
    remedies = dict.fromkeys(filter(None, map(remedy, verdicts)))
    for more in remedies:
        yield ""
        yield from grid.labelled("to decide:", more, indent="", width=11)
    if profile.caveat:
        yield ""
        yield from grid.labelled("note:", profile.caveat, indent="", width=6)


def brief_lines(verdicts: Sequence[Fitness]) -> Iterator[str]:
    """Yield the verdicts of a review on one screen: the answers, each criterion in a sentence, and the remedies."""
    if len({fitness.profile.name for fitness in verdicts}) > 1:
        yield from _answers(verdicts)
        return
    for fitness in verdicts:
        yield from grid.labelled("", sentence(fitness), indent="", width=0)
    yield from _warning_lines(verdicts)
    if len(verdicts) == 1:
        yield ""
        worst_first = (Outcome.MISSED, Outcome.NOT_MEASURED, Outcome.NOT_SHOWN, Outcome.MET)
        for judged in (judged for outcome in worst_first for judged in verdicts[0].of(outcome)):
            text = ": ".join(filter(None, (f"{judged.criterion.name}, {_asked(judged)}", _shown(judged))))
            yield from grid.labelled(judged.outcome.value, text, indent="", width=14)
    for more in dict.fromkeys(filter(None, map(remedy, verdicts))):
        yield from grid.labelled("to decide:", more, indent="", width=14)
    if caveat := verdicts[0].profile.caveat:
        yield from grid.labelled("note:", caveat, indent="", width=14)


def _warning_lines(verdicts: Sequence[Fitness]) -> Iterator[str]:
    for warning in warnings_of_all(verdicts):
        yield from grid.labelled("warning:", warning, indent="", width=9)


def _rows(judged: JudgedCriterion, target: str, low: float, high: float) -> Iterator[str]:
    """Yield what one target's figure says of a criterion, and the scale with these ends."""
    what = ": ".join(filter(None, (target, _shown(judged))))
    text = "; ".join(filter(None, (what, extent_text(judged))))
    yield from grid.labelled(judged.outcome.value, text, width=14)
    if drawn := scale(judged, low, high):
        yield from grid.labelled("", drawn, width=14)


def references_text(judged: JudgedCriterion, kind: str) -> str:
    """Return the references of a kind with their values: the first few by name."""
    references = [reference for reference in judged.references if reference.kind == kind]
    shown = [
        f"{reference.drive} {numbers.mark(reference.figure)}{_short(reference.figure.value, reference.figure.unit)}"
        for reference in references[:MOST_REFERENCES]
    ]
    rest = len(references) - len(shown)
    return "; ".join([*shown, *([f"{rest} more"] if rest else [])])


def all_references(judged: JudgedCriterion) -> str:
    """Return the references of all kinds with their values, the kinds named."""
    kinds = dict.fromkeys(reference.kind for reference in judged.references)
    return "; ".join(f"{kind}: {references_text(judged, kind)}" for kind in kinds)


def sentences(verdicts: Iterable[Fitness]) -> str:
    """Return verdicts as text, a sentence each; empty without any."""
    return " ".join(f"{sentence(fitness)}." for fitness in verdicts)


def as_text(verdicts: Sequence[Fitness]) -> str:
    """Return verdicts for a terminal: of one use in full, of several uses a table of the answers."""
    several = len({fitness.profile.name for fitness in verdicts}) > 1
    return "".join(f"{line}\n" for line in (_answers(verdicts) if several else lines(verdicts)))


def _answers(verdicts: Sequence[Fitness]) -> Iterator[str]:
    """Yield a table of the answers: a line for each use, or, of several targets, for each answer of a use."""
    targets = dict.fromkeys(fitness.target for fitness in verdicts)
    names = [fitness.profile.name for fitness in verdicts]
    width = max(map(len, names)) + 2
    if len(targets) == 1:
        what = verdicts[0].target
    elif len({fitness.identity for fitness in verdicts}) == 1:
        what = f"{short_name(verdicts[0].model)} in {len(targets)} reviews"
    else:
        what = numbers.counted(len(targets), "target")
    yield from grid.labelled(
        "", f"{what}, judged for {numbers.counted(len(set(names)), 'use')}:", indent="", width=0
    )
    for name in dict.fromkeys(names):
        mine = [fitness for fitness in verdicts if fitness.profile.name == name]
        label = name
        for answer in ("yes", "no", "not shown"):
            if same := [fitness.target for fitness in mine if fitness.answer == answer]:
                text = answer if len(targets) == 1 else f"{answer}: {', '.join(same)}"
                yield from grid.labelled(label, text, indent="", width=width)
                label = ""
    by_answer = [
        fitness for answer in ("no", "not shown", "yes") for fitness in verdicts if fitness.answer == answer
    ]
    worst = by_answer[0].profile.name
    reviews = dict.fromkeys(fitness.review for fitness in verdicts if fitness.profile.name == worst)
    yield f"why: {call('judge', *reviews, use=worst)}"


def as_data(verdicts: Iterable[Fitness]) -> list[dict[str, Any]]:
    """Return verdicts as data that JSON can hold: latencies in ns, rates in bytes a second."""
    return [_data(fitness) for fitness in verdicts]


def _data(fitness: Fitness) -> dict[str, Any]:
    return {
        "profile": fitness.profile.name,
        "use": fitness.profile.title,
        "target": fitness.path,
        "name": fitness.target,
        "drive": fitness.model,
        "review": fitness.review,
        "answer": fitness.answer,
        "sentence": sentence(fitness),
        "to_decide": remedy(fitness) or None,
        "caveat": fitness.profile.caveat or None,
        "warnings": [notice.model_dump(mode="json") for notice in fitness.warnings],
        "criteria": [_criterion_data(judged) for judged in fitness.criteria],
    }


def _criterion_data(judged: JudgedCriterion) -> dict[str, Any]:
    criterion, extent = judged.criterion, judged.extent
    return {
        "name": criterion.name,
        "outcome": judged.outcome.value,
        "reason": judged.ruling.reason or None,
        "warnings": [notice.code.value for notice in judged.warnings],
        "suite": criterion.suite,
        "series": criterion.series,
        "at": criterion.at,
        "quantity": criterion.quantity,
        "comparison": "at most" if criterion.upper else "at least",
        "limit": criterion.limit,
        "unit": unit_of(metric_of(criterion)),
        "source": criterion.source,
        "measured": None if judged.figure is None else _figure_data(judged.figure),
        "holds_to": extent and extent.holds,
        "ends_at": extent and extent.ends,
        "references": [
            {
                "drive": reference.drive,
                "kind": reference.kind,
                "source": reference.source,
                **_figure_data(reference.figure),
            }
            for reference in judged.references
        ],
    }


def _figure_data(figure: Figure) -> dict[str, Any]:
    return {
        "value": figure.value,
        "low": figure.low,
        "high": figure.high,
        "supported": figure.supported,
        "count": figure.count,
        "needed": figure.needed,
    }


def _short(value: float, unit: str) -> str:
    """Return a limit, or the end of a scale, with few digits.

    >>> _short(999_960, "ns"), _short(12_345, "ns"), _short(500, "IOPS"), _short(1e9, "B/s")
    ('1 ms', '12.3 us', '500 IOPS', '1,000 MB/s')
    """
    value = float(f"{value:.3g}")
    if unit == "IOPS":
        return f"{value:,.10g} IOPS"
    if unit == "B/s":
        return f"{value / 1e6:,.10g} MB/s"
    for size, name in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if value >= size:
            return f"{value / size:g} {name}"
    return f"{value:g} ns"
