"""SNIA's write saturation test: how far the rate of random writes falls from a purged drive to a steady one.

Purged and not filled, the drive is written with 4 KiB at random by four threads at depth 32, until four times the range
has been written or a day has passed; then the same load goes on for twenty minutes,
for its latency. All of it is one run. Whether it became steady is asked of samples half an hour apart, five
at a time, up to the last of them.

Caveats. The run does not end as soon as it is steady, which nobody knows while it goes on. ``standard`` and ``quick``
are the same for at most half an hour and half a minute, and their samples as much closer. A drive model is not purged:
one that begins fresh is made by ``iogauge model new``, with ``initial = "fresh"`` in its file.

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
"""The job whose latencies are reported: the load goes on once it is over with the saturation."""
LATENCY_SHARE = 1 / 72
"""Of the longest time that the saturation may take: twenty minutes of a day."""
SAMPLES = 48
"""In that time: one every half an hour."""
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
        """One step: a purge, writes at random until four times the range is written, and then for their latency."""
        empty = self.empty(request, notes=_notes(request, self.size_bytes(request)))
        writes: dict[str, object] = {"rw": "randwrite", "bs": "4k", "numjobs": THREADS, "iodepth": DEPTH}
        latency_ns = max(round(empty.runtime_ns * LATENCY_SHARE), QUICK_RUNTIME_NS)
        percentiles = QUICK_PERCENTILES if latency_ns == QUICK_RUNTIME_NS else FULL_PERCENTILES
        step = StepTemplate.of(empty).step(
            "saturation",
            # Each of the threads writes as much as the range holds.
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
        """Return how much of the target to use: of a drive, all of it only at the pace of the specification."""
        return range_of(request, super().size_bytes(request), self.FILE_BYTES)

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Return the fall of the rate, whether it ended, and the latencies behind it."""
        runs = tuple(result.runs)
        return replace(
            super().conclude(result),
            tables=(_latency_table(runs),) if runs else (),
            convergences=tuple(shown for course in _courses(result) if (shown := course.shown)),
        )

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return from where the rate fell to where, and whether it was steady then."""
        return tuple(text for course in _courses(result) for text in course.findings())


@dataclass(frozen=True)
class _Course:
    """One saturation: its intervals, and of these every so many."""

    repeat: int
    figures: StepFigures
    samples: tuple[Moment, ...]
    windows: Sequence[Window]

    @property
    def window(self) -> Window | None:
        """The last one; None where there are too few samples."""
        return self.windows[-1] if self.windows else None

    @property
    def shown(self) -> Convergence | None:
        """The samples, as they are drawn; None where there are too few of them."""
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
        """Yield what the course shows, a sentence each."""
        figures = self.figures
        if not figures.ios:
            return
        each_bytes = figures.rate_Bps / figures.iops
        most = max(moment.iops for moment in figures.moments)
        yield (
            f"{numbers.size(round(figures.ios * each_bytes))} written in {numbers.clock_time(figures.duration_s)}: "
            f"{numbers.figure(figures.moments[0].iops)} IOPS at first, {numbers.figure(most)} at most"
        )
        if self.window is None:
            yield "it was too short to say whether it was steady"
            return
        last = self.window.rounds
        rate = f"{numbers.figure(last.mean)} IOPS, {numbers.percent(last.mean / most)} of the most"
        if not last.steady:
            yield f"not steady at its end: {rate}; {steady_text(last)}"
            return
        # A drive that was purged is steady, too, until its spare blocks are used up: only the end counts.
        *_, first = takewhile(lambda window: window.rounds.steady, reversed(self.windows))
        since_s = self.samples[first.first].start_s
        before = sum(moment.ios for moment in figures.moments if moment.end_s <= since_s)
        since = f"since {numbers.clock_time(since_s)} and {numbers.size(round(before * each_bytes))}"
        yield f"steady at its end, {since}: {rate}; {steady_text(last)}"


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
    return TextTable("latency afterwards, under the same load", head, tuple(rows))


def _notes(request: SuiteRequest, size_bytes: int | None) -> Iterator[str]:
    if request.pace != "full":
        yield "Shortened: the specification writes until four times the range is written, or for a day (--pace full)."
    yield from range_notes(request, size_bytes)
    yield from state_notes(request)
    if request.target.modelled and request.target.modelled.begun_as not in (None, "fresh"):
        yield "To see how far the rate falls, start the model with nothing written to it: --state fresh."
