"""The procedure that SNIA's performance tests share: purge, precondition, then rounds until the drive is steady.

Such a test is a state group. Its first step purges the target and writes all of it twice in order (128 KiB;
"workload-independent preconditioning"). Then come rounds. Each round is one run: a step whose job file has one stage
for each cell of the test. Rounds end once the tracked cell is steady over the last five rounds, or at the
specification's largest number of rounds. Results are means over those five rounds.

Steady is SNIA's: within the window the values lie no further apart than a fifth of their mean, and the line of best
fit rises or falls by no more than a tenth of it.

Two differences: the suite leaves the drive's write cache as it is, and a purge is a discard, not a format
(``execution.purge``). A drive model starts every run in the state of its file or of ``--state``, so it is neither
purged nor preconditioned.

Source: SNIA PTS 2.0.2, for enterprise drives (PTS-E).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from iogauge.results.conclusions import Conclusions, Convergence, Matrix, TextTable
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, RunRecord, StepPlan, SuitePlan
from iogauge.stats.figures import StepFigures, step_figures
from iogauge.stats.steady import ROUNDS
from iogauge.store import Review
from iogauge.suites.snia.window import CRITERIA, convergence, rounds_of, steady_text, window_of
from iogauge.suites.suite import Ahead, Pace, StepTemplate, Suite, SuiteRequest, begins
from iogauge.target import is_model
from iogauge.text import numbers
from iogauge.workload.numbers import KIB, SECOND, size_text

SOURCE = "SNIA Solid State Storage Performance Test Specification (PTS) 2.0.2"
TRACKED = "tracked"
"""The job of each round whose figure decides whether the drive is steady."""
THREADS, DEPTH = 4, 32
"""Load of the tests with many requests in flight (PTS-E)."""
MOST_ROUNDS: dict[Pace, int] = {"quick": 8, "standard": 25, "full": 25}
FILL_BYTES = 128 * KIB
FILLS = 2
"""How many times the range is written before the test."""
PERCENTILES = "50"
"""Percentiles of cells: only rate and mean are reported, and requesting more would only cause warnings."""
_ROUND = "round"

Jobs = Mapping[str, Mapping[str, object]]


class Procedure(Suite):
    """A test in rounds. A subclass defines the cells of a round and the tables of its results."""

    SOURCE = SOURCE
    OWN_STATE = True
    AXIS = Axis(name=_ROUND, unit="no.")
    MEASURED_JOB = TRACKED
    JUDGED = "I/O"
    UNIT: ClassVar[str] = "IOPS"
    """Unit of the tracked value."""
    TRACKS: ClassVar[str]
    """Description of the tracked value."""
    GROUPS: ClassVar[Mapping[str, str]] = {"test": ""}
    """The series of each state group, by the group's name, in order. Each group starts with a purge."""
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": SECOND // 5,
        "standard": 2 * SECOND,
        "full": 60 * SECOND,
    }
    """Length of one cell."""
    RAMP_NS: ClassVar[Mapping[Pace, int]] = dict.fromkeys(("quick", "standard", "full"), 0)
    MODELLED_NS = SECOND

    @abstractmethod
    def cells(self, request: SuiteRequest, group: str) -> Jobs:
        """Return the jobs of one round by name, one stage each; one of them is ``TRACKED``."""

    @abstractmethod
    def tables(self, rounds: Sequence[RunRecord], series: str, title: str) -> tuple[Matrix | TextTable, ...]:
        """Return the tables of a window's rounds; ``title`` names the rounds."""

    def tracked(self, figures: StepFigures) -> float:
        """Return the tracked value of a round, in ``UNIT``."""
        return figures.iops

    def fill_bytes(self, _group: str) -> int:
        """Return the size of the requests that fill the target before the test."""
        return FILL_BYTES

    def final_steps(
        self, _plan: SuitePlan, _window: Sequence[RunRecord], _request: SuiteRequest
    ) -> tuple[StepPlan, ...]:
        """Return the steps that follow the last group's rounds."""
        return ()

    def heaviest_final_steps(self, plan: SuitePlan, request: SuiteRequest) -> tuple[StepPlan, ...]:
        """Estimate ``final_steps`` before the rounds are known: as many steps, with the heaviest possible jobs."""
        return self.final_steps(plan, (), request)

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan a purge, the fill, and as many rounds as a window has; ``more`` adds further rounds."""
        empty = self.empty(request, notes=self.notes(request))
        steps = self._opening(StepTemplate.of(empty), request, next(iter(self.GROUPS)))
        return empty.model_copy(update={"steps": steps})

    def size_bytes(self, request: SuiteRequest) -> int | None:
        """Return how much of the target to use: all of a drive at full pace, less at other paces."""
        return range_of(request, super().size_bytes(request), self.FILE_BYTES)

    def notes(self, request: SuiteRequest) -> Iterator[str]:
        """Yield how the test differs from the specification."""
        yield from pace_notes(request, cell_ns=self.runtime_ns(request))
        yield from range_notes(request, self.size_bytes(request))
        yield from state_notes(request)

    def _opening(self, load: StepTemplate, request: SuiteRequest, group: str) -> tuple[StepPlan, ...]:
        fill = () if is_model(load.path) else (fill_step(load, group, bs=self.fill_bytes(group)),)
        rounds = (self._round(load, request, group, number) for number in range(1, ROUNDS + 1))
        return (*fill, *rounds)

    def _round(self, load: StepTemplate, request: SuiteRequest, group: str, number: int) -> StepPlan:
        return load.step(
            f"{group}-{_ROUND}-{number}",
            number,
            self.cells(request, group),
            series=self.GROUPS[group],
            label=f"{_ROUND} {number}",
            state_group=group,
            is_round=True,
            percentile_list=PERCENTILES,
        )

    def ahead(self, plan: SuitePlan, request: SuiteRequest, /) -> Ahead | None:
        """Estimate the groups behind the first, the most rounds of each group, and the final steps."""
        load = StepTemplate.of(plan)
        _, *others = self.GROUPS
        openings = [self._opening(load, request, group) for group in others]
        least = (*(step for steps in openings for step in steps), *self.heaviest_final_steps(plan, request))
        rounds = range(ROUNDS + 1, MOST_ROUNDS[request.pace] + 1)
        further = (self._round(load, request, group, number) for group in self.GROUPS for number in rounds)
        return Ahead(least, (*least, *further))

    def more(self, plan: SuitePlan, review: Review, /, *, repeat: int) -> tuple[StepPlan, ...]:
        """Return one more round until a group is steady; then the next group, and at last the final steps."""
        mine = [step for step in plan.steps if step.repeat == repeat]
        if not all(review.has(step.id) for step in mine):
            return ()
        request, load = SuiteRequest.of(review.manifest, plan), StepTemplate.of(plan)
        records: list[RunRecord] = []
        for group, series in self.GROUPS.items():
            rounds = [step for step in mine if step.is_round and step.series == series]
            if not rounds:
                return self._opening(load, request, group)
            records = [review.record(step.id) for step in rounds]
            window = window_of([self.tracked(cell_figures(record, TRACKED)) for record in records])
            steady = window is not None and window.rounds.steady
            if not steady and len(rounds) < MOST_ROUNDS[request.pace]:
                return (self._round(load, request, group, len(rounds) + 1),)
            if window is not None:
                records = records[window.first : window.last + 1]
        # The final steps are planned all at once: they are there if any step is neither a round nor the fill.
        if any(not step.is_round and not step.purge for step in mine):
            return ()
        return self.final_steps(plan, records, request)

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Return each round's tracked value, whether these are steady, and the means over the window."""
        tables: list[TextTable] = []
        matrices: list[Matrix] = []
        courses: list[Convergence] = []
        for name, series, records in _courses(result.review, result.plan):
            values = [self.tracked(cell_figures(record, TRACKED)) for record in records]
            window = window_of(values)
            if window is None:
                continue
            rounds = range(1, len(values) + 1)
            courses.append(convergence(name or "all", rounds, values, window, axis=_ROUND, unit=self.UNIT))
            where = f"rounds {window.first + 1} to {window.last + 1}"
            title = joined(name, where if window.rounds.steady else f"{where}, not steady")
            window_records = records[window.first : window.last + 1]
            for table in self.tables(window_records, series, title):
                if isinstance(table, Matrix):
                    matrices.append(table)
                else:
                    tables.append(table)
        if courses:
            head = (self.TRACKS, "window", f"mean, {self.UNIT}", *CRITERIA, "steady")
            tables.insert(0, TextTable("Steady state", head, tuple(map(_verdict, courses))))
        return replace(
            super().conclude(result),
            findings=self._steadiness(courses),
            tables=tuple(tables),
            matrices=tuple(matrices),
            convergences=tuple(courses),
        )

    def _steadiness(self, courses: Iterable[Convergence]) -> tuple[str, ...]:
        """Return for each part of the test in which round it was steady, and at which value."""
        return tuple(
            (
                f"steady in round {course.last + 1}: "
                if course.steady
                else f"not steady after {numbers.counted(len(course.values), _ROUND)}: "
            )
            + f"{numbers.figure(course.mean)} {self.UNIT} "
            f"({joined(course.title if course.title != 'all' else '', self.TRACKS)}); {steady_text(rounds_of(course))}"
            for course in courses
        )


