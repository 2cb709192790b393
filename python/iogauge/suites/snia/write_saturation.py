"""SNIA's write saturation test: how far the rate of random writes falls from a purged drive to a steady one.

After a purge, without a fill, four threads at depth 32 write 4 KiB at random until four times the range is written or a
day has passed. The same load then runs for twenty more minutes, for its latency. All of this is one run. SNIA's
criteria apply to every five samples in a row, taken half an hour apart; the last five decide whether the rate is
steady.

Caveats. The run does not end as soon as the rate is steady, since that is judged only afterwards. ``standard`` and
``quick`` run at most half an hour and half a minute, with samples that much closer. A drive model is not purged: to
start one fresh, use ``--state fresh``, or ``initial = "fresh"`` in a file by ``iogauge model new``.

Source: SNIA PTS 2.0.2, the write saturation test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import ClassVar

from iogauge.results.conclusions import Conclusions, Convergence, TextTable
from iogauge.results.run import Run
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, SuitePlan
from iogauge.stats.figures import StepFigures, step_figures
from iogauge.stats.moments import Moment
from iogauge.suites.snia.common import (
    DEPTH,
    PERCENTILES,
    SOURCE,
    THREADS,
    TRACKED,
    again,
    joined,
    range_notes,
    range_of,
    state_notes,
)
from iogauge.suites.snia.window import Window, convergence, steady_text, windows_of
from iogauge.suites.suite import (
    FULL_PERCENTILES,
    QUICK_PERCENTILES,
    QUICK_RUNTIME_NS,
    Pace,
    StepTemplate,
    Suite,
    SuiteRequest,
    time_text,
)
from iogauge.text import numbers
from iogauge.workload.numbers import HOUR, SECOND

LATENCY = "latency"
"""The job whose latencies are reported: the same load, after the saturation."""
LATENCY_SHARE = 1 / 72
"""Length of that job, as a share of the saturation's longest time: twenty minutes of a day."""
SAMPLES = 48
"""Samples in the saturation's longest time: one every half an hour."""
INTERVAL_NS: dict[Pace, int] = {"quick": SECOND // 2, "standard": SECOND, "full": 60 * SECOND}
QUANTILES = (0.5, 0.99, 0.999, 0.9999, 0.99999)


class PtsWriteSaturation(Suite):
    """See the module's text."""

    NAME = "pts-write-saturation"
    TITLE = "SNIA PTS: write saturation"
    SOURCE = SOURCE
    OWN_STATE = True
    AXIS = Axis(name="written", unit="x range")
    MEASURED_JOB = TRACKED
    JUDGED = "write"
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 30 * SECOND,
        "standard": HOUR // 2,
        "full": 24 * HOUR,
    }
    RAMP_NS: ClassVar[Mapping[Pace, int]] = dict.fromkeys(("quick", "standard", "full"), 0)
    MODELLED_NS = 30 * SECOND

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan one step: a purge, random writes of four times the range, and more of them for their latency."""
        empty = self.empty(request, notes=_notes(request, self.size_bytes(request)))
        writes: dict[str, object] = {"rw": "randwrite", "bs": "4k", "numjobs": THREADS, "iodepth": DEPTH}
        latency_ns = max(round(empty.runtime_ns * LATENCY_SHARE), QUICK_RUNTIME_NS)
        percentiles = QUICK_PERCENTILES if latency_ns == QUICK_RUNTIME_NS else FULL_PERCENTILES
        step = StepTemplate.of(empty).step(
            "saturation",
            # Each thread writes the range's size once.
            THREADS,
            {
                TRACKED: {**writes, "percentile_list": PERCENTILES},
                LATENCY: {
                    "stonewall": 1,
                    **writes,
                    "time_based": 1,
                    "runtime": time_text(latency_ns),
                    "percentile_list": percentiles,
                },
            },
            label=f"at most {THREADS} x range",
            purge=True,
            time_based=None,
        )
        step = step.model_copy(update={"interval_ns": INTERVAL_NS[request.pace]})
        return empty.model_copy(update={"steps": (step,)})

    def size_bytes(self, request: SuiteRequest) -> int | None:
        """Return how much of the target to use: all of a drive at full pace, less at other paces."""
        return range_of(request, super().size_bytes(request), self.FILE_BYTES)

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Return the course of the rate, whether it became steady, and the latencies after it."""
        runs = tuple(result.runs)
        return replace(
            super().conclude(result),
            tables=(_latency_table(runs),) if runs else (),
            convergences=tuple(chart for course in _courses(result) if (chart := course.convergence)),
        )

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return how far the rate fell, and whether it was steady at the end."""
        return tuple(text for course in _courses(result) for text in course.findings())


@dataclass(frozen=True)
class _Course:
    """One saturation: its figures, and samples of its rate at equal distances."""

    repeat: int
    figures: StepFigures
    samples: tuple[Moment, ...]
    windows: Sequence[Window]

    @property
    def window(self) -> Window | None:
        """The last window; None if there are too few samples."""
        return self.windows[-1] if self.windows else None

    @property
    def convergence(self) -> Convergence | None:
        """The samples for a chart; None if there are too few."""
        if self.window is None:
            return None
        return convergence(
            joined("4 KiB random writes", again(self.repeat)),
            [sample.end_s for sample in self.samples],
            [sample.iops for sample in self.samples],
            self.window,
            axis="time, s",
            unit="IOPS",
        )

    def findings(self) -> Iterator[str]:
        """Yield what was written, and whether the rate was steady at the end."""
        figures = self.figures
        if not figures.ios:
            return
        bytes_per_io = figures.rate_Bps / figures.iops
        most = max(moment.iops for moment in figures.moments)
        yield (
            f"{numbers.size(round(figures.ios * bytes_per_io))} written in {numbers.clock_time(figures.duration_s)}: "
            f"{numbers.figure(figures.moments[0].iops)} IOPS at first, {numbers.figure(most)} at most"
        )
        if self.window is None:
            yield "the run was too short to show whether the rate is steady"
            return
        last = self.window.rounds
        rate = f"{numbers.figure(last.mean)} IOPS, {numbers.percent(last.mean / most)} of the highest rate"
        if not last.steady:
            yield f"not steady at the end: {rate}; {steady_text(last)}"
            return
        # A purged drive is also steady at first, until its spare blocks are used up: only the end counts.
        *_, first = takewhile(lambda window: window.rounds.steady, reversed(self.windows))
        since_s = self.samples[first.first].start_s
        before = sum(moment.ios for moment in figures.moments if moment.end_s <= since_s)
        written = numbers.size(round(before * bytes_per_io))
        since = f"after {numbers.clock_time(since_s)} and {written} written" if before else "from the start"
        yield f"steady {since}: {rate}; {steady_text(last)}"


def _courses(result: SuiteResult) -> Iterator[_Course]:
    apart_s = result.plan.runtime_ns / SAMPLES / 1e9
    for repeat, run in enumerate(result.runs):
        figures = run.figures
        moments = figures.moments
        longest_s = max((moment.end_s - moment.start_s for moment in moments), default=1.0)
        samples = moments[:: max(round(apart_s / longest_s), 1)]
        yield _Course(repeat, figures, samples, windows_of([sample.iops for sample in samples]))


def _latency_table(runs: Sequence[Run]) -> TextTable:
    rows = []
    for run in runs:
        name = again(run.plan.repeat)
        figures = step_figures(run.record, run.intervals(), measured_job=LATENCY, load_jobs=None)
        latencies = [figures.mean, *(figures.quantile(q) for q in QUANTILES)]
        most = "-" if figures.max_ns is None else numbers.duration(figures.max_ns)
        rows.append((name or "writes", *map(numbers.marked, latencies), most))
    head = ("", "mean", *(f"p{q * 100:.12g}" for q in QUANTILES), "max")
    return TextTable("latency after the saturation, under the same load", head, tuple(rows))


def _notes(request: SuiteRequest, size_bytes: int | None) -> Iterator[str]:
    if request.pace != "full":
        yield "Shortened: the specification writes four times the range, or for a day (pace full)."
    yield from range_notes(request, size_bytes)
    yield from state_notes(request)
    if request.target.modelled and request.target.modelled.begun_as not in (None, "fresh"):
        yield "To see how far the rate falls, start the model in state fresh."
