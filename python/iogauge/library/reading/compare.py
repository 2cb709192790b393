"""Reviews side by side: what differs, step by step, and how sure that is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iogauge.library.options import StrPath, as_list, flat
from iogauge.library.progress import OnProgress
from iogauge.library.public import public
from iogauge.library.reading.report import (
    MARGIN,
    fraction,
    output_claims,
    read_report,
    written,
)
from iogauge.results.tabular import Tabular
from iogauge.text import html

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.comparison.machines import MachineComparison
    from iogauge.comparison.sides import Differences
    from iogauge.report.conditions.compared import ComparedCondition
    from iogauge.report.conditions.results import CheckResult
    from iogauge.report.run.fail_if import Violation
    from iogauge.store.outputs import Output


@public
def compare(
    *reviews: StrPath | Sequence[StrPath],
    suites: Sequence[str] | str = (),
    margin: float | str = MARGIN,
    baseline: StrPath | None = None,
) -> Comparison:
    """Compare saved reviews step by step, all with the first; a review of several targets compares these.

    Args:
        reviews: saved reviews, or their directories, or ``COLLECTION/ID`` of those that a collection has copies of;
            ``"published"`` among them compares every drive with published figures of the same loads.
        suites: the names of those to compare; by default all.
        margin: treat smaller differences as none, a fraction or text such as ``"5%"``.
        baseline: what all others are compared with: a review, a target, or part of a drive's name; by default the
            first.

    Raises:
        UsageError: an argument is invalid.
        IogaugeError: a review cannot be read, there is nothing to compare, or ``baseline`` fits none or several.
    """
    from iogauge.comparison.sides import compare_named
    from iogauge.library.reading.collected import located

    names, suites = located(flat(reviews)), as_list(suites)
    share = fraction(margin, name="margin")
    base = None if baseline is None else located([baseline])[0]
    differences = compare_named(names, suites=suites, margin=share, baseline=base)
    return Comparison(names, differences, suites=suites, margin=share, baseline=base)


class Comparison(Tabular):
    """The differences of drives. ``str()`` is what ``iogauge compare --verbose`` prints."""

    def __init__(
        self,
        names: Sequence[str],
        differences: Differences,
        *,
        suites: Sequence[str],
        margin: float,
        baseline: str | None = None,
    ) -> None:
        self.names = tuple(names)
        """What was compared: directories of reviews, or ``published``."""
        self.differences = differences
        """Each pair of drives, suite by suite, and each drive versus published figures."""
        self._suites = suites
        self._margin = margin
        self._baseline = baseline

    @cached_property
    def findings(self) -> tuple[str, ...]:
        """Sentences: how the machines differ, what differs suite by suite, and the nearest published drives."""
        from iogauge.comparison.findings import findings
        from iogauge.comparison.versus_published import nearest

        pairs = (finding for suite in self.differences.suites for finding in findings(suite))
        published = (finding for drive in self.differences.versus_published for finding in nearest(drive))
        return (*(pair.answer for pair in self.machines), *pairs, *published)

    @property
    def machines(self) -> tuple[MachineComparison, ...]:
        """The settings of each pair of real drives: ``answer`` is a sentence, ``differing`` has the heaviest first."""
        return self.differences.machines

    @public
    def check(self, conditions: Sequence[str] | str) -> tuple[CheckResult, ...]:
        """Check conditions such as ``"worse by > 5%"``, and return the result of each.

        Raises UsageError for a text that is none, or that names what was not compared.
        """
        from iogauge.library.conditions import named, parsed_of_comparison
        from iogauge.report.conditions.results import results_of

        names = named(as_list(conditions))
        return results_of(names, self.violations(parsed_of_comparison([*names])))

    def violations(self, conditions: Sequence[ComparedCondition]) -> list[Violation]:
        """Return where one of ``conditions`` holds or cannot be judged, and why."""
        from iogauge.library.conditions import violations_of_comparison

        return violations_of_comparison(self.differences, conditions)

    def to_dict(self) -> list[dict[str, Any]]:
        """Return all that was compared as data that JSON can hold: an entry for each pair of drives and suite."""
        from iogauge.comparison.text import as_json

        return as_json(self.differences)

    def to_arrow(self) -> pa.Table:
        """Return a row for each figure of each pair of drives, as an Arrow table.

        ``value_a`` and ``value_b`` are in the unit that ends ``metric``; ``ratio`` is of B to A, with its 95 %
        interval. A figure that was not tested has no ``verdict``. In a comparison with published figures, ``a`` is the
        published drive, ``label`` the load, and ``suite``, ``series``, ``position`` and ``unit`` are null.
        """
        import pyarrow as pa

        rows = [
            {
                "suite": suite.suite,
                "a": suite.before.name,
                "b": suite.after.name,
                "series": figure.position.series,
                "label": figure.position.label,
                "position": figure.position.at,
                "unit": figure.position.unit,
                "metric": figure.metric,
                "value_a": figure.before,
                "value_b": figure.after,
                "ratio": figure.ratio.value,
                "ratio_low": figure.ratio.low,
                "ratio_high": figure.ratio.high,
                "supported": figure.supported,
                "blocks": figure.comparison and figure.comparison.blocks,
                "p_corrected": figure.comparison and figure.comparison.p_corrected,
                "verdict": figure.comparison and str(figure.comparison.verdict),
            }
            for suite in self.differences.suites
            for figure in suite.figures
        ]
        rows += [
            {
                "a": match.published.drive,
                "b": drive.name,
                "label": match.load,
                "metric": match.metric,
                "value_a": match.published.value,
                "value_b": match.measured,
                "ratio": match.ratio.value,
                "ratio_low": match.ratio.low,
                "ratio_high": match.ratio.high,
                "supported": match.supported,
            }
            for drive in self.differences.versus_published
            for match in drive.matches
        ]
        return pa.Table.from_pylist(rows, schema=_schema())

    def to_text(self, *, every: bool = False) -> str:
        """Return tables and findings as text. ``every``: every figure, also those that do not differ."""
        from iogauge.comparison.text import text

        return text(self.differences, every=every)

    def to_markdown(self, *, every: bool = False) -> str:
        """Return the same as Markdown."""
        from iogauge.comparison.text import markdown

        return markdown(self.differences, every=every)

    @public
    def write_page(
        self,
        output: StrPath = "comparison.html",
        *,
        judge_by: Collection[StrPath] = (),
        on_progress: OnProgress = lambda _: None,
    ) -> Path:
        """Write the page with charts that a report of the same reviews is; return its path."""
        from iogauge.store.outputs import Existing

        page = output_claims(self.names, say=lambda _: None).file(Path(output), existing=Existing.OWN)
        write_comparison(
            self.names,
            page,
            suites=self._suites,
            margin=self._margin,
            baseline=self._baseline,
            judge_by=judge_by,
            on_progress=on_progress,
        )
        return page.path

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        tables = html.folded("tables", html.preformatted(self.to_text()))
        return html.heading(" and ".join(self.names)) + html.items(self.findings) + tables

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.names)}>"


def write_comparison(
    names: Sequence[str],
    page: Output,
    *,
    suites: Sequence[str],
    margin: float,
    judge_by: Collection[StrPath],
    on_progress: OnProgress,
    baseline: str | None = None,
) -> None:
    """Write the page of compared reviews. Raises IogaugeError if there is nothing to compare."""
    from iogauge.comparison.sides import refuse_nothing

    report = read_report(
        names, suites=suites, margin=margin, judge_by=judge_by, on_progress=on_progress, baseline=baseline
    )
    refuse_nothing(report.differences, names)
    page.write(written(report, format="html", on_progress=on_progress).encode())


def _schema() -> pa.Schema:
    import pyarrow as pa

    text = ("suite", "a", "b", "series", "label", "unit", "metric", "verdict")
    order = (
        "suite a b series label position unit metric value_a value_b ratio ratio_low ratio_high supported blocks "
        "p_corrected verdict"
    )
    types = {
        **dict.fromkeys(order.split(), pa.float64()),
        **dict.fromkeys(text, pa.string()),
        "supported": pa.bool_(),
        "blocks": pa.int64(),
    }
    return pa.schema([pa.field(name, kind) for name, kind in types.items()])
