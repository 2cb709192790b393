"""The strip of four to six key figures on the first screen: those that a verdict judges, a comparison's ratios, or each
suite's own.

This module returns plain text; the template escapes it and lays it out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from iogauge.comparison.findings import statements
from iogauge.comparison.wording import figure_name, place_text, times_text
from iogauge.report.page.comparison import PairPart
from iogauge.report.page.verdict import ends, judged, load_text
from iogauge.report.sections import Report
from iogauge.results.conclusions import SearchResult
from iogauge.results.figures import metric_text
from iogauge.results.position import Position, counts_requests
from iogauge.results.suite_result import SuiteResult
from iogauge.stats.figure import Figure
from iogauge.text import numbers
from iogauge.text.cells import cell
from iogauge.text.numbers import capitalised
from iogauge.verdicts.fitness import metric_of

FEWEST_FIGURES, MOST_FIGURES = 4, 6


@dataclass(frozen=True)
class KeyFigure:
    """One figure of the strip: its name, its value with unit, and its 95 % interval (empty: not known).

    A value that the sample does not support has a mark, and why in words.
    """

    name: str
    value: str
    interval: str = ""
    unsupported: str = ""


def key_figures(report: Report) -> tuple[KeyFigure, ...]:
    """Return the most important figures: those that a verdict judges, a comparison's ratios, or each suite's own."""
    figures = {figure.name: figure for figure in _judged(report)}
    if len(figures) < FEWEST_FIGURES:
        figures |= {figure.name: figure for figure in _own_figures(report)}
    return tuple(figures.values())[:MOST_FIGURES]


def _judged(report: Report) -> Iterator[KeyFigure]:
    """Yield what decides the verdict that the page leads with, of every target, then its other criteria."""
    if report.lead is None:
        return
    criteria = report.lead.profile.criterion
    first = criteria.index(report.lead.deciding.criterion)
    same = [fitness for fitness in report.verdicts if fitness.profile == report.lead.profile]
    places = [first, *(place for place in range(len(criteria)) if place != first)]
    for place in places:
        for fitness in same:
            judged = fitness.criteria[place]
            about = f"{fitness.target}: " if len(same) > 1 else ""
            name = f"{about}{judged.criterion.name}, {metric_text(metric_of(judged.criterion))}"
            if judged.figure is not None:
                yield _key_figure(name if about else capitalised(name), judged.figure)


def _own_figures(report: Report) -> tuple[KeyFigure, ...]:
    """Return the figures of a report without verdicts."""
    if any(pair.parts for pair in report.pairs):
        ratios = [list(_ratios(part, report)) for pair in report.pairs for part in pair.parts]
        figures = _in_turn(ratios, most=FEWEST_FIGURES)
        drives = report.sections[0].drives
        own = [list(_figures(drive, drive.label)) for drive in drives]
        # Each drive has as many figures of its own as the others.
        rounds = math.ceil(max(FEWEST_FIGURES - len(figures), 0) / len(drives))
        return (*figures, *_in_turn(own, most=rounds * len(drives)))[:MOST_FIGURES]
    if len(report.sections) == 1:
        return tuple(_figures(report.drives[0]))[:MOST_FIGURES]
    groups = [list(_figures(section.drives[0], section.plan.title)) for section in report.sections]
    return tuple(_in_turn(groups, most=min(max(FEWEST_FIGURES, len(groups)), MOST_FIGURES)))


def _in_turn(groups: Sequence[Sequence[KeyFigure]], *, most: int) -> list[KeyFigure]:
    return [figure for row in zip_longest(*groups) for figure in row if figure is not None][:most]


def _ratios(part: PairPart, report: Report) -> Iterator[KeyFigure]:
    """Yield the ratios that a comparison's findings are about, each with what is divided by what: the greater first."""
    about = f"{part.compared.title}: " if len(report.sections) > 1 else ""
    sides = [side.name for side in (part.compared.after, part.compared.before)]
    if len(set(names := [name.partition(", model")[0] for name in sides])) == len(sides):
        sides = names
    pairs = chain.from_iterable(statement.evidence[:1] for statement in statements(part.compared))
    for pair in dict.fromkeys(pairs):
        value, _, bounds = times_text(pair).partition(" ")
        divided = " / ".join(reversed(sides) if pair.falls else sides)
        name = f"{figure_name(pair)}, {place_text(pair)}, {divided}"
        yield KeyFigure(f"{about}{name}" if about else capitalised(name), value, bounds[1:-1])


