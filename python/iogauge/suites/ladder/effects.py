"""What a ladder's rungs are worth: the effect of each on each figure, whether A/A differs, and what was published.

A rung is compared, block by block, with the rung that its plan names. The rungs are one family for each load and
figure: the chance that any of them is falsely said to change the figure is 5 %. The figures of A/A, stock against
itself, are a family of their own. A figure that a sample does not support is shown with its mark and establishes
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from iogauge.catalog.ladders import AGAIN, STOCK
from iogauge.catalog.published import Point
from iogauge.results.conclusions import Conclusions, EffectRow, Effects, TextTable
from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import StepPlan
from iogauge.stats.differences.comparison import FEWEST_BLOCKS
from iogauge.stats.differences.effects import Effect, effects
from iogauge.stats.differences.family import Blocks
from iogauge.stats.figures import StepFigures
from iogauge.text import numbers

PublishedOf = Callable[[StepPlan], tuple[Point, ...]]

QUANTILES = (0.5, 0.99, 0.999, 0.99999)
NS_IN_US = 1000
PUBLISHED = "  published"
"""The name of a row below that of its rung."""


@dataclass(frozen=True)
class LadderFigure:
    """One figure that rungs may change."""

    label: str
    published: str
    """The metric of published points."""
    q: float | None = None
    """The quantile of latency; None: the mean, or a rate."""
    rate: bool = False

    @property
    def unit(self) -> str:
        """The unit of its values."""
        return "IOPS" if self.rate else "us"

    def of(self, figures: StepFigures) -> tuple[float, bool] | None:
        """Return the value of a run or of several, and whether its sample supports it; None: nothing completed."""
        if self.rate:
            return figures.iops, True
        figure = figures.mean if self.q is None else figures.quantile(self.q)
        return None if figure is None else (figure.value / NS_IN_US, figure.supported)


FIGURES = (
    LadderFigure("mean", "lat_mean"),
    LadderFigure("p99", "lat_p99", 0.99),
    LadderFigure("p99.9", "lat_p99.9", 0.999),
    LadderFigure("p99.999", "lat_p99.999", 0.99999),
    LadderFigure("IOPS", "iops", rate=True),
)


@dataclass(frozen=True)
class Measured:
    """One figure of one load on all rungs, by the rung's name."""

    what: str
    """Such as ``mean read latency``."""
    figure: LadderFigure
    positions: Mapping[str, Position]
    published_of: PublishedOf

    @cached_property
    def blocks(self) -> dict[str, Blocks]:
        """The values of each rung by block."""
        return {
            name: {
                run.plan.repeat: value[0]
                for run in position.runs
                if (value := self.figure.of(run.figures)) is not None
            }
            for name, position in self.positions.items()
        }

    def supported(self, name: str) -> bool:
        """Return whether every run of a rung supports the figure."""
        values = (self.figure.of(run.figures) for run in self.positions[name].runs)
        return all(value is not None and value[1] for value in values)

    @property
    def pairs(self) -> dict[str, tuple[str, str]]:
        """The rung with which each measured one is compared, and the rung itself, by the rung's name."""
        against = {
            name: position.plan.rung.against
            for name, position in self.positions.items()
            if position.plan.rung is not None
        }
        return {name: (below, name) for name, below in against.items() if below in self.positions}

    def values(self, pairs: Iterable[tuple[str, str]]) -> dict[str, tuple[Blocks, Blocks]]:
        """Return the values of both sides of each pair, by the name of the second."""
        return {after: (self.blocks[before], self.blocks[after]) for before, after in pairs}

    def published(self, name: str) -> float | None:
        """Return the published value of a rung."""
        rows = self.published_of(self.positions[name].plan)
        return next((row.value for row in rows if row.metric == self.figure.published), None)

    @cached_property
    def effects(self) -> tuple[EffectRow, ...]:
        """The effect of each rung, A/A left out."""
        pairs = {name: pair for name, pair in self.pairs.items() if name != AGAIN}
        sure = {name for name, pair in pairs.items() if all(map(self.supported, pair))}
        measured = {
            **effects(self.values(pairs[name] for name in pairs if name not in sure)),
            **effects(self.values(pairs[name] for name in pairs if name in sure)),
        }
        return tuple(
            self.row(pairs[name], measured[name], supported=name in sure)
            for name in pairs
            if name in measured
        )

    def row(self, pair: tuple[str, str], effect: Effect, *, supported: bool) -> EffectRow:
        """Return the effect of the second of a pair, with the published one."""
        before, after = map(self.published, pair)
        return EffectRow(
            name=pair[1],
            against=pair[0],
            value=effect.value,
            low=effect.low,
            high=effect.high,
            established=supported and effect.established,
            supported=supported,
            published=None if before is None or after is None or pair[1] == AGAIN else after - before,
        )


def conclude(result: SuiteResult, published: PublishedOf, nouns: Mapping[str, str]) -> Conclusions:
    """Return the conclusions from a ladder's complete steps; ``nouns`` name a request of each series."""
    figures = [
        Measured(
            f"{figure.label} {nouns[series]} latency"
            if not figure.rate
            else f"{nouns[series]} {figure.label}",
            figure,
            {position.plan.label: position for position in positions},
            published,
        )
        for series, positions in result.by_series().items()
        for figure in FIGURES
    ]
    blocks = max((len(position.runs) for position in result.positions), default=0)
    by_series = [figures[at : at + len(FIGURES)] for at in range(0, len(figures), len(FIGURES))]
    return Conclusions(
        findings=tuple(_findings(figures, blocks=blocks)),
        tables=tuple(
            table
            for series, group in zip(result.by_series(), by_series, strict=True)
            for table in (*_effects_table(series, group), *_figures_table(series, group))
        ),
        effects=tuple(
            Effects(measured.what, measured.figure.unit, measured.effects)
            for measured in figures
            if measured.effects
        ),
        quantiles=QUANTILES,
    )


