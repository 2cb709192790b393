"""SNIA's cross stimulus recovery test: how a drive's rate changes from sequential to random writes, and back.

After a purge, one run has three parts: eight hours of sequential writes of 1024 KiB, six hours of random writes of 8
KiB, and eight hours of sequential writes again. The test shows how the rate changes with each part, and whether
sequential writes recover their former rate.

Caveats. The published test does not fix threads and depth; this suite uses one thread at depth 32. A part's beginning
and end are its first and last tenth. ``standard`` and ``quick`` run the same in minutes and in seconds. A drive model
is not purged; see ``write_saturation`` for a model that starts fresh.

Source: SNIA PTS 2.0.2, the cross stimulus recovery test.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from iogauge.results.conclusions import Conclusions, Matrix
from iogauge.results.run import Run
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, SuitePlan
from iogauge.stats.figures import step_figures
from iogauge.stats.moments import Moment
from iogauge.suites.snia.common import (
    DEPTH,
    PERCENTILES,
    SOURCE,
    TRACKED,
    again,
    joined,
    range_notes,
    range_of,
    state_notes,
)
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest, time_text
from iogauge.text import numbers
from iogauge.workload.numbers import HOUR, KIB, SECOND

BEFORE, AFTER = "before", "after"
RANDOM_SHARE = 6 / 8
"""Time of the random part, as a share of the time of each sequential part."""
EDGE = 0.1
"""Share of a part that counts as its beginning, and as its end."""
SIZES = {BEFORE: 1024 * KIB, TRACKED: 8 * KIB, AFTER: 1024 * KIB}

BEGINNING, END, WHOLE = "beginning", "end", "all of it"


class PtsCrossStimulus(Suite):
    """See the module's text."""

    NAME = "pts-cross-stimulus"
    TITLE = "SNIA PTS: cross stimulus recovery"
    SOURCE = SOURCE
    OWN_STATE = True
    AXIS = Axis(name="part", unit="no.")
    MEASURED_JOB = TRACKED
    JUDGED = "random write"
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 8 * SECOND,
        "standard": 480 * SECOND,
        "full": 8 * HOUR,
    }
    RAMP_NS: ClassVar[Mapping[Pace, int]] = dict.fromkeys(("quick", "standard", "full"), 0)

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan one step: a purge, and the three parts."""
        empty = self.empty(request, notes=_notes(request, self.size_bytes(request)))
        in_order = {"rw": "write", "bs": "1m"}
        random_ns = round(empty.runtime_ns * RANDOM_SHARE)
        jobs: dict[str, dict[str, object]] = {
            BEFORE: {**in_order},
            TRACKED: {"stonewall": 1, "rw": "randwrite", "bs": "8k", "runtime": time_text(random_ns)},
            AFTER: {"stonewall": 1, **in_order},
        }
        step = StepTemplate.of(empty).step(
            "parts",
            0,
            jobs,
            label="at random, between",
            purge=True,
            iodepth=DEPTH,
            percentile_list=PERCENTILES,
        )
        return empty.model_copy(update={"steps": (step,)})

    def size_bytes(self, request: SuiteRequest) -> int | None:
        """Return how much of the target to use: all of a drive at full pace, less at other paces."""
        return range_of(request, super().size_bytes(request), self.FILE_BYTES)

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Add a matrix of each part's rate at its beginning, at its end, and over all of it."""
        return replace(super().conclude(result), matrices=tuple(map(_parts, result.runs)))

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return how far sequential writes recover their former rate."""
        findings = []
        for matrix in map(_parts, result.runs):
            rates = {(column, row): value for column, row, value in matrix.cells}
            former, first, last = (
                rates.get(part)
                for part in ((END, _WORDS[BEFORE]), (BEGINNING, _WORDS[AFTER]), (END, _WORDS[AFTER]))
            )
            if former and first is not None and last is not None:
                findings.append(
                    f"after random writes, sequential writes start at {numbers.percent(first / former)} of their "
                    f"former rate and end at {numbers.percent(last / former)}"
                )
        return tuple(findings)


def _parts(run: Run) -> Matrix:
    """Return the rate of each part at its beginning, at its end, and over all of it."""
    cells: list[tuple[str, str, float]] = []
    for name, size in SIZES.items():
        figures = step_figures(run.record, run.intervals(), measured_job=name, load_jobs=None)
        if moments := figures.moments:
            edge = max(round(EDGE * len(moments)), 1)
            for column, rate in (
                (BEGINNING, _iops(moments[:edge])),
                (END, _iops(moments[-edge:])),
                (WHOLE, figures.iops),
            ):
                cells.append((column, _WORDS[name], rate * size / 1e6))
    title = joined("writes in MB/s", again(run.plan.repeat))
    return Matrix(title=title, unit="MB/s", columns="portion", rows="part", cells=tuple(cells))


_WORDS = {
    BEFORE: "1024 KiB sequential",
    TRACKED: "8 KiB random",
    AFTER: "1024 KiB sequential, again",
}


def _iops(moments: Sequence[Moment]) -> float:
    """Return the requests per second over several moments."""
    return sum(moment.ios for moment in moments) / (moments[-1].end_s - moments[0].start_s)


def _notes(request: SuiteRequest, size_bytes: int | None) -> Iterator[str]:
    if request.pace != "full":
        yield "Shortened: the specification's three parts take eight, six and eight hours (pace full)."
    yield from range_notes(request, size_bytes)
    yield from state_notes(request)
