"""What the results of one target say about a profile: each criterion judged, and the answer that follows.

The answer is yes if all criteria are met, no if any is surely missed, and otherwise not shown. Nothing here reads a
file but through the results, and nothing is printed.

A criterion is judged at one position of a suite. If it is ``along``, the verdict also says how far it holds: to the
largest position up to which every measured one meets it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from iogauge import catalog
from iogauge.catalog.profiles import Criterion, Profile
from iogauge.catalog.references import modelled_figures
from iogauge.machine.warnings import CHANGES, in_few_words
from iogauge.results.figures import IOPS, MEAN, RATE, figure_of, quantile_metric, unit_of
from iogauge.results.names import in_sentence, short_name
from iogauge.results.position import Position
from iogauge.results.published import drive_alone, published_rows, source_text
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Code, Notice
from iogauge.stats.figure import Figure
from iogauge.stats.limits import Outcome, Ruling, lower_quantiles, rule
from iogauge.workload.numbers import SECOND

Answer = Literal["yes", "no", "not shown"]

SLOWED_BY = frozenset({Code.BUSY_TARGET, Code.GENERATOR_LIMITED, Code.STALLED})
"""Warnings of what makes a drive look slower than it is: a limit that is missed meanwhile may be met without."""
RARE = 0.99
"""Means and rates are judged like this quantile: stalls of a smaller share of the requests change little."""


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The same figure of another drive, for scale; it decides nothing."""

    drive: str
    """The drive's short name."""
    figure: Figure
    source: str
    """The review, the publication, or the model with its version."""
    kind: Literal["reviewed", "modelled", "published"] = "reviewed"
    """Where it comes from. A published one is a single value, without an interval."""


@dataclass(frozen=True, kw_only=True)
class Extent:
    """How far along its axis a criterion holds."""

    holds: float | None
    """The largest position up to which every measured one meets it; None: not even the first."""
    ends: float | None
    """The next measured position, where it is missed or not shown; None: it holds to the last one."""
    missed: bool
    """Whether it is surely missed there."""
    unit: str


@dataclass(frozen=True, kw_only=True)
class JudgedCriterion:
    """One criterion with what was measured."""

    criterion: Criterion
    ruling: Ruling
    figure: Figure | None = None
    """The measured figure; None if there is none."""
    runtime_s: float = 0.0
    """The planned length of its step; 0 if it was not measured."""
    extent: Extent | None = None
    references: tuple[Reference, ...] = ()
    warnings: tuple[Notice, ...] = ()
    """The warnings that change what its figure means, the gravest first."""
    slowed_by: Notice | None = None
    """Why it is not shown although the figure misses the limit."""

    @property
    def outcome(self) -> Outcome:
        """Whether it is met."""
        return self.ruling.outcome

    @property
    def slack(self) -> float:
        """How many times the end of the interval may grow, or shrink, until it reaches the limit; infinite if open."""
        upper = self.criterion.upper
        bound = None if self.figure is None else self.figure.high if upper else self.figure.low
        if not bound:
            return math.inf
        return self.criterion.limit / bound if upper else bound / self.criterion.limit


@dataclass(frozen=True, kw_only=True)
class Fitness:
    """The verdict on one target for one use."""

    profile: Profile
    target: str
    """The target's short name for people."""
    model: str
    """The full name of its drive, or its path."""
    path: str
    """The target itself, as a command names it."""
    review: str
    """The review's directory."""
    criteria: tuple[JudgedCriterion, ...]
    identity: str = ""
    """What tells its drive from those of other reviews."""
    warnings: tuple[Notice, ...] = ()
    """The warnings that change what its figures mean, the gravest first."""

    @cached_property
    def answer(self) -> Answer:
        """Whether the target is good enough."""
        outcomes = {judged.outcome for judged in self.criteria}
        if Outcome.MISSED in outcomes:
            return "no"
        return "yes" if outcomes == {Outcome.MET} else "not shown"

    @property
    def deciding(self) -> JudgedCriterion:
        """The criterion that decides: the first missed one, else the first undecided one, else the tightest."""
        undecided = self.of(Outcome.NOT_SHOWN, Outcome.NOT_MEASURED)
        tightest = min(self.criteria, key=lambda judged: judged.slack)
        return next(iter((*self.of(Outcome.MISSED), *undecided)), tightest)

    @property
    def measured(self) -> int:
        """The number of its criteria that were measured."""
        return len(self.criteria) - len(self.of(Outcome.NOT_MEASURED))

    def of(self, *outcomes: Outcome) -> tuple[JudgedCriterion, ...]:
        """Return the criteria with one of these outcomes."""
        return tuple(judged for judged in self.criteria if judged.outcome in outcomes)