def _figures(drive: SuiteResult, title: str = "") -> Iterator[KeyFigure]:
    """Yield the key figures of one suite on one drive, the most important first. ``title`` begins their names."""
    measured = [
        (position, position.figures) for position in drive.positions if position.figures.mean is not None
    ]
    if not measured:
        return
    about = f"{title}: " if title else ""
    if search := drive.conclusions.search:
        yield from _found(drive, search, about)
        return
    if drive.along_pressure:
        (_, least), (_, most) = ends(measured)
        for statistic in judged(least, most):
            for figures in (most,) if least is most else (most, least):
                estimate = statistic.of(figures)
                if estimate is not None:
                    yield _key_figure(f"{about}{statistic.label} {load_text(figures)}", estimate)
        yield _key_figure(f"{about}Most writes", most.pressure_figure)
        return
    if drive.is_table and not title:
        yield from _of_table([position for position, _ in measured])
        return
    best = drive.leading or measured[0][0]
    in_requests = counts_requests([best.figures])
    rate = best.figures.iops_figure if in_requests else best.figures.rate_figure
    yield _key_figure(f"{about}{best.name}" if about else f"Most, {best.name}", rate)
    for position in list(dict.fromkeys((measured[0][0], best, measured[-1][0])))[:2]:
        for statistic in judged(position.figures, position.figures):
            estimate = statistic.of(position.figures)
            if estimate is not None:
                yield _key_figure(f"{about}{statistic.label}, {position.name}", estimate)


def _of_table(rows: Sequence[Position]) -> Iterator[KeyFigure]:
    """Yield the highest rates of large and of small requests, then latencies: of the row that answers first, and of the
    one with the highest rate.
    """
    small = [row for row in rows if counts_requests([row.figures])]
    large = [row for row in rows if row not in small]
    best = [max(kind, key=lambda row: row.figures.rate_Bps) for kind in (large, small) if kind]
    for row in best:
        rate = row.figures.iops_figure if row in small else row.figures.rate_figure
        yield _key_figure(f"Most, {row.name}", rate)
    fastest = min(rows, key=lambda row: row.figures.mean.value if row.figures.mean else math.inf)
    for row in dict.fromkeys((fastest, *reversed(best))):
        for statistic in judged(row.figures, row.figures):
            estimate = statistic.of(row.figures)
            if estimate is not None:
                yield _key_figure(f"{statistic.label}, {row.name}", estimate)


def _found(drive: SuiteResult, search: SearchResult, about: str) -> Iterator[KeyFigure]:
    """Yield the load at which limits end, the highest load kept and the lowest missed, and what was served."""
    axis, goal = drive.plan.axis, drive.plan.goal
    assert goal is not None  # every search has one
    kept, missed = search.holds, search.breaks
    if search.estimate is not None:
        ends = [
            f"{name} {numbers.position(at)}"
            for name, at in (("kept", kept), ("missed", missed))
            if at is not None
        ]
        estimate = numbers.placed(numbers.three_digits(search.estimate), axis.unit)
        yield KeyFigure(f"{about}Limit, estimated", estimate, ", ".join(ends))
    for name, at in (("Kept", kept), ("Missed", missed)):
        deciding = next((load for load in search.deciding if load.at == at), None)
        if at is None or deciding is None:
            continue
        for limit, figure in zip(goal.limits, deciding.latencies, strict=True):
            if figure is not None:
                yield _key_figure(f"{about}{name} at {numbers.placed(at, axis.unit)}: {limit.figure}", figure)
    if search.most is not None:
        yield _key_figure(f"{about}Most served, limit kept", search.most)


def _key_figure(name: str, figure: Figure) -> KeyFigure:
    own = cell(figure, shown=figure.with_unit)
    return KeyFigure(name, numbers.mark(figure) + own.text, own.interval, own.unsupported)
