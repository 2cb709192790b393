"""What a report of saved reviews consists of: a section for each suite, with its charts, tables and sentences.

The page (``page``), the pictures (``export.py``) and the Markdown (``markdown.py``) are written from it. Reads the
store alone; what a suite concludes comes from its caller (``results.conclusions``), since reports know no suite.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from iogauge.comparison.published_rows import Beside, beside
from iogauge.comparison.sides import Differences, differences, loaded
from iogauge.report.charts.conclusions import conclusion_charts
from iogauge.report.charts.heat import heat_chart
from iogauge.report.charts.over_time import time_chart
from iogauge.report.charts.percentiles import percentile_chart
from iogauge.report.charts.pressure import pressure_chart
from iogauge.report.charts.specification import Chart
from iogauge.report.charts.sweep import sweep_charts
from iogauge.report.page.comparison import Over, Pair, PairPart, around, over, pairs
from iogauge.report.page.verdict import Verdict, verdict
from iogauge.results.conclusions import TextTable
from iogauge.results.reported import told_table
from iogauge.results.review import Conclude, OnProgress, no_progress, nothing
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import SuitePlan
from iogauge.stats.comparison import MARGIN


@dataclass(frozen=True)
class Part:
    """What a section has of one drive. Charts are made when they are asked for: text has none."""

    drive: SuiteResult
    number: int
    """Of the drive in its section, from 1."""

    @cached_property
    def verdict(self) -> Verdict:
        """What a reader should take away."""
        return verdict(self.drive, self.drive.conclusions.findings, told=self.told is not None)

    @cached_property
    def told(self) -> TextTable | None:
        """Figures that another program told without samples."""
        return told_table(self.drive.path, self.drive.manifest.plans, self.drive.plan)

    @property
    def tables(self) -> tuple[TextTable, ...]:
        """What the suite shows as tables, matrices too, and what was told."""
        shown, told = self.drive.conclusions, (self.told,) if self.told else ()
        return (*shown.tables, *(matrix.table for matrix in shown.matrices), *told)

    @cached_property
    def concluded(self) -> tuple[Chart, ...]:
        """What the suite concludes from several steps together."""
        return conclusion_charts(self.drive, self.drive.conclusions, name=self.drive.slug)

    @cached_property
    def over_time(self) -> tuple[Chart, ...]:
        """The run of the drive through its steps."""
        suite = self.drive.plan.suite
        heat = heat_chart(self.drive, name=f"{suite}-heat-{self.number}")
        time = time_chart(self.drive, name=f"{suite}-over-time-{self.number}")
        return (time, heat) if heat else (time,)


@dataclass(frozen=True)
class Section:
    """One suite, on all that it tested."""

    parts: tuple[Part, ...]
    compared: tuple[PairPart, ...] = ()
    """Its drives, pair by pair."""

    @property
    def drives(self) -> tuple[SuiteResult, ...]:
        """All that it tested."""
        return tuple(part.drive for part in self.parts)

    @property
    def plan(self) -> SuitePlan:
        """The suite's plan for the first drive."""
        return self.parts[0].drive.plan

    @cached_property
    def beside(self) -> tuple[Beside, ...]:
        """Published figures of the same loads."""
        return beside(self.drives)

    @cached_property
    def along(self) -> tuple[Chart, ...]:
        """What the suite's axis does to the drives: one chart, or one for each series of its steps."""
        pressed = all(drive.along_pressure for drive in self.drives)
        return (pressure_chart(self.drives),) if pressed else sweep_charts(self.drives)

    @cached_property
    def percentiles(self) -> tuple[Chart, ...]:
        """One, or none where nothing completed."""
        curves = percentile_chart(self.drives, name=f"{self.plan.suite}-percentiles")
        return (curves,) if curves else ()

    @property
    def shared(self) -> tuple[Chart, ...]:
        """The charts in which all drives are."""
        return (*self.along, *self.percentiles)

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts, in the order in which they are read."""
        forests = (chart for pair in self.compared for chart in pair.charts)
        own = (chart for part in self.parts for chart in (*part.concluded, *part.over_time))
        return (*self.shared, *forests, *own)


@dataclass(frozen=True)
class Report:
    """Reviews, read from the store once: to be written as a page, as text, as pictures, or all."""

    sections: tuple[Section, ...]
    differences: Differences = field(default_factory=Differences)
    """How the drives compare with the first of them, and with what was published, where that is asked for."""
    pairs: tuple[Pair, ...] = ()
    """The same as the page has it."""

    @classmethod
    def of(
        cls,
        names: Sequence[str | Path],
        *,
        conclude: Conclude = nothing,
        suites: Sequence[str] = (),
        margin: float = MARGIN,
        on_progress: OnProgress = no_progress,
    ) -> Report:
        """Read the reviews of these names, directories or ``published``, and compare their drives.

        ``suites`` are the names of those to report; none: all. ``margin`` is what counts as no difference.
        ``on_progress`` is told how many suites on drives are judged and read.

        Raises IogaugeError where one is not a review, is damaged or newer, or where a suite's axes differ.
        """
        named = [str(name) for name in names]
        drives = loaded(named, suites=suites, conclude=conclude, on_progress=on_progress)
        found = differences(drives, named, margin=margin)
        compared = pairs(found, drives)
        parts = [part for pair in compared for part in pair.parts]
        return cls(
            tuple(
                _section(
                    tuple(drive for drive in drives if drive.plan.suite == suite),
                    tuple(part for part in parts if part.found.suite == suite),
                )
                for suite in dict.fromkeys(drive.plan.suite for drive in drives)
            ),
            found,
            compared,
        )

    @cached_property
    def around(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """What differs around the drives: a term, and its value for each."""
        return around(self.tested)

    @cached_property
    def over(self) -> tuple[Over, ...]:
        """Each drive over what was published, where that is asked for."""
        return tuple(map(over, self.differences.laid))

    @property
    def drives(self) -> tuple[SuiteResult, ...]:
        """All that was tested, suite by suite."""
        return tuple(drive for section in self.sections for drive in section.drives)

    @property
    def tested(self) -> dict[str, list[SuiteResult]]:
        """Each thing that was tested, by its label, and what suites made of it."""
        found: dict[str, list[SuiteResult]] = {}
        for drive in self.drives:
            found.setdefault(drive.label, []).append(drive)
        return found

    @property
    def reviews(self) -> list[SuiteResult]:
        """One drive of each review, to ask for what is the review's."""
        return list({drive.path: drive for drive in reversed(self.drives)}.values())[::-1]

    @property
    def charts(self) -> tuple[Chart, ...]:
        """All charts, section by section."""
        return tuple(chart for section in self.sections for chart in section.charts)


def _section(drives: tuple[SuiteResult, ...], compared: tuple[PairPart, ...]) -> Section:
    return Section(tuple(Part(drive, number) for number, drive in enumerate(drives, 1)), compared)
