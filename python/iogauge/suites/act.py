"""ACT: how many times the load of Aerospike's certification tool a drive holds.

At 1x, 2,000 small records are read each second, at random. Blocks of 128 KiB are read and written at random beside
them, 23.5 of each a second: this is what a key-value store's writes and its defragmentation come to. Every load is a
multiple of that. Requests come at their rates whether or not the drive keeps up.

**The suite judges** the response of the small reads: from the intended start of a read to its completion, as ACT counts
a transaction with its wait in the queue. A drive holds a multiple if at most 5 % of the reads exceed 1 ms, 1 % exceed
8 ms, and 0.1 % exceed 64 ms; ``iogauge judge --for key-value`` applies the same rule at 1x.

Caveats. ACT runs a day at one multiple, on a drive that was written over twice, and each hour must pass. Steps here are
short, on the drive as it is. ACT reads 1.5 KB; a drive with blocks of 4 KiB is read by the block.

Source: the README of Aerospike's certification tool (github.com/aerospike/act).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from iogauge.results.position import Position
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, Kind, SuitePlan
from iogauge.stats.limits import Outcome, lower_quantiles, rule
from iogauge.suites.suite import Pace, StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers
from iogauge.workload.numbers import SECOND

READER = "records"
BLOCKS = "blocks"
MULTIPLES = (1, 3, 6, 12, 24, 48, 96, 192)
"""ACT's own multiples up to 24, and on to what the fastest drives hold."""
READS = 2000
"""Small reads a second at 1x."""
LARGE = 23.5
"""Large reads, and large writes, a second at 1x."""
RECORD_BYTES = 1536
LARGE_BYTES = 128 << 10
RULE = ((0.95, 1_000_000), (0.99, 8_000_000), (0.999, 64_000_000))
"""The quantiles of the small reads' response that a drive must keep, in ns."""
THREADS, DEPTH = 4, 32
"""The small reads in flight at most; further reads wait, which their response includes."""


class Act(Suite):
    """See the module's text."""

    NAME = "act"
    TITLE = "Records under ACT's load"
    SOURCE = "Aerospike's certification tool, ACT (github.com/aerospike/act)"
    AXIS = Axis(name="multiple of ACT's load", unit="x")
    MEASURED_JOB = READER
    OVERLOADS = True
    LOAD_JOBS = BLOCKS
    KIND = Kind.RESPONSE
    # At 1x, p99.9 of the reads needs five seconds and a little more.
    RUNTIME_NS: ClassVar[Mapping[Pace, int]] = {
        "quick": 6 * SECOND,
        "standard": 20 * SECOND,
        "full": 60 * SECOND,
    }
    MODELLED_NS = 6 * SECOND
    QUANTILES: ClassVar[tuple[float, ...]] = (0.5, 0.95, 0.99, 0.999)

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Plan one step for each multiple, the lightest first."""
        empty = self.empty(request)
        load = StepTemplate.of(empty)
        block = request.target.logical_block_bytes or RECORD_BYTES
        record_bytes = -(-RECORD_BYTES // block) * block
        large = {"bs": LARGE_BYTES, "iodepth": 16}
        steps = (
            load.step(
                f"act-{multiple}x",
                multiple,
                {
                    BLOCKS: {"rw": "randread", **large, "rate_iops": round(LARGE * multiple)},
                    f"{BLOCKS}_": {"rw": "randwrite", **large, "rate_iops": f",{round(LARGE * multiple)}"},
                    READER: {
                        "new_group": 1,
                        "rw": "randread",
                        "bs": record_bytes,
                        "numjobs": THREADS,
                        "iodepth": DEPTH,
                        "rate_iops": READS * multiple // THREADS,
                    },
                },
            )
            for multiple in MULTIPLES
        )
        return empty.model_copy(update={"steps": tuple(steps)})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return the largest multiple that the drive holds by ACT's rule."""
        steps = [step for step in result.positions if step.figures.mean is not None]
        return (held(steps),) if steps else ()


def held(steps: Sequence[Position]) -> str:
    """Say to which multiple all steps keep the rule, and what the next one does; the lightest step comes first."""
    most: float | None = None
    for step in steps:
        outcome = outcome_of(step)
        if outcome is not Outcome.MET:
            end = _times(step.at)
            kept = (
                f"the drive holds {_times(most)} of ACT's load"
                if most
                else "the drive holds no multiple tried"
            )
            if outcome is Outcome.MISSED:
                return f"{kept}, and not {end}: {_tail(step)}"
            return f"{kept if most else 'no multiple is shown to hold'}; this run cannot tell whether it holds {end}"
        most = step.at
    return (
        f"the drive holds {_times(steps[-1].at)} of ACT's load, the most that was tried: {_tail(steps[-1])}"
    )


def outcome_of(step: Position) -> Outcome:
    """Return whether a step keeps all of the rule's quantiles."""
    quantiles = step.figures.quantile
    outcomes = {
        rule(quantile, limit_ns, upper=True, lower=lower_quantiles(q, quantiles)).outcome
        for q, limit_ns in RULE
        if (quantile := quantiles(q)) is not None
    }
    if Outcome.MISSED in outcomes:
        return Outcome.MISSED
    return Outcome.MET if outcomes == {Outcome.MET} else Outcome.NOT_SHOWN


def _times(multiple: float | None) -> str:
    return f"{multiple or 0:g}x"


def _tail(step: Position) -> str:
    return ", ".join(
        f"{100 * (1 - q):.2g} % of reads take more than {numbers.marked(step.figures.quantile(q))}"
        for q, _ in RULE
    )