def fitness_of(results: Iterable[SuiteResult], profile: Profile) -> tuple[Fitness, ...]:
    """Return the verdict on each target of each review; the targets are references for each other.

    ``results`` are those of one or several reviews, as ``results.review.load`` returns them.
    """
    by_target: dict[tuple[str, str], list[SuiteResult]] = {}
    for result in results:
        # What several targets did at once says nothing of one alone.
        if len(result.plan.targets) == 1 and not result.plan.prepares:
            by_target.setdefault((str(result.path), result.plan.targets[0]), []).append(result)
    return tuple(
        _fitness(profile, mine, [other for other in by_target.values() if other is not mine])
        for mine in by_target.values()
    )


def best_measured(verdicts: Iterable[Fitness]) -> tuple[Fitness, ...]:
    """Return the verdicts of which something was measured; of a drive and a use, those with the most criteria.

    So reviews of one drive that were made for different uses each answer for their own.
    """
    most: dict[tuple[str, str], int] = {}
    verdicts = tuple(verdicts)
    for fitness in verdicts:
        key = fitness.profile.name, fitness.identity
        most[key] = max(most.get(key, 1), fitness.measured)
    return tuple(
        fitness for fitness in verdicts if fitness.measured == most[fitness.profile.name, fitness.identity]
    )


def metric_of(criterion: Criterion) -> str:
    """Return the metric of a criterion's quantity, as ``results.figures`` names it."""
    if criterion.q is not None:
        return quantile_metric(criterion.q)
    return {"mean": MEAN, "iops": IOPS, "rate": RATE}[criterion.quantity]


def _fitness(
    profile: Profile, mine: Sequence[SuiteResult], others: Sequence[Sequence[SuiteResult]]
) -> Fitness:
    first, target = mine[0], mine[0].target
    criteria = tuple(_judged(criterion, mine, others) for criterion in profile.criterion)
    notices = [*first.manifest.warnings, *(notice for judged in criteria for notice in judged.warnings)]
    return Fitness(
        profile=profile,
        target=in_sentence(first.label) or target.path,
        model=target.model or target.path,
        path=target.path,
        review=str(first.path),
        criteria=criteria,
        identity=_identity(first),
        warnings=_gravest_first(notices),
    )


def _identity(result: SuiteResult) -> str:
    """Return what tells a target from those of other reviews: a path alone may be another drive on another host."""
    target = result.target
    where = "" if target.modelled else target.serial or result.manifest.machine.hostname
    return " ".join(filter(None, (where, target.model, target.path)))


def _judged(
    criterion: Criterion, mine: Sequence[SuiteResult], others: Sequence[Sequence[SuiteResult]]
) -> JudgedCriterion:
    own = {results[0].target.modelled and results[0].target.model for results in (mine, *others)}
    positions = _series(criterion, mine)
    position = next((place for place in positions if place.at == criterion.at), None)
    measured = None if position is None else _ruled(criterion, position)
    if position is None or measured is None:
        return JudgedCriterion(
            criterion=criterion,
            ruling=Ruling(Outcome.NOT_MEASURED),
            references=(*_reviewed(criterion, others), *_modelled(criterion, own)),
        )
    figure, ruling, slowed_by = measured
    return JudgedCriterion(
        criterion=criterion,
        ruling=ruling,
        figure=figure,
        runtime_s=position.suite.runtime_ns / SECOND,
        extent=_extent(criterion, positions) if criterion.along else None,
        references=(
            *_reviewed(criterion, others),
            *_modelled(criterion, own),
            *_published(criterion, position),
        ),
        warnings=_warnings(criterion, position),
        slowed_by=slowed_by,
    )


