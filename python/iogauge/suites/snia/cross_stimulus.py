"""SNIA's cross stimulus recovery test: how a drive goes from writes in order to writes at random, and back again.

After a purge: eight hours of 1024 KiB in order, six hours of 8 KiB at random, and eight hours in order again. All of it
is one run. What is looked for is how long the rate takes to settle after each change, and whether writes in order come
back to what they were.

Caveats. What is published of the test does not fix threads and depth: it is one thread at depth 32. A part's
beginning and end are its first and last tenth. ``standard`` and ``quick`` are the same in minutes and in seconds. A
drive model is not purged; see ``write_saturation`` for one that begins fresh.

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
"""Of the time of each part in order, what the part at random takes."""
EDGE = 0.1
"""Share of a part that is its beginning, and its end."""
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
        """One step: a purge, and the three parts."""
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
        """Return how much of the target to use: of a drive, all of it only at the pace of the specification."""
        return range_of(request, super().size_bytes(request), self.FILE_BYTES)

    def conclude(self, result: SuiteResult, /) -> Conclusions:
        """Return the part at random, and of each part its beginning, its end and its whole."""
        return replace(super().conclude(result), matrices=tuple(map(_parts, result.runs)))

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return how far writes in order come back to what they were."""
        said = []
        for matrix in map(_parts, result.runs):
            rates = {(column, row): value for column, row, value in matrix.cells}
            was, first, last = (
                rates.get(part)
                for part in ((END, _WORDS[BEFORE]), (BEGINNING, _WORDS[AFTER]), (END, _WORDS[AFTER]))
            )
            if was and first is not None and last is not None:
                said.append(
                    f"after writes at random, writes in order begin at {numbers.percent(first / was)} of what they "
                    f"were and end at {numbers.percent(last / was)}"
                )
        return tuple(said)


def _parts(run: Run) -> Matrix:
    """Return the rates of the three parts: at their beginnings, at their ends, and over all of each."""
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
    return Matrix(title=title, unit="MB/s", columns="of the part", rows="part", cells=tuple(cells))


_WORDS = {
    BEFORE: "1024 KiB in order",
    TRACKED: "8 KiB at random",
    AFTER: "1024 KiB in order, again",
}


def _iops(moments: Sequence[Moment]) -> float:
    """Requests a second over several moments."""
    return sum(moment.ios for moment in moments) / (moments[-1].end_s - moments[0].start_s)


def _notes(request: SuiteRequest, size_bytes: int | None) -> Iterator[str]:
    if request.pace != "full":
        yield "Shortened: the specification's three parts take eight, six and eight hours (--pace full)."
    yield from range_notes(request, size_bytes)
    yield from state_notes(request)
