"""A saved review, as a script or a notebook reads it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from iogauge.errors import UsageError
from iogauge.library.notebook import folded_warnings
from iogauge.library.options import StrPath, as_list
from iogauge.library.public import public
from iogauge.library.reading.chart import Chart
from iogauge.library.reading.judge_by import absolute
from iogauge.library.running.result import RunResult
from iogauge.results.collection import unknown_name
from iogauge.results.run import Run
from iogauge.results.suite_result import SuiteResult
from iogauge.results.tabular import Tabular
from iogauge.schema import Manifest
from iogauge.store import Review as Stored
from iogauge.text import html
from iogauge.text.option import call, either

if TYPE_CHECKING:
    import pyarrow as pa

    from iogauge.library.conditions import ReviewCondition
    from iogauge.report.conditions.results import CheckResult
    from iogauge.report.run.fail_if import Violation
    from iogauge.reviews.runner import Failed
    from iogauge.schema import Audit, Notice


@public
def open_review(
    directory: StrPath,
    *,
    suites: Sequence[str] | str = (),
    judge_by: Collection[StrPath] | StrPath = (),
    on_message: Callable[[str], None] = lambda _: None,
) -> Review:
    """Open a saved review. Nothing is measured; figures are computed when they are read.

    Args:
        directory: where it is saved. An incomplete review has the steps that are complete.
        suites: the names of the suites to show; by default all.
        judge_by: Python files with your own suites, which are run for their findings. A review may come from a
            stranger: no other file that it names is run.
        on_message: is called with the reason why a suite cannot be judged.

    Raises IogaugeError if there is no review, or it is damaged or newer; and UsageError if it lacks one of the suites,
    and for ``"published"``, which has neither suites nor steps: ``published`` returns those figures.
    """
    from iogauge.results.published import PUBLISHED, is_published

    if is_published(fspath(directory)):
        part = fspath(directory).partition(":")[2]
        raise UsageError(
            f"{directory} is no saved review: it has neither suites nor steps",
            hint=f"{call(PUBLISHED, *filter(None, [part]))} has its figures; "
            f"{call('compare', 'REVIEW', fspath(directory))} sets them beside those of a review",
        )
    saved = Stored.open(Path(directory))
    return Review(saved, suites=as_list(suites), trusted=absolute(judge_by), on_message=on_message)


class Review(Tabular):
    """A saved review: its suites with their positions and figures, its findings, its steps, and its tables.

    Iterate over it for its suites, one for each target; ``review.suite("write-pressure")`` is one of them. ``str()`` is
    what ``iogauge show --verbose`` prints. It stands for its directory wherever a path is taken.
    """

    def __init__(
        self,
        saved: Stored,
        *,
        suites: Sequence[str] = (),
        trusted: frozenset[str] = frozenset(),
        on_message: Callable[[str], None] = lambda _: None,
    ) -> None:
        from iogauge.report.review_text import judged

        self._saved = saved
        self._trusted = trusted
        there = dict.fromkeys(plan.suite for plan in saved.manifest.plans)
        if unknown := [name for name in suites if name not in there]:
            raise UsageError(f"{saved.path} has no suite {unknown[0]!r}", hint=f"it has: {', '.join(there)}")
        plans = [plan for plan in saved.manifest.plans if not suites or plan.suite in suites]
        self.suites: tuple[SuiteResult, ...] = tuple(judged(saved, plans, warn=on_message, trusted=trusted))
        """The result of each suite on each of its targets."""

    @property
    def path(self) -> Path:
        """Its directory."""
        return self._saved.path

    def __fspath__(self) -> str:
        return str(self.path)

    @property
    def manifest(self) -> Manifest:
        """The plan, with its targets and machine."""
        return self._saved.manifest

    @property
    def audits(self) -> tuple[Audit, ...]:
        """The settings of the machine when it began, then those of each drive; none for drive models.

        ``review.step(ID).record.audit_changes`` are those that changed since.
        """
        return self._saved.audits()

    @property
    def complete(self) -> bool:
        """Whether every known step is complete."""
        return not any(result.missing for result in self.suites)

    @property
    def findings(self) -> tuple[str, ...]:
        """The conclusions from the figures, a sentence each, suite by suite."""
        return tuple(finding for result in self.suites for finding in result.conclusions.findings)

    @cached_property
    def warnings(self) -> tuple[Notice, ...]:
        """The warnings about its figures, each kind once."""
        from iogauge.report.review_text import warnings

        return warnings(self.suites, self.manifest)

    @public
    def suite(self, name: str, *, target: str | None = None) -> SuiteResult:
        """Return the result of a suite, on the target of this path.

        Raises UnknownNameError if there is no such suite, and UsageError if it has several targets and none is named.
        """
        named = [result for result in self.suites if result.plan.suite == name]
        if not named:
            raise unknown_name(
                name, (result.plan.suite for result in self.suites), noun="suite", of=str(self.path)
            )
        paths = {path: result for result in named for path in result.plan.targets}
        if target is None:
            if len(named) > 1:
                raise UsageError(
                    f"{self.path} has {name} of several targets", hint=f"target= one of {', '.join(paths)}"
                )
            return named[0]
        if target not in paths:
            raise UsageError(
                f"{self.path} has no {name} of {target}", hint=f"its targets: {', '.join(paths)}"
            )
        return paths[target]

    def __getitem__(self, name: str) -> SuiteResult:
        """Return the result of a suite, as ``suite`` does."""
        return self.suite(name)

    def __iter__(self) -> Iterator[SuiteResult]:
        return iter(self.suites)

    def __len__(self) -> int:
        return len(self.suites)

    def __reduce__(self) -> tuple[Any, ...]:
        names = tuple(dict.fromkeys(result.plan.suite for result in self.suites))
        return _reopened, (self.path, names, self._trusted)

    @property
    def steps(self) -> tuple[str, ...]:
        """The ids of its steps and searches, complete or not."""
        searches = [plan.search.id for plan in self.manifest.plans if plan.search]
        return (*(step.id for step in self.manifest.steps), *searches)

    @public
    def step(self, step: str | Run) -> RunResult:
        """Return one step in full, by its id or as a position's run: every job in every direction.

        Raises UsageError if there is none, and IogaugeError if it is not complete.
        """
        from iogauge.workload.suggest import closest

        step_id = step if isinstance(step, str) else step.plan.id
        known = self.steps
        if step_id not in known:
            # With its suite's name or without.
            names = {name: full for full in known for name in (full, full.partition(".")[2] or full)}
            near = closest(step_id, names)
            first = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
            listed = either(command="show --json", library="Review.steps")
            raise UsageError(
                f"{self.path} has no step {step_id!r}",
                hint=f"did you mean {names[near]}?" if near else f"its steps: {first}; see {listed}",
            )
        return RunResult(self._saved.record(step_id), self._saved.intervals(step_id))

    @public
    def check(self, conditions: Sequence[str] | str) -> tuple[CheckResult, ...]:
        """Check conditions such as ``"mixed[70 %].p99 > 1ms"``, and return the result of each.

        Raises UsageError for a text that is none, or that names what the review does not have.
        """
        from iogauge.library.conditions import named, parsed
        from iogauge.report.conditions.results import results_of

        names = named(as_list(conditions))
        return results_of(names, [violation for _, violation in self.violations(parsed([*names]))])

    def violations(self, conditions: Sequence[ReviewCondition]) -> list[tuple[str, Violation]]:
        """Return the id of each step at which one of ``conditions`` holds or cannot be judged, and why."""
        from iogauge.library.conditions import require, violations

        require(conditions, self.manifest, saved=True)
        return violations(self._saved, conditions)

    def to_arrow(self) -> pa.Table:
        """Return the figures as an Arrow table: a row for each complete step and direction.

        ``position`` is in the column ``unit``; latencies are in nanoseconds, each with the bounds of its 95 % interval
        (``mean_ns``, ``mean_low_ns``, ``mean_high_ns``); ``supported`` is the highest quantile that the sample
        supports.
        """
        from iogauge.results.tables import figures_of_plans, figures_table

        if len(self.suites) == len(self.manifest.plans):
            return figures_table([self.path])  # with the figures that an import has without steps
        return figures_of_plans(self.path, [result.plan.key for result in self.suites])

    @public
    def query(self, sql: str) -> pa.Table:
        """Run one statement of DuckDB's SQL over the views ``figures``, ``steps``, ``totals`` and ``intervals``.

        Raises IogaugeError if the statement fails.
        """
        from iogauge.library.reading.questions import query

        return query(sql, self)

    def charts(self) -> dict[str, Chart]:
        """Return the charts of its report by name; a notebook draws them."""
        from iogauge.library.reading.report import read_report

        names = tuple(dict.fromkeys(result.plan.suite for result in self.suites))
        report = read_report([self.path], suites=names, trusted=self._trusted)
        return {chart.name: Chart(chart) for chart in report.charts}

    def to_dict(
        self,
        *,
        violations: Sequence[tuple[str, Violation]] = (),
        failed: Sequence[Failed] = (),
    ) -> dict[str, Any]:
        """Return suites, figures and findings as data that JSON can hold; latencies in ns, rates in bytes a second.

        ``violations`` and ``failed``: those of a review that has just been made.
        """
        from iogauge.report.review_text import as_json
        from iogauge.store.reported import read_summary

        shown = as_json(self.suites, self.manifest, path=str(self.path), violations=violations, failed=failed)
        if reported := read_summary(self.path):
            shown["reported"] = [figure.model_dump(mode="json") for figure in reported]
        return shown

    def to_text(self, *, variation: bool = False) -> str:
        """Return its tables and findings as text. ``variation``: also show how figures differ from run to run,
        and the parts of the latency of explained steps.
        """
        from iogauge.report.review_text import tables
        from iogauge.results.reported import summary_lines
        from iogauge.store.reported import read_summary

        lines = summary_lines(read_summary(self.path))
        return tables(self.suites, self.manifest, variation=variation) + "".join(
            f"{line}\n" for line in lines
        )

    def keep_computed(self) -> None:
        """Save the computed figures beside the steps, so that the next reader need not compute them."""
        self._saved.keep_computed()

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        state = "" if self.complete else ", incomplete"
        title = html.heading(f"{self.path}{state}: seed {self.manifest.seed}, pace {self.manifest.pace}")
        suites = "".join(result._repr_html_() for result in self.suites)
        return title + suites + folded_warnings(self.warnings)

    def __repr__(self) -> str:
        return f"<Review {self.path}>"


def _reopened(path: Path, suites: tuple[str, ...], trusted: frozenset[str]) -> Review:
    return Review(Stored.open(path), suites=suites, trusted=trusted)
