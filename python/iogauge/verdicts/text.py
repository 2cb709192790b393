"""A verdict in words: one sentence, lines for a terminal, and data for JSON. The sentence comes first everywhere."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from iogauge.results.figures import unit_of
from iogauge.results.names import short_name
from iogauge.stats.figure import Figure, written
from iogauge.stats.limits import Outcome
from iogauge.text import grid, numbers
from iogauge.text.option import call
from iogauge.verdicts.fitness import Fitness, JudgedCriterion, metric_of

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
    first, *more = fitness.of(Outcome.NOT_SHOWN, Outcome.NOT_MEASURED)
    others = f"; {len(more)} more undecided" if more else ""
    return (
        f"{target}: not shown whether it is fit for {use}: {first.criterion.name}, {measured(first)}{others}"
    )


def limit_text(judged: JudgedCriterion) -> str:
    """Return a criterion's limit, such as ``at most 1 ms``."""
    criterion = judged.criterion
    unit = unit_of(metric_of(criterion))
    return f"{'at most' if criterion.upper else 'at least'} {_short(criterion.limit, unit)}"


def measured(judged: JudgedCriterion) -> str:
    """Return what is asked, what was measured, and why that is undecided or what decides it."""
    return f"{_asked(judged)}: {_shown(judged)}"


def _asked(judged: JudgedCriterion) -> str:
    quantity = judged.criterion.quantity
    return limit_text(judged) if quantity in ("iops", "rate") else f"{quantity} {limit_text(judged)}"


def _shown(judged: JudgedCriterion) -> str:
    if judged.figure is None:
        return "not measured"
    text = figure_text(judged.figure)
    if judged.ruling.by is not None:
        return (
            f"{text}; even a lower quantile is above {_written(judged.ruling.by.low or 0, judged.ruling.by)}"
        )
    return f"{text}, {judged.ruling.reason}" if judged.ruling.reason else text


def figure_text(figure: Figure) -> str:
    """Return a figure with its interval."""
    return str(figure)


def extent_text(judged: JudgedCriterion) -> str:
    """Say how far along its axis a criterion holds; empty if it is not about that."""
    extent = judged.extent
    if extent is None:
        return ""
    if extent.holds is None:
        return ""
    holds = f"holds to {numbers.placed(extent.holds, extent.unit)}"
    if extent.ends is None:
        return f"{holds}, the most that was measured"
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
    lengths_s = [
        judged.runtime_s * judged.ruling.longer * SPARE for judged in undecided if judged.ruling.longer
    ]
    if len(lengths_s) < len(undecided):
        return f"measure again, several times: {call('review', fitness.path, use=use, repeats=5)}"
    if (longest_s := max(lengths_s)) > LONGEST_S:
        return "the figure is so near its limit that an hour a step would not decide"
    again = call("review", fitness.path, use=use, runtime=f"{math.ceil(longest_s)}s")
    return f"run each step for about {numbers.clock_time(longest_s)}: {again}"


def scale(judged: JudgedCriterion) -> str:
    """Return figure, interval, limit and references on one logarithmic scale, with its ends; empty without a figure.

    ``*`` is the figure, ``=`` its interval, ``o`` a reference, ``|`` the limit.
    """
    figure = judged.figure
    if figure is None:
        return ""
    limit = judged.criterion.limit
    bounds = [bound for bound in (figure.low, figure.high) if bound is not None and bound > 0]
    others = [reference.figure.value for reference in judged.references if reference.figure.value > 0]
    values = [limit, *([figure.value] if figure.value > 0 else []), *bounds, *others]
    low, high = min(values) / 1.2, max(values) * 1.2
    places = ["."] * SCALE

    def place(value: float) -> int:
        return round((SCALE - 1) * math.log(value / low) / math.log(high / low))

    if len(bounds) == 2:
        for column in range(place(bounds[0]), place(bounds[1]) + 1):
            places[column] = "="
    for value in others:
        places[place(value)] = "o"
    places[place(limit)] = "|"
    if figure.value > 0:
        places[place(figure.value)] = "*"
    return f"{''.join(places)}  {_short(low, figure.unit)} to {_short(high, figure.unit)}"


def lines(verdicts: Sequence[Fitness]) -> Iterator[str]:
    """Yield the verdicts for one use, for a terminal: the answers, each criterion with all targets, the remedies."""
    profile = verdicts[0].profile
    for fitness in verdicts:
        yield from grid.labelled("", sentence(fitness), indent="", width=0)
    if full := [model for model in dict.fromkeys(fitness.model for fitness in verdicts) if " " in model]:
        yield from grid.labelled("tested:", ", ".join(full), indent="", width=8)
    for number, criterion in enumerate(profile.criterion):
        yield ""
        same = [(fitness.target, fitness.criteria[number]) for fitness in verdicts]
        yield from grid.labelled("", f"{criterion.name}: {_asked(same[0][1])}", indent="", width=0)
        for target, judged in same:
            yield from _rows(judged, target if len(same) > 1 else "")
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
    if len(verdicts) == 1:
        yield ""
        worst_first = (Outcome.MISSED, Outcome.NOT_MEASURED, Outcome.NOT_SHOWN, Outcome.MET)
        for judged in (judged for outcome in worst_first for judged in verdicts[0].of(outcome)):
            text = f"{judged.criterion.name}, {_asked(judged)}: {_shown(judged)}"
            yield from grid.labelled(judged.outcome.value, text, indent="", width=14)
    for more in dict.fromkeys(filter(None, map(remedy, verdicts))):
        yield from grid.labelled("to decide:", more, indent="", width=14)
    if caveat := verdicts[0].profile.caveat:
        yield from grid.labelled("note:", caveat, indent="", width=14)


def _rows(judged: JudgedCriterion, target: str) -> Iterator[str]:
    """Yield what one target's figure says of a criterion, and the scale."""
    parts = [f"{target}: " if target else "", _shown(judged)]
    if extent := extent_text(judged):
        parts.append(f"; {extent}")
    yield from grid.labelled(judged.outcome.value, "".join(parts), width=14)
    if drawn := scale(judged):
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
    elif len({(fitness.path, fitness.model) for fitness in verdicts}) == 1:
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
        "criteria": [_criterion_data(judged) for judged in fitness.criteria],
    }


def _criterion_data(judged: JudgedCriterion) -> dict[str, Any]:
    criterion, extent = judged.criterion, judged.extent
    return {
        "name": criterion.name,
        "outcome": judged.outcome.value,
        "reason": judged.ruling.reason or None,
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


def _written(value: float, figure: Figure) -> str:
    text = written(value, figure.unit)
    return f"{text} IOPS" if figure.unit == "IOPS" else text


def _short(value: float, unit: str) -> str:
    """Return a limit, or the end of a scale, with few digits.

    >>> _short(1e6, "ns"), _short(12_345, "ns"), _short(500, "IOPS"), _short(1e9, "B/s")
    ('1 ms', '12.3 us', '500 IOPS', '1,000 MB/s')
    """
    if unit == "IOPS":
        return f"{float(f'{value:.3g}'):,.10g} IOPS"
    if unit == "B/s":
        return f"{float(f'{value / 1e6:.3g}'):,.10g} MB/s"
    for size, name in ((10**9, "s"), (10**6, "ms"), (10**3, "us")):
        if value >= size:
            return f"{float(f'{value / size:.3g}'):g} {name}"
    return f"{value:.3g} ns"