def _again(figures: Sequence[Measured]) -> dict[str, EffectRow]:
    """Return the effects of A/A on every figure that its samples support, by the figure's name."""
    rows = {
        measured.what: measured
        for measured in figures
        if {STOCK, AGAIN} <= set(measured.positions) and all(map(measured.supported, (STOCK, AGAIN)))
    }
    family = effects({what: (row.blocks[STOCK], row.blocks[AGAIN]) for what, row in rows.items()})
    return {what: rows[what].row((STOCK, AGAIN), effect, supported=True) for what, effect in family.items()}


def _findings(figures: Sequence[Measured], *, blocks: int) -> Iterator[str]:
    """Yield A/A first if stock differs from itself, then what rungs are worth; otherwise A/A last."""
    again = _again(figures)
    units = {measured.what: measured.figure.unit for measured in figures}
    differs = [f"{what} by {_text(row, units[what])}" for what, row in again.items() if row.established]
    if differs:
        yield f"A/A differs, so nothing below can be trusted: stock against itself changes {numbers.listed(differs)}"
    if not any(measured.effects for measured in figures):
        yield "no rung was measured beside stock"
    elif blocks < FEWEST_BLOCKS:
        yield f"no effect can be established in {numbers.counted(blocks, 'block')}: {FEWEST_BLOCKS} are the fewest"
    else:
        yield from filter(None, map(_worth, figures))
        unchanged = [measured.what for measured in figures if _is_unchanged(measured)]
        if unchanged:
            yield f"no rung is seen to change {numbers.listed(unchanged)}"
    if again and not differs:
        what, row = next(iter(again.items()))
        judged = "shows no difference" if blocks >= FEWEST_BLOCKS else "cannot be judged in so few blocks"
        yield f"A/A {judged}: stock against itself changes {what} by {_text(row, units[what])}"


def _worth(measured: Measured) -> str:
    """Return what rungs change of a figure, in a sentence; empty: none is seen to change it."""
    rows = [row for row in measured.effects if row.supported]
    worth = [row for row in rows if row.established]
    if not worth:
        return ""
    # "IOPS of read IOPS" says it twice.
    unit = "" if measured.figure.rate else measured.figure.unit
    texts = [f"{row.name} {_text(row, unit)}" for row in worth]
    texts[0] = texts[0].replace(worth[0].name, f"{worth[0].name} is worth", 1)
    others = "" if len(worth) == len(rows) else "; no other rung is seen to change it"
    return f"{numbers.listed(texts)} of {measured.what}{others}"


def _is_unchanged(measured: Measured) -> bool:
    rows = [row for row in measured.effects if row.supported]
    return bool(rows) and not any(row.established for row in rows)


def _text(row: EffectRow, unit: str) -> str:
    return numbers.change(row.value, row.low, row.high, f" {unit}".rstrip())


def _head(group: Sequence[Measured]) -> tuple[str, ...]:
    labels = (
        f"{figure.label}, us" if not figure.rate else figure.label for figure in (m.figure for m in group)
    )
    return ("rung", *labels)


def _effects_table(series: str, group: Sequence[Measured]) -> Iterator[TextTable]:
    """Yield the effects of each rung on each figure of a load, with the published ones below."""
    by_figure = [{row.name: row for row in measured.effects} for measured in group]
    rows: list[tuple[str, ...]] = []
    for name in by_figure[0]:
        effects_of_rung = [by_name.get(name) for by_name in by_figure]
        rows.append((name, *map(_cell, effects_of_rung)))
        if any(row is not None and row.published is not None for row in effects_of_rung):
            rows.append((PUBLISHED, *map(_published_cell, effects_of_rung)))
    if rows:
        below = {row.against for row in by_figure[0].values()}
        beside = "stock" if below == {STOCK} else "the rung below"
        yield TextTable(f"{series}: against {beside} (* established)", _head(group), tuple(rows))


def _cell(row: EffectRow | None) -> str:
    if row is None:
        return "-"
    mark = "*" if row.established else "" if row.supported else "~"
    return f"{mark}{numbers.change(row.value, row.low, row.high)}"


def _published_cell(row: EffectRow | None) -> str:
    if row is None or row.published is None:
        return "-"
    # The difference of two figures of at most two decimals.
    return f"{row.published:+,.4g}" if abs(row.published) < NS_IN_US else f"{row.published:+,.0f}"


def _figures_table(series: str, group: Sequence[Measured]) -> Iterator[TextTable]:
    """Yield the figures of each rung beside the published ones, where there are any."""
    rows: list[tuple[str, ...]] = []
    for name, position in group[0].positions.items():
        published = [measured.published(name) for measured in group]
        if name != AGAIN and any(value is not None for value in published):
            rows.append((name, *(_value(measured.figure, position) for measured in group)))
            rows.append(
                (PUBLISHED, *("-" if value is None else numbers.figure(value) for value in published))
            )
    if rows:
        yield TextTable(f"{series}: figures, and the published ones", _head(group), tuple(rows))


def _value(figure: LadderFigure, position: Position) -> str:
    value = figure.of(position.figures)
    return "-" if value is None else f"{'' if value[1] else '~'}{numbers.figure(value[0])}"
