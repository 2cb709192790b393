"""The content of a report of saved reviews: a section for each suite, with its charts, tables and sentences.

The page (``page``), the pictures (``export.py``) and the Markdown (``markdown.py``) are written from it. It reads the
store alone. The caller passes the function that makes a suite's conclusions, so this module needs no suite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from iogauge.comparison.published_rows import PublishedRow, published_table
from iogauge.comparison.sides import Differences, differences, loaded
from iogauge.report.charts.conclusions import conclusion_charts
from iogauge.report.charts.explained import explained_chart
from iogauge.report.charts.latency_parts import latency_parts_chart
from iogauge.report.charts.over_time.heat import heat_chart
from iogauge.report.charts.over_time.lines import time_chart
from iogauge.report.charts.overview import overview_chart
from iogauge.report.charts.percentiles import percentile_chart
from iogauge.report.charts.pressure import pressure_chart, staircase_chart
from iogauge.report.charts.rows import rows_chart
from iogauge.report.charts.search import search_chart
from iogauge.report.charts.specification import Chart
from iogauge.report.charts.sweep import sweep_charts
from iogauge.report.machine import MachinePart
from iogauge.report.page.comparison import (
    Pair,
    PairPart,
    PublishedPart,
    differing_facts,
    pairs,
    published_part,
)
from iogauge.report.page.verdict import Verdict, verdict
from iogauge.results.conclusions import TextTable
from iogauge.results.machine import ReviewMachine
from iogauge.results.names import shorten_labels
from iogauge.results.reported import summary_table
from iogauge.results.review import Conclude, OnProgress, no_conclusions, no_progress
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import SuitePlan
from iogauge.stats.differences.comparison import MARGIN
from iogauge.verdicts.fitness import Fitness


@dataclass(frozen=True)
class Part:
    """The part of a section on one drive. Charts are made when they are first read: a text report has none."""

    drive: SuiteResult
    number: int
    """The number of the drive in its section, from 1."""

    @cached_property
    def verdict(self) -> Verdict:
        """The findings."""
        return verdict(self.drive, self.drive.conclusions.findings, reported=self.reported is not None)

    @cached_property
    def reported(self) -> TextTable | None:
        """The figures that another program reported without samples."""
        return summary_table(self.drive.path, self.drive.manifest.plans, self.drive.plan)

    @property
    def tables(self) -> tuple[TextTable, ...]:
        """The tables and matrices of the suite's conclusions, and the figures reported without samples."""
        conclusions, reported = self.drive.conclusions, (self.reported,) if self.reported else ()
        return (*conclusions.tables, *(matrix.table for matrix in conclusions.matrices), *reported)

    @cached_property
    def concluded(self) -> tuple[Chart, ...]:
        """The charts of the suite's conclusions."""
        return conclusion_charts(self.drive, self.drive.conclusions, name=self.drive.slug)

    @cached_property
    def explained(self) -> tuple[Chart, ...]:
        """The chart of where the time of a modelled drive's requests went; none for real drives."""
        steps = self.drive.explained
        if not steps:
            return ()
        chart = explained_chart(
            {step.name: step.bars for step in steps},
            title=self.drive.label,
            order=list(dict.fromkeys(part.name for step in steps for part in step.order)),
            name=f"{self.drive.plan.suite}-explained-{self.number}",
            chosen="Step",
            everything="all steps",
        )
        return (chart,)

    @cached_property
    def over_time(self) -> tuple[Chart, ...]:
        """The charts of the drive's latency and throughput over time, and of the parts of its latency."""
        suite = self.drive.plan.suite
        heat = heat_chart(self.drive, name=f"{suite}-heat-{self.number}")
        time = time_chart(self.drive, name=f"{suite}-over-time-{self.number}")
        parts = latency_parts_chart(self.drive, name=f"{suite}-latency-parts-{self.number}")
        return tuple(chart for chart in (time, heat, parts) if chart)