def _courses(review: Review, plan: SuitePlan) -> Iterator[tuple[str, str, list[RunRecord]]]:
    """Yield for each repeat and group a name, the series, and the runs of the complete rounds."""
    courses: dict[tuple[int, str], list[RunRecord]] = {}
    for step in plan.steps:
        if step.is_round and review.has(step.id):
            courses.setdefault((step.repeat, step.series), []).append(review.record(step.id))
    for (repeat, series), records in courses.items():
        yield joined(series, again(repeat)), series, records


def _verdict(course: Convergence) -> tuple[str, ...]:
    rounds = rounds_of(course)
    return (
        course.title,
        f"{course.first + 1} to {course.last + 1}",
        numbers.figure(course.mean),
        numbers.percent(rounds.range_share),
        numbers.percent(rounds.slope_share),
        "yes" if course.steady else "no",
    )


def joined(*parts: str) -> str:
    """Join the parts that are not empty by commas.

    >>> joined("", "128 KiB", "repeat 2")
    '128 KiB, repeat 2'
    """
    return ", ".join(filter(None, parts))


def cell_figures(record: RunRecord, name: str) -> StepFigures:
    """Return the figures of one cell of a round, by its totals."""
    return step_figures(record, (), measured_job=name, load_jobs=None)


def mean(values: Sequence[float]) -> float:
    """Return the mean over a window's rounds, which the specification reports."""
    return sum(values) / len(values)


