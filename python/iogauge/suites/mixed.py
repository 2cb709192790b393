"""Mixed reads and writes: what a drive does as writes take the place of reads, in steps of a tenth.

The procedure of the reviews of 2017: four threads at depth 4 issue 4 KiB at random, from nothing but reads to nothing
but writes. On 3D XPoint the rate makes a shallow bathtub, on flash it falls away as collection sets in.

Caveats. The reviews say neither how long a step takes nor what was written before; here every step is an independent
job file of equal length, reads first, on the drive as it is found, and what earlier steps wrote is there in later
ones. The latency judged is that of all requests, whichever way they go: a reader's alone is what
``reader-under-writers`` shows.

Source: AnandTech's reviews of the P4800X (April 2017) and of Optane Memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from iogauge.results.suite_result import SuiteResult
from iogauge.schema import Axis, SuitePlan
from iogauge.stats.extremes import all_tied, decided, ties, undecided
from iogauge.stats.figures import ratio
from iogauge.stats.quantiles import Estimate
from iogauge.suites.suite import StepTemplate, Suite, SuiteRequest
from iogauge.text import numbers

JOB = "mix"
THREADS, DEPTH = 4, 4
SHARES = tuple(range(100, -1, -10))
"""Reads in percent, in the order in which the reviews have them."""


class Mixed(Suite):
    """See the module's text."""

    NAME = "mixed"
    TITLE = "Mixed reads and writes"
    SOURCE = "AnandTech's reviews of the P4800X (April 2017) and of Optane Memory"
    AXIS = Axis(name="share of reads", unit="%")
    MEASURED_JOB = JOB
    JUDGED = "I/O"

    def plan(self, request: SuiteRequest) -> SuitePlan:
        """Rate and latency of 4 KiB at random, 4 threads at depth 4, from all reads to all writes: eleven steps."""
        empty = self.empty(request)
        load = StepTemplate.of(empty)
        steps = (
            load.step(
                f"reads-{share}",
                share,
                {JOB: {"rw": "randrw", "rwmixread": share, "numjobs": THREADS, "iodepth": DEPTH}},
                bs="4k",
            )
            for share in SHARES
        )
        return empty.model_copy(update={"steps": tuple(steps)})

    def findings(self, result: SuiteResult, /) -> tuple[str, ...]:
        """Return where the rate is highest and lowest, by how much, and which other steps cannot be told from these."""
        rates = {step.plan.at: step.figures.iops_estimate for step in result.positions if step.figures.ios}
        return (extremes_of(rates),) if len(rates) > 1 else ()


def extremes_of(rates: Mapping[float, Estimate]) -> str:
    """Return a sentence about the mixes with the most and the least IOPS; ``rates`` are by share of reads, percent."""
    known = decided(rates)
    if len(known) < 2:
        return f"which mix gives the most {numbers.CANNOT_BE_TOLD}"
    left_out = numbers.left_out("the rate at", [f"{at:g} %" for at in undecided(rates)])
    most, least = (choose(known, key=lambda at: known[at].value) for choose in (max, min))
    if all_tied(known):
        return (
            "as far as these runs can tell, the rate does not depend on the mix: "
            f"{_rate(known[least])} at {least:g} % reads to {_rate(known[most])} at {most:g} %{left_out}"
        )
    share = ratio(known[least], known[most])
    return (
        f"highest at {most:g} % reads, {known[most].value:,.0f} IOPS{_ties(known, most)}; lowest at {least:g} %, "
        f"{known[least].value:,.0f} IOPS{_ties(known, least)}: "
        f"{numbers.ranged(share.value, share.low, share.high, numbers.percent)} of the highest{left_out}"
    )


def _rate(estimate: Estimate) -> str:
    return numbers.estimated(estimate, lambda value: f"{value:,.0f} IOPS")


def _ties(rates: Mapping[float, Estimate], extreme: float) -> str:
    """Return the steps whose rate cannot be told from that at an extreme, in words; empty where there are none."""
    others = [f"{at:g} %" for at in ties(rates, extreme) if at != extreme]
    return f" (no clear difference from {', '.join(others)})" if others else ""