@dataclass(frozen=True)
class Section:
    """One suite on all drives that it tested."""

    parts: tuple[Part, ...]
    compared: tuple[PairPart, ...] = ()
    """The comparisons of its drives, pair by pair."""

    @property
    def drives(self) -> tuple[SuiteResult, ...]:
        """The drives that it tested."""
        return tuple(part.drive for part in self.parts)

    @property
    def plan(self) -> SuitePlan:
        """The suite's plan for the first drive."""
        return self.parts[0].drive.plan

    @cached_property
    def published_rows(self) -> tuple[PublishedRow, ...]:
        """Published figures of the same loads."""
        return published_table(self.drives)

    @cached_property
    def along(self) -> tuple[Chart, ...]:
        """The charts along the suite's axis: one, or one for each series of its steps."""
        if self._pressed:
            return (pressure_chart(self.drives),)
        if all(drive.conclusions.search for drive in self.drives):
            return (search_chart(self.drives),)
        return (rows_chart(self.drives),) if self.drives[0].is_table else sweep_charts(self.drives)

    @cached_property
    def as_published(self) -> tuple[Chart, ...]:
        """The staircase of a suite along pressure, for those who ask for it."""
        return (staircase_chart(self.drives),) if self._pressed else ()

    @property
    def _pressed(self) -> bool:
        return all(drive.along_pressure for drive in self.drives)

    @cached_property
    def percentiles(self) -> tuple[Chart, ...]:
        """The chart of percentiles; none if nothing completed."""
        curves = percentile_chart(self.drives, name=f"{self.plan.suite}-percentiles")
        return (curves,) if curves else ()

    @property
    def shared(self) -> tuple[Chart, ...]:
        """The charts that show all drives."""
        return (*self.along, *self.as_published, *self.percentiles)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts in the order of the page."""
        forests = (chart for pair in self.compared for chart in pair.charts)
        own = (chart for part in self.parts for chart in (*part.concluded, *part.explained, *part.over_time))
        return (*self.shared, *forests, *own)


@dataclass(frozen=True)
class Report:
    """The content of a report, read from the store once, to be written as a page, as text, or as pictures."""

    sections: tuple[Section, ...]
    differences: Differences = field(default_factory=Differences)
    """How the drives compare with the first one and, if requested, with published figures."""
    pairs: tuple[Pair, ...] = ()
    """The comparisons as text for the page."""
    verdicts: tuple[Fitness, ...] = ()
    """Whether the drives are good enough for the uses that they are judged for."""

    @classmethod
    def of(
        cls,
        names: Sequence[str | Path],
        *,
        conclude: Conclude = no_conclusions,
        suites: Sequence[str] = (),
        margin: float = MARGIN,
        on_progress: OnProgress = no_progress,
        baseline: str | None = None,
    ) -> Report:
        """Read the reviews of these names, directories or ``published``, and compare their drives.

        ``suites`` names the suites to report; by default all. A difference within ``margin`` counts as none.
        ``on_progress`` gets the number of suites read so far, and their total. ``baseline`` names the drive that all
        others are compared with; by default it is the first.

        Raises IogaugeError if one is not a review, is damaged or newer, or if the axes of a suite differ.
        """
        named = [str(name) for name in names]
        drives = loaded(named, suites=suites, conclude=conclude, on_progress=on_progress)
        shorten_labels(drives)
        compared = differences(drives, named, margin=margin, baseline=baseline)
        page_pairs = pairs(compared, drives)
        parts = [part for pair in page_pairs for part in pair.parts]
        return cls(
            tuple(
                _section(
                    tuple(drive for drive in drives if drive.plan.suite == suite),
                    tuple(part for part in parts if part.compared.suite == suite),
                )
                for suite in dict.fromkeys(drive.plan.suite for drive in drives)
            ),
            compared,
            page_pairs,
        )

    @cached_property
    def setup(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The facts that differ between the drives: a term, and its value for each."""
        return differing_facts(self.tested)

    @cached_property
    def published(self) -> tuple[PublishedPart, ...]:
        """The comparison of each drive with published figures, if requested."""
        return tuple(map(published_part, self.differences.versus_published))

    @property
    def drives(self) -> tuple[SuiteResult, ...]:
        """The results of all suites on all drives, suite by suite."""
        return tuple(drive for section in self.sections for drive in section.drives)

    @property
    def tested(self) -> dict[str, list[SuiteResult]]:
        """The results of each tested drive, by its label."""
        results: dict[str, list[SuiteResult]] = {}
        for drive in self.drives:
            results.setdefault(drive.label, []).append(drive)
        return results

    @cached_property
    def machines(self) -> tuple[MachinePart, ...]:
        """The machine of each tested drive; none if all drives are models."""
        parts = [
            MachinePart(label, ReviewMachine(drives))
            for label, drives in self.tested.items()
            if not drives[0].target.modelled
        ]
        return tuple(parts)

    @property
    def reviews(self) -> list[SuiteResult]:
        """One result of each review, for the facts of the review."""
        return list({drive.path: drive for drive in reversed(self.drives)}.values())[::-1]

    @cached_property
    def overview(self) -> Chart | None:
        """One figure of each suite; None for a single suite."""
        return overview_chart([section.drives for section in self.sections])

    @cached_property
    def lead(self) -> Fitness | None:
        """The verdict that the page leads with: the first no, else the first that is not shown, else the first."""
        order = ("no", "not shown", "yes")
        return min(self.verdicts, key=lambda fitness: order.index(fitness.answer), default=None)

    @property
    def hero(self) -> Chart | None:
        """The chart of the first screen.

        That of the series that decides the verdict; else the overview, or the last conclusion of the only suite, or its
        first chart.
        """
        if self.lead:
            criterion = self.lead.deciding.criterion
            along = (
                chart
                for section in self.sections
                if section.plan.suite == criterion.suite
                for chart in section.along
            )
            if deciding := next((chart for chart in along if chart.series in ("", criterion.series)), None):
                return deciding
        if self.overview:
            return self.overview
        first = self.sections[0]
        # What the conclusions end with is their sum: the matrix after the rounds that lead to it.
        concluded = first.parts[0].concluded if len(first.parts) == 1 else ()
        return next(iter((*concluded[-1:], *first.charts)), None)

    @property
    def caption(self) -> str:
        """What a chart that leaves the report says of its origin: drives, kernels, dates and versions."""
        manifests = [drive.manifest for drive in self.reviews]
        kernels = [manifest.machine.kernel for manifest in manifests if not manifest.measured_by]
        dates = [manifest.created_at[:10] for manifest in manifests]
        versions = [f"iogauge {manifest.versions.get('iogauge', 'unknown')}" for manifest in manifests]
        return " · ".join(
            ", ".join(dict.fromkeys(facts)) for facts in (self.tested, kernels, dates, versions) if facts
        )

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts with their caption: the overview, then section by section."""
        overview = (self.overview,) if self.overview else ()
        own = (chart for section in self.sections for chart in section.charts)
        return tuple(replace(chart, caption=self.caption) for chart in (*overview, *own))


def _section(drives: tuple[SuiteResult, ...], compared: tuple[PairPart, ...]) -> Section:
    return Section(tuple(Part(drive, number) for number, drive in enumerate(drives, 1)), compared)
