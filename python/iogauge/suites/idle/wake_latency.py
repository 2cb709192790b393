"""Wake latency: how long a read takes after the drive had nothing to do.

Drives, links and CPUs sleep when idle, and the next request waits until they are awake. One thread reads 4 KiB at
random, one at a time, and does nothing for the same gap after each completion: 100 us to 30 s, two gaps a
decade. The gap is fio's ``thinktime``, which counts from the completion to the next request. So the gap is a true one,
however long the read took. No meter is needed.

Each gap is measured twice. In the first series the thread sleeps in the gap, so the CPUs may sleep, too. In the second
it spins (``thinktime_spin``), which keeps its CPU awake and at its frequency. What is slower in the second, too, is the
drive or its link; the rest is the CPU's. Spinning changes no setting, needs no root, and ends with the thread.

**The suite judges** the median. Findings compare it with that after the shortest gap, and name the gaps between which
it jumps: where the interval of the ratio of neighbours lies above 1, and the ratio is at least 1.1. A jump is compared
with the states that drive, link and CPUs declare (NVMe power states with the times of APST, the link's policy or ASPM,
the CPUs' idle states), where they can be read.

Caveats. A step has at most 1,000 reads after gaps of a millisecond and more, and at least 20, which support a median
and no higher quantile; gaps too long for 20 reads in the time of a step are left out. While the thread sleeps, iogauge
wakes a CPU every 20 ms to see whether the process stood still: longer gaps do not let that CPU sleep deeper. The timer
wakes the thread shortly before the gap ends, so the CPU's own wake-up is not in the latency: what remains are its
frequency, its caches, and its sleep while it waits for the read. A spinning CPU keeps the whole package awake, and with
it the host's end of the link; that part counts as the CPU's. Anything else that reads or writes the drive, or asks for
its temperature, shortens the gap.

Source: ours; what sleeps and for how long is in AnandTech's reviews of the Optane Memory (April 2017) and in the NVM
Express Base Specification.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, StepPlan, SuitePlan
from iogauge.stats.figure import Figure
from iogauge.suites.idle import waking
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import SECOND

JOB = "reader"
GAPS_NS = tuple(factor * 10**power for power in range(5, 11) for factor in (1, 3))
"""From 100 us to 30 s."""
FEWEST = 20
"""Reads that a median needs: ten beyond it."""
MOST = 1000
"""Reads that a p99 needs; a step of short gaps has more, since it lasts a second."""
MAY_SLEEP = "CPUs may sleep"
KEPT_AWAKE = "CPU kept awake"
MEDIAN = 0.5


class WakeLatency(Suite):
    """See the module's text."""

    NAME = "wake-latency"
    TITLE = "Wake latency"
    SOURCE = "ours, after the power states of the NVM Express Base Specification"
    AXIS = Axis(name="idle gap", unit="ms")
    MEASURED_JOB = JOB
    IDLE_STATES = True
    UNDISTURBED = True
    QUANTILES = (MEDIAN, 0.99)
    # The most time of a step: the steps of short gaps are shorter.
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 6 * SECOND,
        "standard": 60 * SECOND,
        "full": 600 * SECOND,
    }

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan 4 KiB random reads at depth 1 after ever longer gaps, with a CPU that may sleep and one that spins."""
        empty = self.empty(request)
        gaps_ns = _gaps_ns(empty.runtime_ns)
        notes = [*empty.notes, *_notes(gaps_ns, empty.runtime_ns)]
        states = request.idle_states
        if states is not None:
            notes += [f"{numbers.capitalised(reason)}." for reason in states.unknown]
        return empty.model_copy(
            update={
                "steps": tuple(_steps(StepTemplate.of(empty), gaps_ns)),
                "idle_states": states.states if states else (),
                "notes": tuple(notes),
            }
        )

    def runtime_ns(self, request: SuiteRequest) -> int:
        """Return the most time of a step; in virtual time, enough for every gap."""
        virtual = all(target.modelled for target in request.targets)
        return request.runtime_ns or (FEWEST * GAPS_NS[-1] if virtual else self.RUNTIME_NS[request.pace])

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return how much slower a read is after the longest gap, whose part that is, and where latency jumps."""
        asleep, awake = (_medians(result, series) for series in (MAY_SLEEP, KEPT_AWAKE))
        return tuple(waking.findings(asleep, awake, result.plan.idle_states))


def _medians(result: SuiteResult, series: str) -> dict[int, Figure]:
    """Return the median after each gap of a series, by the gap in nanoseconds."""
    medians = {
        round(position.at * 1e6): position.figures.quantile(MEDIAN)
        for position in result.by_series().get(series, ())
    }
    return {gap_ns: median for gap_ns, median in sorted(medians.items()) if median is not None}


def _gaps_ns(longest_ns: int) -> tuple[int, ...]:
    """Return the gaps after which a step of this length has enough reads; at least the shortest."""
    return tuple(gap_ns for gap_ns in GAPS_NS if FEWEST * gap_ns <= longest_ns) or GAPS_NS[:1]


def _notes(gaps_ns: tuple[int, ...], longest_ns: int) -> Iterator[str]:
    longest = gaps_ns[-1]
    if longest < GAPS_NS[-1]:
        yield (
            f"Gaps above {numbers.span(longest)} are left out: a step lasts at most {numbers.span(longest_ns)}, too "
            f"short for {FEWEST} reads after them."
        )
    if longest_ns < MOST * longest:
        yield (
            f"After a gap of {numbers.span(longest)} a step has about {longest_ns // longest} reads: they support a "
            "median and no higher quantile."
        )


def _steps(load: StepTemplate, gaps_ns: tuple[int, ...]) -> Iterator[StepPlan]:
    for key, series, spins in (("asleep", MAY_SLEEP, False), ("awake", KEPT_AWAKE, True)):
        for gap_ns in gaps_ns:
            runtime_ns = min(load.runtime_ns, max(MOST * gap_ns, SECOND))
            gap = f"{gap_ns // 1000}us"
            # The first read follows no gap: the ramp takes it.
            step = replace(load, runtime_ns=runtime_ns, ramp_ns=max(load.ramp_ns, gap_ns))
            yield step.step(
                f"{key}-{gap}",
                gap_ns / 1e6,
                {JOB: {"rw": "randread", "thinktime": gap, "thinktime_spin": gap if spins else None}},
                series=series,
                bs="4k",
                percentile_list="50:99" if runtime_ns >= MOST * gap_ns else "50",
            )