def _series(criterion: Criterion, results: Iterable[SuiteResult]) -> list[Position]:
    """Return the measured positions of a criterion's series, along the axis."""
    return sorted(
        (
            position
            for result in results
            if result.plan.suite == criterion.suite
            for position in result.positions
            if position.series == criterion.series
        ),
        key=lambda position: position.at,
    )


def _ruled(criterion: Criterion, position: Position) -> tuple[Figure, Ruling, Notice | None] | None:
    """Return the figure at a position, its ruling, and why a miss shows nothing; None: there is no such figure."""
    figure = _figure(criterion, position)
    if figure is None:
        return None
    lower = lower_quantiles(criterion.q, position.figures.quantile)
    ruling = rule(figure, criterion.limit, upper=criterion.upper, lower=lower)
    slowed_by = next((notice for notice in _warnings(criterion, position) if notice.code in SLOWED_BY), None)
    if ruling.outcome is not Outcome.MISSED or slowed_by is None:
        return figure, ruling, None
    return (
        figure,
        Ruling(Outcome.NOT_SHOWN, f"beyond the limit, but {in_few_words(slowed_by)}"),
        slowed_by,
    )


def _figure(criterion: Criterion, position: Position) -> Figure | None:
    return figure_of(position.figures, metric_of(criterion), criterion.q)


def _warnings(criterion: Criterion, position: Position) -> tuple[Notice, ...]:
    """Return the warnings that change what a figure means. Stalls do where they may be the whole tail beyond it."""
    figures = position.figures
    in_tail = figures.flagged >= (1 - (criterion.q or RARE)) * figures.ios
    return _gravest_first(
        notice for notice in position.warnings if in_tail or notice.code is not Code.STALLED
    )


def _gravest_first(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    """Return the notices that change an answer, each once."""
    order = [*CHANGES]
    changing = dict.fromkeys(notice for notice in notices if notice.code in CHANGES)
    return tuple(sorted(changing, key=lambda notice: order.index(notice.code)))


def _extent(criterion: Criterion, positions: Iterable[Position]) -> Extent | None:
    holds: float | None = None
    unit = ""
    for position in positions:
        unit = position.suite.axis.unit
        measured = _ruled(criterion, position)
        if measured is None or measured[1].outcome is not Outcome.MET:
            missed = measured is not None and measured[1].outcome is Outcome.MISSED
            return Extent(holds=holds, ends=position.at, missed=missed, unit=unit)
        holds = position.at
    return Extent(holds=holds, ends=None, missed=False, unit=unit)


def _reviewed(criterion: Criterion, others: Iterable[Sequence[SuiteResult]]) -> Iterable[Reference]:
    """Yield the same figure of the other targets."""
    for results in others:
        for position in _series(criterion, results):
            if position.at == criterion.at and (figure := _figure(criterion, position)):
                drive = in_sentence(results[0].label)
                yield Reference(drive=drive, figure=figure, source=str(results[0].path))


def _modelled(criterion: Criterion, judged: Collection[object]) -> Iterable[Reference]:
    """Yield the figures of drive models, the best first, without those of the models that are ``judged`` themselves."""
    metric = metric_of(criterion)
    rows = [
        row
        for row in modelled_figures()
        if (row.suite, row.series, row.at, row.metric)
        == (criterion.suite, criterion.series, criterion.at, metric)
    ]
    for row in sorted(rows, key=lambda row: row.value, reverse=not criterion.upper):
        if (title := catalog.drive(row.model).title) not in judged:
            figure = Figure(
                row.value,
                row.low,
                row.high,
                supported=row.supported,
                long_enough=row.long_enough,
                unit=unit_of(metric),
            )
            source = f"model:{row.model}, version {row.version}"
            yield Reference(drive=short_name(title), figure=figure, source=source, kind="modelled")


def _published(criterion: Criterion, position: Position) -> Iterable[Reference]:
    """Yield the published figures of the same load, each drive once."""
    metric = metric_of(criterion)
    rows = {
        drive_alone(row.drive): row
        for row in published_rows(position.plan, position.suite)
        if row.metric == metric
    }
    for drive, row in rows.items():
        yield Reference(
            drive=short_name(drive),
            figure=Figure(row.value, unit=unit_of(metric)),
            source=source_text(row.source),
            kind="published",
        )