def fill_step(load: StepTemplate, group: str, *, bs: int = FILL_BYTES) -> StepPlan:
    """Return the step that purges a target and writes all of its range twice, in order."""
    return load.step(
        f"{group}-fill",
        0,
        {"fill": {"rw": "write"}},
        label="filling it twice",
        state_group=group,
        purge=True,
        judged=False,
        bs=size_text(bs),
        iodepth=DEPTH,
        loops=FILLS,
        time_based=None,
        runtime=None,
        percentile_list=PERCENTILES,
    )


def range_of(request: SuiteRequest, usual: int | None, shortened: Mapping[Pace, int]) -> int | None:
    """Return how much of a target a test uses: all of a drive at full pace, ``shortened`` at other paces."""
    target = request.target
    if usual is not None or target.modelled or request.pace == "full":
        return usual
    return min(shortened[request.pace], target.size_bytes)


def again(repeat: int) -> str:
    """Return the name of a repeat; empty for the first.

    >>> again(0), again(1)
    ('', 'repeat 2')
    """
    return f"repeat {repeat + 1}" if repeat else ""


def pace_notes(request: SuiteRequest, *, cell_ns: int) -> Iterator[str]:
    """Yield how a shortened test differs from the specification."""
    if request.pace != "full":
        yield (
            f"Shortened: {cell_ns / 1e9:g} s per cell and at most {MOST_ROUNDS[request.pace]} rounds; "
            "the specification has a minute per cell and 25 rounds (pace full)."
        )


def range_notes(request: SuiteRequest, size_bytes: int | None) -> Iterator[str]:
    """Yield how much of a drive the test uses, if not all."""
    if request.target.kind == "block" and size_bytes is not None and size_bytes < request.target.size_bytes:
        share = numbers.percent(size_bytes / request.target.size_bytes)
        yield (
            f"Only {numbers.size(size_bytes)} of the drive are used, {share}: with the rest empty, flash has more "
            "room to work in, so its steady state is faster than in the specification's test of the full drive."
        )


def state_notes(request: SuiteRequest) -> Iterator[str]:
    """Yield what a purge does on this kind of target."""
    if request.target.modelled:
        yield "A drive model is neither purged nor filled, and its rounds differ by chance alone."
        if state := request.target.modelled.begun_as:
            yield f"{begins(state)}."
    elif request.target.kind == "file":
        yield (
            "A file is purged by returning its blocks to the file system; the drive below keeps its contents."
        )
    else:
        way = {
            "discard": "a discard of all of it; the specification also allows a format or a sanitize",
            "format": "its own Format NVM command",
            "sanitize": "its own Sanitize command",
        }
        yield f"The drive is purged by {way[request.purge_by]}."
