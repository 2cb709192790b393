"""A comparison as a page shows it: sentences with their evidence, forest plots, every ratio in a table.

Before anything else it says what differs around the drives: machine, system, firmware, versions, pace. What two reviews
do not share is as likely a reason for a difference as the drives are.

Does not compare: see ``comparison``. Returns plain text and the names of what it links to: escaping and layout are the
template's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from iogauge.comparison import text as compare_text
from iogauge.comparison import versus_published_text
from iogauge.comparison.findings import grounds, place_text, statements
from iogauge.comparison.pairwise import Compared, SuiteCompared
from iogauge.comparison.sides import Differences
from iogauge.comparison.versus_published import LaidDrive, nearest
from iogauge.report.charts.forest import forest_charts
from iogauge.report.charts.specification import Chart
from iogauge.report.page.facts import environment, provenance
from iogauge.report.page.verdict import Sentence
from iogauge.results.figure import metric_text
from iogauge.results.suite_result import SuiteResult
from iogauge.text.numbers import capitalised

_AROUND = (
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
    "Before",
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
"""Of what is known of a drive and its review, that which may explain a difference; names and times differ anyway."""


_SMALL = re.compile(r"p\d|t:")
"""A sentence that begins so keeps its small letter."""


@dataclass(frozen=True)
class RatioRow:
    """One row of a table of ratios, in the order of ``compare_text.HEAD``, and its name for links."""

    anchor: str
    cells: tuple[str, ...]
    apart: bool


@dataclass(frozen=True)
class PairPart:
    """One pair of drives in one suite."""

    found: SuiteCompared
    name: str
    """For links and files; no other has it."""
    places: tuple[int, int]
    """Which of the suite's drives A and B are, from 0: their colours follow."""

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """What the two show, each with links to the rows that it is made of."""
        return tuple(
            Sentence(_sentence(each.text), tuple(map(self._link, each.evidence)))
            for each in statements(self.found)
        )

    @cached_property
    def charts(self) -> tuple[Chart, ...]:
        """A forest plot for each series."""
        return forest_charts(self.found, name=self.name, places=self.places)

    @property
    def rows(self) -> dict[str, tuple[RatioRow, ...]]:
        """Every ratio, series by series, those of a series as a whole last."""
        return {
            series: tuple(
                RatioRow(self._anchor(each), tuple(_micro(compare_text.cells(self.found, each))), each.clear)
                for each in (
                    *figures,
                    *(whole for whole in self.found.overall if whole.position.series == series),
                )
            )
            for series, figures in self.found.by_series().items()
        }

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the table has to know."""
        return tuple(map(_sentence, compare_text.notes((self.found,))))

    def _anchor(self, each: Compared) -> str:
        figures = (*self.found.figures, *self.found.overall)
        return f"{self.name}-row-{figures.index(each)}"

    def _link(self, each: Compared) -> tuple[str, str]:
        return self._anchor(each), f"{place_text(each)}, {metric_text(each.metric)}"


@dataclass(frozen=True)
class Pair:
    """Two drives: A is ``before``, B is ``after``."""

    before: str
    after: str
    parts: tuple[PairPart, ...]
    missed: tuple[str, ...]
    """Why nothing is compared, where the two have nothing in common."""


@dataclass(frozen=True)
class Over:
    """One drive over what was published: sentences, and a table of each load with the step that was measured."""

    name: str
    sentences: tuple[Sentence, ...]
    loads: tuple[tuple[str, str, tuple[tuple[str, ...], ...]], ...]
    """Of each load: its words, the name of the measured step's row, and the cells of ``laid_text.HEAD``."""


def pairs(found: Differences, drives: Sequence[SuiteResult]) -> tuple[Pair, ...]:
    """Return the pairs of a comparison, each with its suites; ``drives`` are the page's."""
    suites: dict[str, list[str]] = {}
    for drive in drives:
        suites.setdefault(drive.plan.suite, []).append(drive.label)
    return tuple(
        Pair(
            before,
            after,
            tuple(_part(each, suites[each.suite], number) for each in compared if each.figures),
            tuple(f"{capitalised(why)}." for each in compared if not each.figures for why in grounds(each)),
        )
        for number, ((before, after), compared) in enumerate(found.by_pair().items(), 1)
    )


def _part(found: SuiteCompared, labels: Sequence[str], number: int) -> PairPart:
    places = (labels.index(found.before.name), labels.index(found.after.name))
    return PairPart(found, f"compared-{number}-{found.suite}", places)


def over(laid: LaidDrive) -> Over:
    """Return a drive over what was published as the page shows it."""
    loads = tuple(
        (load, figures[0].anchor, tuple(tuple(_micro(versus_published_text.cells(each))) for each in figures))
        for load, figures in laid.by_load().items()
    )
    evidence = (("published", "published figures"),)
    return Over(laid.name, tuple(Sentence(_sentence(each), evidence) for each in nearest(laid)), loads)


def around(tested: Mapping[str, Sequence[SuiteResult]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what differs around the drives: a term, and its value for each of them; nothing for one drive."""
    facts = [dict(_facts(drives[0])) for drives in tested.values()]
    return tuple(
        (term, values)
        for term in _AROUND
        for values in (tuple(each.get(term, "–") for each in facts),)
        if len(set(values)) > 1
    )


def _facts(drive: SuiteResult) -> Iterator[tuple[str, str]]:
    yield from (fact for _, facts in environment(drive) for fact in facts)
    yield from provenance(drive)


def _sentence(text: str) -> str:
    """Return words as a sentence: a quantile stays p99, and no line breaks before a per cent sign."""
    begun = text if _SMALL.match(text) else capitalised(text)
    return f"{begun.replace(' %', chr(0xA0) + '%')}."


def _micro(cells: Sequence[str]) -> Iterator[str]:
    """Yield a table's cells with the page's signs."""
    yield from (cell.replace(" us", " µs") for cell in cells)
