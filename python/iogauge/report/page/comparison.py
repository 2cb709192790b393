"""A comparison on the page: sentences with their evidence, forest plots, and every ratio in a table.

The first part lists what differs besides the drives: machine, system, firmware, versions, pace. Such a difference may
explain the figures as well as the drives do.

``comparison`` compares. This module returns plain text and the anchors of links; the template escapes it and lays it
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from iogauge.comparison import text as compare_text
from iogauge.comparison import versus_published_text
from iogauge.comparison.basis import basis
from iogauge.comparison.findings import Statement, statements
from iogauge.comparison.machines import HEAD as SETTINGS_HEAD
from iogauge.comparison.machines import MachineComparison
from iogauge.comparison.pairwise import FigurePair, SuiteComparison
from iogauge.comparison.sides import Differences
from iogauge.comparison.versus_published import VersusPublished, nearest
from iogauge.comparison.wording import place_text
from iogauge.report.charts.forest import forest_charts
from iogauge.report.charts.specification import Chart
from iogauge.report.page.facts import environment, provenance
from iogauge.report.page.verdict import REMARK, Sentence, shown_effect
from iogauge.results.conclusions import TextTable
from iogauge.results.figures import metric_text
from iogauge.results.suite_result import SuiteResult
from iogauge.text.cells import sentence_of
from iogauge.text.numbers import capitalised

_SETUP = (
    "Kind",
    "Drive",
    "Behind",
    "Size",
    "Model",
    "Firmware",
    "Device",
    "Filesystem",
    "Logical / physical block",
    "Rotating",
    "Scheduler",
    "Write cache",
    "State before",
    "Host",
    "Processor",
    "CPUs",
    "Memory",
    "Kernel",
    "Virtual",
    "Clocksource",
    "Governor",
    "Timestamps",
    "Pace",
    "Repeats",
    "Drive's state",
    "Versions",
    "Commit",
)
"""The facts of a drive and its review that may explain a difference, without names and times, which always differ."""


@dataclass(frozen=True)
class RatioRow:
    """One row of the table of ratios: its cells in the order of ``compare_text.HEAD``, and its anchor."""

    anchor: str
    cells: tuple[str, ...]
    apart: bool


@dataclass(frozen=True)
class PairPart:
    """One pair of drives in one suite."""

    compared: SuiteComparison
    name: str
    """A unique name for links and files."""
    places: tuple[int, int]
    """The indices of A and B among the suite's drives, which decide their colours."""

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """The findings, each with links to its rows of the table."""
        return tuple(
            Sentence(
                sentence_of(statement.text), tuple(map(self._link, statement.evidence)), _effect(statement)
            )
            for statement in statements(self.compared)
        )

    @cached_property
    def charts(self) -> tuple[Chart, ...]:
        """A forest plot for each series."""
        return forest_charts(self.compared, name=self.name, places=self.places)

    @property
    def rows(self) -> dict[str, tuple[RatioRow, ...]]:
        """Every ratio by series; the ratios of the series as a whole come last."""
        return {
            series: tuple(
                RatioRow(self._anchor(pair), tuple(compare_text.cells(self.compared, pair)), pair.clear)
                for pair in (
                    *figures,
                    *self.compared.overall_of(series),
                )
            )
            for series, figures in self.compared.by_series().items()
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes under the table."""
        return tuple(map(sentence_of, compare_text.notes((self.compared,))))

    def _anchor(self, pair: FigurePair) -> str:
        figures = (*self.compared.figures, *self.compared.overall)
        return f"{self.name}-row-{figures.index(pair)}"

    def _link(self, pair: FigurePair) -> tuple[str, str]:
        return self._anchor(pair), f"{place_text(pair)}, {metric_text(pair.metric)}"


@dataclass(frozen=True)
class Pair:
    """Two drives in all their suites: A is ``before``, B is ``after``."""

    before: str
    after: str
    parts: tuple[PairPart, ...]
    missed: tuple[str, ...]
    """Why suites could not be compared."""
    machines: MachineComparison | None = None
    """The settings that differ; None: they are not known."""

    @property
    def settings(self) -> TextTable:
        """The settings that differ, those that change latency most first."""
        rows = self.machines.rows if self.machines else []
        return TextTable("Settings that differ", SETTINGS_HEAD, tuple(rows))

    @property
    def on_settings(self) -> tuple[str, ...]:
        """What the settings that differ are, and how many could not be compared, a sentence each."""
        if self.machines is None:
            return ()
        return tuple(map(sentence_of, (self.machines.answer, *self.machines.notes)))


@dataclass(frozen=True)
class PublishedPart:
    """One drive compared with published figures: sentences, and a table for each load."""

    name: str
    sentences: tuple[Sentence, ...]
    loads: tuple[tuple[str, str, tuple[tuple[str, ...], ...]], ...]
    """For each load: its text, the anchor of the measured step, and rows of cells in the order of the table's head."""


def _effect(statement: Statement) -> float:
    """Return how large a difference the statement shows at least; less than nothing if none is established."""
    return max((shown_effect(pair.ratio) for pair in statement.evidence if pair.clear), default=REMARK / 2)


def pairs(differences: Differences, drives: Sequence[SuiteResult]) -> tuple[Pair, ...]:
    """Return the pairs of a comparison with their suites. ``drives`` are all drives of the page."""
    suites: dict[str, list[str]] = {}
    for drive in drives:
        suites.setdefault(drive.plan.suite, []).append(drive.label)
    return tuple(
        Pair(
            before,
            after,
            tuple(_part(suite, suites[suite.suite], number) for suite in compared if suite.figures),
            tuple(
                f"{capitalised(reason)}."
                for suite in compared
                if not suite.figures
                for reason in basis(suite)
            ),
            differences.machines_of(before, after),
        )
        for number, ((before, after), compared) in enumerate(differences.by_pair().items(), 1)
    )


def _part(compared: SuiteComparison, labels: Sequence[str], number: int) -> PairPart:
    places = (labels.index(compared.before.name), labels.index(compared.after.name))
    return PairPart(compared, f"compared-{number}-{compared.suite}", places)


def published_part(drive: VersusPublished) -> PublishedPart:
    """Return the comparison of a drive with published figures, as text for the page."""
    loads = tuple(
        (
            load,
            figures[0].anchor,
            tuple(tuple(versus_published_text.cells(figure)) for figure in figures),
        )
        for load, figures in drive.by_load().items()
    )
    evidence = (("published", "published figures"),)
    sentences = tuple(Sentence(sentence_of(text), evidence) for text in nearest(drive))
    return PublishedPart(drive.name, sentences, loads)


def differing_facts(tested: Mapping[str, Sequence[SuiteResult]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return the facts that differ between the drives: a term, and its value for each; none for a single drive."""
    facts = [dict(_facts(drives[0])) for drives in tested.values()]
    return tuple(
        (term, values)
        for term in _SETUP
        for values in (tuple(terms.get(term, "–") for terms in facts),)
        if len(set(values)) > 1
    )


def _facts(drive: SuiteResult) -> Iterator[tuple[str, str]]:
    yield from (fact for _, facts in environment(drive) for fact in facts)
    yield from provenance(drive)
